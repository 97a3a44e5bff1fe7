"""The operations that SECURITY.md promises for Azure, against the requests that are made and the cluster's types."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from azure_arm import SUBSCRIPTION
from azure_grounds import ArmGround
from grounds import pending

from emporion.components.azure import permissions
from emporion.components.azure.api import AzureApi
from emporion.components.azure.api.find import FINDERS
from emporion.components.azure.stand_in import STAND_IN

REPO = Path(__file__).parents[2]
VERBS = {"GET": "read", "DELETE": "delete", "PUT": "write"}


def operation(method: str, path: str) -> str:
    """Return the operation that a request to Resource Manager needs, by its URL."""
    _, _, inside = path.rpartition("/providers/")
    if inside == path:
        rest = path.removeprefix(f"/subscriptions/{SUBSCRIPTION}").strip("/").split("/")
        kinds = [part for part in rest[::2] if part]
        return "/".join(["Microsoft.Resources/subscriptions", *kinds, VERBS[method]])
    space, *rest = inside.split("/")
    kinds = [part for part in rest[::2] if part != "vmimage"]
    if "artifacttypes" in rest:
        kinds = ["locations", "publishers", "artifacttypes", "offers", "skus", "versions"]
    return "/".join([space, *kinds, VERBS[method]])


def asked(ground: ArmGround) -> set[str]:
    found = {operation(request.method, request.url.path) for request in ground.arm.asked}
    ground.arm.asked.clear()
    return found


def test_every_operation_is_spelt_out() -> None:
    for command, listed in permissions.COMMANDS.items():
        assert list(listed) == sorted(set(listed)), command
        for name in listed:
            assert re.fullmatch(r"Microsoft\.\w+(/\w+)+/(read|write|delete|action)", name), name


def test_every_type_that_the_cluster_makes_has_its_rights() -> None:
    assert set(permissions.RIGHTS) == set(STAND_IN.types) == set(FINDERS)


def test_the_api_asks_nothing_that_is_not_in_the_table() -> None:
    ground = ArmGround()
    api = ground.api
    assert isinstance(api, AzureApi)
    node = ground.run("gpu-0")
    made = ground.arm.put(
        f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Compute/virtualMachineScaleSets/set",
        {
            "location": "eastus",
            "sku": {"name": "x"},
            "properties": {},
            "tags": {"emporion-stack": "emporion/conformance"},
        },
    )
    ground.arm.put(f"{made}/virtualMachines/0", {"properties": {}})
    ground.publish("gpu", "x86_64", "1", "")

    def end_both() -> None:
        api.terminate(node)
        api.terminate(f"{made}/virtualMachines/0")

    calls: dict[str, Callable[[], object]] = {
        "account": api.account,
        "zones": api.zones,
        "nodes": lambda: api.nodes("emporion", "conformance"),
        "quota": lambda: api.quota("Standard_X", "spot"),
        "image": lambda: api.image("gpu", "x86_64"),
        "notices": lambda: (api.notices(node), api.notices(f"{made}/virtualMachines/0")),
        "terminate": end_both,
    }
    assert {*calls, "holds_data"} == set(permissions.LOOKS)
    for method, call in calls.items():
        call()
        found = asked(ground)
        assert found, method
        assert found <= set(permissions.LOOKS[method]), method


@pytest.mark.parametrize("token", sorted(FINDERS))
def test_a_finder_asks_nothing_that_is_not_in_the_table(token: str) -> None:
    ground = ArmGround()
    names = re.findall(r"{(\w+)}", FINDERS[token].path)
    scope = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
    inputs = {name: scope if name == "scope" else name for name in names}
    assert ground.api.find(pending(token, "0" * 20, inputs)) is None
    assert asked(ground) == set(permissions.RIGHTS[token].read)


def test_commands_that_only_look_change_nothing() -> None:
    for command in ("plan", "preview", "refresh", "recover", "status", "ssh"):
        assert all(name.endswith("/read") for name in permissions.operations(command)), command


def test_security_md_lists_the_operations_of_each_command() -> None:
    text = (REPO / "SECURITY.md").read_text(encoding="utf-8")
    for command in permissions.COMMANDS:
        section = text.split(f"\n### `{command}` on Azure\n", 1)[1].split("\n#", 1)[0]
        lines = re.findall(r"^- (Microsoft\.\w+): ([^\n]+(?:\n  [^\n]+)*)$", section, re.MULTILINE)
        listed = {f"{space}/{name.strip()}" for space, names in lines for name in re.split(r",\s+", names)}
        assert listed == set(permissions.operations(command)), command
    assert permissions.DATA[0] in text


def test_a_command_that_asks_no_cloud_needs_nothing() -> None:
    assert permissions.operations("init") == ()
