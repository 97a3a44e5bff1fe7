"""kill -9 at any point of `up`: one rerun ends where an undisturbed run ends, in the state and in the world."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest
from desk import Desk

from emporion.localcloud.faults import kill
from emporion.localcloud.world import World

pytestmark = pytest.mark.engine

LAUNCH_TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
INSTANCE = "aws:ec2/instance:Instance"
BUCKET = "aws:s3/bucket:Bucket"
ROLE = "aws:iam/role:Role"
POINTS = [
    pytest.param(token, phase, target, id=f"{token.rpartition(':')[2]}-{phase}-{target}")
    for token, targets in [
        (LAUNCH_TEMPLATE, ("engine", "plugin", "engine")),
        (INSTANCE, ("plugin", "engine", "plugin")),
        (BUCKET, ("engine", "engine", "plugin")),
        (ROLE, ("plugin", "plugin", "engine")),
    ]
    for phase, target in zip(("before_write", "after_write", "after_answer"), targets, strict=True)
]


SEALED = re.compile(r'"ciphertext": "[^"]*"')
"""Every encryption of the same secret reads differently."""
MADE_UP = re.compile(r"[0-9a-f]{8}|^10\.[0-9.]+$")
"""What the cloud makes up and an input may hold: ids, and addresses in the order of arrival."""


def normal(resources: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return types, URNs and inputs, with every id and computed value replaced by whose it is."""
    listed = [one for one in resources if one.get("urn")]
    names: dict[str, str] = {}
    for one in listed:
        for key, value in [("id", one.get("id")), *sorted((one.get("outputs") or {}).items())]:
            if isinstance(value, str) and MADE_UP.search(value):
                names.setdefault(value, f"<{one['urn']}.{key}>")
    lines = []
    for one in listed:
        text = SEALED.sub("", json.dumps(one.get("inputs") or {}, sort_keys=True))
        for value in sorted(names, key=len, reverse=True):
            text = text.replace(value, names[value])
        lines.append(json.dumps([one["urn"], one.get("type") or one.get("token"), text]))
    return sorted(lines)


def of_state(desk: Desk) -> list[str]:
    latest = desk.state("demo")
    assert not latest.get("pending_operations"), "a pending operation is left"
    volatile = {"__defaults", "__internal"}
    resources = [
        {**one, "inputs": {key: value for key, value in (one.get("inputs") or {}).items() if key not in volatile}}
        for one in latest["resources"]
    ]
    assert not [one["urn"] for one in resources if one.get("delete")], "a replaced resource is left"
    return normal(resources)


def of_world(desk: Desk) -> list[str]:
    with World.open(desk.home) as world:
        return normal(
            {
                "urn": one.urn or f"of {one.owner}",
                "token": one.token,
                "id": one.id,
                "inputs": one.inputs,
                "outputs": one.outputs,
            }
            for one in world.resources()
        )


@pytest.fixture(scope="session")
def undisturbed(new_desk: Callable[[str], Desk]) -> Desk:
    desk = new_desk("undisturbed")
    desk.done("up", "demo.yaml", "--local", "--yes")
    return desk


@pytest.mark.parametrize(("token", "phase", "target"), POINTS)
def test_one_rerun_after_a_kill_ends_where_an_undisturbed_run_ends(
    new_desk: Callable[[str], Desk], undisturbed: Desk, token: str, phase: Any, target: Any
) -> None:
    desk = new_desk("killed")
    config = undisturbed.project / "Pulumi.demo.yaml"
    desk.done("plan", "demo.yaml", "--pin", "demo", "--local")
    pinned = (desk.project / config.name).read_text()
    assert "emporion:placement" in pinned
    with World.open(desk.home) as world:
        kill(world, target, phase, 1, operation="create", token=token)
    killed = desk.run("up", "demo", "--yes")
    with World.open(desk.home) as world:
        assert world.query("SELECT count(*) FROM faults") == [(0,)], "the kill point was never met"
    if target == "engine" or phase != "after_answer":
        assert killed.returncode == 1, killed.stdout + killed.stderr
        assert "Traceback" not in killed.stderr
    desk.done("up", "demo", "--yes")
    assert of_state(desk) == of_state(undisturbed)
    assert of_world(desk) == of_world(undisturbed)
    assert desk.json("up", "demo", "--yes")["changed"] == 0


def test_a_killed_update_can_be_taken_back(new_desk: Callable[[str], Desk]) -> None:
    desk = new_desk("taken-back")
    desk.done("plan", "demo.yaml", "--pin", "demo", "--local")
    with World.open(desk.home) as world:
        kill(world, "engine", "after_write", 1, operation="create", token=INSTANCE)
    assert desk.run("up", "demo", "--yes").returncode == 1
    desk.done("down", "demo", "--yes")
    with World.open(desk.home) as world:
        assert world.counts() == {}
    assert not desk.state("demo").get("pending_operations")
