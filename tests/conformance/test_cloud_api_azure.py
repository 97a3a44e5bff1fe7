"""What every `CloudApi` promises, tried on Azure: against recorded shapes and in the local world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from azure_grounds import ArmGround, LocalAzureGround
from grounds import STACK, pending

from emporion.components.azure.api.find import FINDERS
from emporion.components.azure.stand_in import STAND_IN
from emporion.market.errors import ExitCode, UserError

ID, OTHER = "0123456789abcdef0123", "fedcba9876543210fedc"
Azure = ArmGround | LocalAzureGround
IN_RG = {"resourceGroupName": "home", "location": "eastus"}
TAGS = {"tags": {"emporion-id": ID}}
MADE: Mapping[str, Mapping[str, Any]] = {
    "azure-native:compute:ProximityPlacementGroup": {**IN_RG, "proximityPlacementGroupName": "p", **TAGS},
    "azure-native:keyvault:Vault": {
        **IN_RG, "vaultName": "em-1", "properties": {"tenantId": "t", "sku": {"family": "A", "name": "standard"}},
        **TAGS,
    },
    "azure-native:managedidentity:UserAssignedIdentity": {**IN_RG, "resourceName": "who", **TAGS},
    "azure-native:network:NetworkSecurityGroup": {**IN_RG, "networkSecurityGroupName": "rules", **TAGS},
    "azure-native:network:PublicIPAddress": {**IN_RG, "publicIpAddressName": "ip", **TAGS},
    "azure-native:network:VirtualNetwork": {
        **IN_RG, "virtualNetworkName": "net", "addressSpace": {"addressPrefixes": ["10.9.0.0/16"]}, **TAGS
    },
    "azure-native:storage:StorageAccount": {
        **IN_RG, "accountName": "mine0", "kind": "StorageV2", "sku": {"name": "Standard_LRS"}, **TAGS
    },
}  # fmt: skip
BELOW: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "azure-native:network:Subnet": (
        "azure-native:network:VirtualNetwork",
        {
            "resourceGroupName": "home", "virtualNetworkName": "net", "subnetName": "nodes",
            "addressPrefix": "10.9.0.0/20",
        },
    ),
    "azure-native:storage:BlobContainer": (
        "azure-native:storage:StorageAccount",
        {"resourceGroupName": "home", "accountName": "mine0", "containerName": "checkpoints"},
    ),
    "azure-native:storage:BlobServiceProperties": (
        "azure-native:storage:StorageAccount",
        {
            "resourceGroupName": "home", "accountName": "mine0", "blobServicesName": "default",
            "isVersioningEnabled": True,
        },
    ),
}  # fmt: skip
KINDS = sorted([*MADE, *BELOW])


GROUNDS = ("azure in recorded shapes", "azure in the local world")


@pytest.fixture(params=GROUNDS)
def ground(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Azure]:
    monkeypatch.setenv("EMPORION_HOME", str(tmp_path))
    made: Azure = ArmGround() if request.param == "azure in recorded shapes" else LocalAzureGround(tmp_path)
    if isinstance(made, LocalAzureGround):
        made.world.set_meta("running", "1")
    made.make("azure-native:resources:ResourceGroup", OTHER, {"resourceGroupName": "home", "location": "eastus"})
    yield made
    made.close()


def inputs_of(kind: str, ground: Azure) -> dict[str, Any]:
    """Return the inputs of something, its parent made."""
    if kind in MADE:
        return dict(MADE[kind])
    parent, inputs = BELOW[kind]
    ground.make(parent, OTHER, {**MADE[parent], "tags": {"emporion-id": OTHER}})
    return dict(inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_killed_create_made_is_found(ground: Azure, kind: str) -> None:
    inputs = inputs_of(kind, ground)
    made = ground.make(kind, ID, inputs)
    assert (ground.api.find(pending(kind, ID, inputs)) or "").lower() == made.lower()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_found_when_the_create_never_reached_the_cloud(ground: Azure, kind: str) -> None:
    assert ground.api.find(pending(kind, ID, inputs_of(kind, ground))) is None


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_state_holds_already_is_not_found_again(ground: Azure, kind: str) -> None:
    inputs = inputs_of(kind, ground)
    made = ground.make(kind, ID, inputs)
    assert ground.api.find(replace(pending(kind, ID, inputs), known=frozenset({made}))) is None


@pytest.mark.parametrize("kind", sorted(MADE))
def test_an_equal_thing_of_another_identity_is_not_ours(ground: Azure, kind: str) -> None:
    theirs = {**MADE[kind], "tags": {"emporion-id": OTHER}}
    ground.make(kind, OTHER, theirs)
    assert ground.api.find(pending(kind, ID, MADE[kind])) is None


@pytest.mark.parametrize("kind", ["azure-native:storage:StorageAccount", "azure-native:network:VirtualNetwork"])
def test_what_has_been_deleted_is_not_found(ground: Azure, kind: str) -> None:
    ground.remove(kind, ground.make(kind, ID, MADE[kind]))
    assert ground.api.find(pending(kind, ID, MADE[kind])) is None


def test_a_setting_that_says_something_else_is_not_the_one_asked(ground: Azure) -> None:
    kind = "azure-native:storage:BlobServiceProperties"
    asked = inputs_of(kind, ground)
    ground.make(kind, ID, {**asked, "isVersioningEnabled": False})
    assert ground.api.find(pending(kind, ID, asked)) is None


def test_a_role_is_found_at_its_scope(ground: Azure) -> None:
    kind, who = "azure-native:authorization:RoleAssignment", "azure-native:managedidentity:UserAssignedIdentity"
    scope = ground.make(who, OTHER, MADE[who])
    inputs = {
        "scope": scope, "roleAssignmentName": "0a1b2c3d-0000-4000-8000-000000000001", "principalId": "p",
        "principalType": "ServicePrincipal",
        "roleDefinitionId": "/providers/Microsoft.Authorization/roleDefinitions/ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    }  # fmt: skip
    assert ground.api.find(pending(kind, ID, inputs)) is None
    made = ground.make(kind, ID, inputs)
    assert made.startswith(scope)
    assert ground.api.find(pending(kind, ID, inputs)) == made


def test_what_depends_on_an_unknown_value_was_not_made(ground: Azure) -> None:
    kind = "azure-native:keyvault:Vault"
    assert ground.api.find(pending(kind, ID, {**MADE[kind], "vaultName": None})) is None


def test_every_type_of_the_stand_in_has_a_finder() -> None:
    assert set(FINDERS) == set(STAND_IN.types)


def test_the_account_is_the_subscription(ground: Azure) -> None:
    assert ground.api.account() == ground.account


def test_zones_are_physical_with_this_subscriptions_logical_names(ground: Azure) -> None:
    zones = ground.api.zones()
    assert sorted(zones.values()) == ["1", "2", "3"]
    assert list(zones) == ["eastus-az1", "eastus-az2", "eastus-az3"]


def test_nodes_are_those_of_one_stack_with_their_pools(ground: Azure) -> None:
    first, controller = ground.run("gpu-0"), ground.run("controller")
    ground.run("gpu-0", stack="emporion/other")
    nodes = ground.api.nodes(*STACK.split("/"))
    assert {node.id: node.pool for node in nodes} == {first: "gpu-0", controller: "controller"}
    for node in nodes:
        assert node.state in {"pending", "running"}
        assert node.instance_type == "Standard_ND96asr_v4"
        assert node.market == "on_demand"
        assert node.private_ip
        assert node.launched_at
        assert node.launched_at.endswith("Z")
        assert node.image_id == "microsoft-dsvm:ubuntu-hpc:2404:24.4.1"
        assert node.zone is None or node.zone in ground.api.zones()


def test_a_spot_node_says_so(ground: Azure) -> None:
    ground.run("gpu-0", market="spot")
    assert [node.market for node in ground.api.nodes(*STACK.split("/"))] == ["spot"]


def test_a_stack_that_does_not_exist_has_no_nodes(ground: Azure) -> None:
    assert list(ground.api.nodes("emporion", "nobody")) == []


def test_a_terminated_node_is_gone_and_ending_it_again_is_no_error(ground: Azure) -> None:
    node, kept = ground.run("gpu-0"), ground.run("gpu-0")
    ground.api.terminate(node)
    assert [node.id for node in ground.api.nodes(*STACK.split("/"))] == [kept]
    ground.api.terminate(node)


def test_a_quiet_node_has_no_notices(ground: Azure) -> None:
    assert list(ground.api.notices(ground.run("gpu-0", market="spot"))) == []


def test_the_newest_image_is_taken(ground: Azure) -> None:
    ground.publish("gpu", "x86_64", "2027060101", "2027-06-01T00:00:00Z")
    newest = ground.publish("gpu", "x86_64", "2027110201", "2027-11-02T00:00:00Z")
    ground.publish("gpu", "x86_64", "2027080101", "2027-08-01T00:00:00Z")
    found = ground.api.image("gpu", "x86_64")
    assert (found.id, found.arch) == (newest, "x86_64")


def test_an_architecture_without_an_image_is_told(ground: Azure) -> None:
    with pytest.raises(UserError, match="has no") as caught:
        ground.api.image("gpu", "arm64")
    assert caught.value.code == "E-CLOUD"


def test_a_little_throttling_is_sat_out(ground: Azure) -> None:
    ground.throttle(1)
    assert ground.api.zones()


def test_lasting_throttling_is_told_in_the_users_words(ground: Azure) -> None:
    ground.throttle(100)
    with pytest.raises(UserError, match="TooManyRequests") as caught:
        ground.api.zones()
    ground.throttle(0)
    assert caught.value.code == "E-CLOUD"
    assert caught.value.exit_code == ExitCode.FAILED
    assert "again" in (caught.value.fix or "")
