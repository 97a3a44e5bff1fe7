"""The whole road on the local cloud for Azure: up, again, status, kill and recover, no room, down."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from desk import REPO, Desk

from emporion.components.azure.stand_in import STAND_IN
from emporion.components.azure.stand_in_references import ACCOUNT, BASTION, ROLE, SET, VAULT
from emporion.localcloud.capacity import set_capacity
from emporion.localcloud.faults import Phase, Target, kill
from emporion.localcloud.images import publish_image
from emporion.localcloud.world import World

pytestmark = pytest.mark.engine
EXAMPLES = ("azure-nvlink", "azure-infiniband", "azure-spot")
SIZE = "Standard_ND96asr_v4"


def copy(desk: Desk, name: str) -> str:
    """Put an example intent into the project and return its file name."""
    (desk.project / f"{name}.yaml").write_text((REPO / "stacks" / "intents" / f"{name}.yaml").read_text())
    return f"{name}.yaml"


def of_type(desk: Desk, stack: str, token: str) -> list[Mapping[str, Any]]:
    return [one for one in desk.state(stack)["resources"] if one["type"] == token]


@pytest.fixture(scope="module")
def standing(new_desk: Callable[[str], Desk]) -> Desk:
    desk = new_desk("azure")
    desk.done("up", copy(desk, "azure-spot"), "--local", "--yes")
    return desk


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_example_stands_up_unchanged_and_goes(new_desk: Callable[[str], Desk], name: str) -> None:
    desk = new_desk(name)
    desk.done("up", copy(desk, name), "--local", "--yes")
    assert desk.json("up", f"{name}.yaml", "--yes")["changed"] == 0
    status = desk.json("status", name)
    assert status["missing"] == {}
    assert {node["state"] for node in status["nodes"]} == {"running"}
    desk.done("down", name, "--yes")
    with World.open(desk.home) as world:
        assert world.counts() == {}


def test_a_spot_pool_is_one_set_in_one_placement_group(standing: Desk) -> None:
    (made,) = of_type(standing, "azure-spot", SET)
    assert made["inputs"]["singlePlacementGroup"] is True
    assert made["inputs"]["virtualMachineProfile"]["priority"] == "Spot"
    assert isinstance(made["outputs"]["identity"]["userAssignedIdentities"], dict)


def test_the_price_of_the_bastion_is_in_the_pin(standing: Desk) -> None:
    assert of_type(standing, "azure-spot", BASTION)
    lines = {line["item"]: line for line in standing.json("status", "azure-spot")["cost_lines"]}
    assert lines["Bastion"]["usd_per_hour"] == "0.29"


def test_no_role_is_wider_than_one_resource(standing: Desk) -> None:
    scopes = [one["inputs"]["scope"] for one in of_type(standing, "azure-spot", ROLE)]
    assert len(scopes) == 4
    assert all("/containers/checkpoints" in scope or scope.endswith("/secrets/munge") for scope in scopes)


def test_no_key_of_the_scheduler_is_in_the_state(standing: Desk) -> None:
    assert of_type(standing, "azure-spot", VAULT)
    assert not [one for one in standing.state("azure-spot")["resources"] if one["type"].endswith(":Secret")]


@pytest.mark.parametrize(
    ("token", "phase", "target"),
    [
        pytest.param(SET, "after_write", "engine", id="scale set made, engine dead"),
        pytest.param(ACCOUNT, "after_answer", "engine", id="account told, engine dead"),
        pytest.param(VAULT, "after_write", "plugin", id="vault made, plugin dead"),
        pytest.param(ROLE, "after_write", "engine", id="role given, engine dead"),
    ],
)
def test_one_rerun_after_a_kill_ends_where_an_undisturbed_run_ends(
    new_desk: Callable[[str], Desk], standing: Desk, token: str, phase: Phase, target: Target
) -> None:
    desk = new_desk("killed")
    intent = copy(desk, "azure-spot")
    desk.done("local", "start")
    with World.open(desk.home) as world:
        kill(world, target, phase, 1, operation="create", token=token)
    assert desk.run("up", intent, "--local", "--yes").returncode != 0
    desk.done("up", intent, "--yes")
    assert desk.json("up", intent, "--yes")["changed"] == 0
    ours, theirs = desk.state("azure-spot"), standing.state("azure-spot")
    assert not ours.get("pending_operations")
    assert sorted(one["urn"].partition("::")[2].partition("::")[2] for one in ours["resources"]) == sorted(
        one["urn"].partition("::")[2].partition("::")[2] for one in theirs["resources"]
    )
    with World.open(desk.home) as world, World.open(standing.home) as other:
        assert world.counts() == other.counts()
    desk.done("down", "azure-spot", "--yes")
    with World.open(desk.home) as world:
        assert world.counts() == {}


def test_no_room_is_told_in_azures_words_and_the_next_up_goes_on(new_desk: Callable[[str], Desk]) -> None:
    desk = new_desk("full")
    intent = copy(desk, "azure-spot")
    desk.done("local", "start")
    with World.open(desk.home) as world:
        set_capacity(world, "azure-native", "*", SIZE, 1)
    refused = desk.run("up", intent, "--local", "--yes")
    assert refused.returncode == 1
    assert "SkuNotAvailable" in refused.stderr
    assert "plan again" in refused.stderr
    assert "Traceback" not in refused.stderr
    with World.open(desk.home) as world:
        set_capacity(world, "azure-native", "*", SIZE, None)
    desk.done("up", intent, "--yes")
    assert desk.json("status", "azure-spot")["missing"] == {}


def test_a_newer_image_makes_a_new_set_once_it_is_planned(standing: Desk) -> None:
    with World.open(standing.home) as world:
        publish_image(
            world, STAND_IN, "eastus", "gpu", "x86_64", name="ubuntu-hpc 2404 24.04.2027010101",
            published_at="2027-01-01T00:00:00Z",
        )  # fmt: skip
    assert standing.json("preview", "azure-spot")["changed"] == 0
    standing.done("plan", "azure-spot.yaml", "--pin", "azure-spot")
    assert standing.json("up", "azure-spot", "--yes")["changes"]["replace"] == 1
    (made,) = of_type(standing, "azure-spot", SET)
    image = made["inputs"]["virtualMachineProfile"]["storageProfile"]["imageReference"]
    assert image["version"] == "24.04.2027010101"
    assert standing.json("status", "azure-spot")["missing"] == {}
