"""Azure's rules: they name only what the SDK has, and refuse what the real services refuse."""

from __future__ import annotations

import base64
import importlib.util
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from azure_bench import IN_RG, SIZE, Bench, a_set
from clock import Clock

from emporion.components.azure.errors import ERRORS
from emporion.components.azure.stand_in import STAND_IN, SUBSCRIPTION
from emporion.components.azure.stand_in_references import (
    ACCOUNT,
    BASTION,
    CONTAINER,
    GROUP,
    IDENTITY,
    LUSTRE,
    NIC,
    POLICY,
    PROXIMITY,
    PUBLIC_IP,
    RESERVATION,
    RESERVATIONS,
    ROLE,
    RULES,
    SET,
    SUBNET,
    VAULT,
    VM,
    VNET,
)
from emporion.localcloud.capacity import set_capacity, set_quota
from emporion.localcloud.plugin.calls import Caller, CloudRefusedError
from emporion.localcloud.plugin.provider import Provider
from emporion.localcloud.plugin.schema import Schemas
from emporion.localcloud.world import World
from emporion.market.wire import UNKNOWN_TEXT

TYPES = sorted(STAND_IN.types)


@pytest.fixture(scope="module")
def azure_schemas(tmp_path_factory: pytest.TempPathFactory) -> Schemas:
    spec = importlib.util.find_spec("pulumi_azure_native")
    assert spec is not None
    assert spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0])
    return Schemas(root, version("pulumi-azure-native"), tmp_path_factory.mktemp("cache"), lambda: None)


@pytest.fixture
def bench(world: World, azure_schemas: Schemas, clock: Clock) -> Bench:
    provider = Provider(Caller(world, STAND_IN, lambda _kill: None, clock.sleep), azure_schemas)
    provider.configure({"location": "eastus"})
    return Bench(provider)


def leaf(schema: Mapping[str, Any], path: str) -> Any:
    """Return the type at a dotted input path, or None."""
    fields, kind = schema["inputs"], None
    for step in path.split("."):
        if step not in fields:
            return None
        kind = fields[step][0]
        while isinstance(kind, dict) and "list" in kind:
            kind = kind["list"]
        fields = schema["objects"][kind["obj"]] if isinstance(kind, dict) and "obj" in kind else {}
    return kind


@pytest.mark.parametrize("token", TYPES)
def test_what_the_rules_name_is_in_the_sdk(azure_schemas: Schemas, token: str) -> None:
    rule, schema = STAND_IN.types[token], azure_schemas.resource(token)
    assert schema
    named = [*rule.replace, *rule.unique, *rule.defaults, *rule.echo, *([rule.named] if rule.named else [])]
    named += [reference.path for reference in rule.references]
    has_location = leaf(schema, "location") is not None
    assert [path for path in named if leaf(schema, path) is None and (path != "location" or has_location)] == []
    unknown = {name for name in rule.outputs if name not in schema["outputs"]}
    assert unknown <= {"provisioningState"}
    for use in rule.in_use:
        other = azure_schemas.resource(use.token)
        assert other
        assert leaf(other, use.path) is not None, use


def test_every_refusal_that_a_launch_can_meet_is_explained() -> None:
    for name in ("capacity", "capacity_spot", "quota", "quota_spot", "addresses", "throttled", "reservation"):
        assert STAND_IN.refusals[name].code in ERRORS


def test_ids_have_azures_shape(bench: Bench) -> None:
    subnet = bench.network()
    group = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg"
    assert subnet == f"{group}/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes"
    assert bench.make(IDENTITY, "i", **IN_RG, resourceName="who") == (
        f"{group}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/who"
    )


def test_a_scale_sets_identities_go_in_as_a_list_and_come_back_as_a_map(bench: Bench) -> None:
    subnet = bench.network()
    who = bench.make(IDENTITY, "i", **IN_RG, resourceName="who")
    asked = {"type": "UserAssigned", "userAssignedIdentities": [who]}
    inputs = a_set(subnet, identity=asked)
    made = bench.make(SET, "set", **inputs)
    outputs = bench.outputs(SET, made)
    assert set(outputs["identity"]["userAssignedIdentities"]) == {who}
    principal = bench.outputs(IDENTITY, who)["principalId"]
    assert outputs["identity"]["userAssignedIdentities"][who]["principalId"] == principal
    urn = bench.urn(SET, "set")
    before, _ = bench.provider.create(urn, inputs, preview=True)
    assert before.outputs["identity"] == UNKNOWN_TEXT
    tagged = {**inputs, "tags": {"a": "b"}}
    again, _ = bench.provider.update(urn, made, outputs, inputs, tagged, preview=True)
    assert again.outputs["identity"] == outputs["identity"]
    after, _ = bench.provider.update(urn, made, outputs, inputs, tagged, preview=False)
    assert after.outputs["identity"] == outputs["identity"]
    assert after.outputs["tags"] == {"a": "b"}


def test_machines_of_a_set_are_numbered_below_it(bench: Bench, world: World) -> None:
    made = bench.make(SET, "set", **a_set(bench.network()))
    machines = world.resources("azure-native", VM, "eastus")
    assert [machine.id for machine in machines] == [f"{made}/virtualMachines/{number}" for number in range(2)]
    assert len({machine.facts["addresses"][0] for machine in machines}) == 2


@pytest.mark.parametrize(
    ("more", "code"),
    [
        pytest.param({"capacity": 101}, "InvalidParameter", id="101 in one placement group"),
        pytest.param(
            {"profile": {"capacityReservation": {"capacityReservationGroup": {"id": "x"}}}}, "BadRequest",
            id="a reservation in one placement group",
        ),
        pytest.param(
            {"profile": {"evictionPolicy": "Delete"}}, "EvictionPolicyCanBeSetOnlyOnAzureSpotVirtualMachines",
            id="eviction without spot",
        ),
        pytest.param(
            {"profile": {"priority": "Spot", "billingProfile": {"maxPrice": 0}}}, "MaxPriceValueInvalid", id="price 0"
        ),
        pytest.param(
            {"profile": {"priority": "Spot", "billingProfile": {"maxPrice": -2}}}, "MaxPriceValueInvalid",
            id="price below -1",
        ),
        pytest.param({"vmScaleSetName": "set-"}, "InvalidParameter", id="name"),
        pytest.param({"profile": {"osProfile": {"adminUsername": "x"}}}, "InvalidParameter", id="no way to log in"),
    ],
)  # fmt: skip
def test_a_set_that_azure_refuses(bench: Bench, more: dict[str, Any], code: str) -> None:
    assert bench.refused(SET, "set", **a_set(bench.network(), **more)).code == code


@pytest.mark.parametrize(("size", "fits"), [(65_535, True), (65_536, False)])
def test_custom_data_has_a_limit_before_encoding(bench: Bench, size: int, *, fits: bool) -> None:
    inputs = a_set(bench.network())
    inputs["virtualMachineProfile"]["osProfile"]["customData"] = base64.b64encode(b"x" * size).decode()
    if fits:
        assert bench.make(SET, "set", **inputs)
    else:
        assert bench.refused(SET, "set", **inputs).code == "InvalidParameter"


def test_the_priority_of_a_set_never_changes(bench: Bench) -> None:
    subnet = bench.network()
    inputs = a_set(subnet)
    made = bench.make(SET, "set", **inputs)
    spot = a_set(subnet, profile={"priority": "Spot"})
    with pytest.raises(CloudRefusedError) as caught:
        bench.provider.update(bench.urn(SET, "set"), made, bench.outputs(SET, made), inputs, spot, preview=False)
    assert caught.value.code == "PropertyChangeNotAllowed"


def test_capacity_is_refused_with_another_code_for_spot(bench: Bench, world: World) -> None:
    subnet = bench.network()
    set_capacity(world, "azure-native", "eastus", SIZE, 1)
    urn = bench.urn(SET, "set")
    made, _ = bench.provider.create(urn, a_set(subnet), preview=False)
    assert 'Code="AllocationFailed"' in made.failures[0]
    spot, _ = bench.provider.create(
        urn, a_set(subnet, vmScaleSetName="spot", profile={"priority": "Spot"}), preview=False
    )
    assert 'Code="SkuNotAvailable"' in spot.failures[0]


def test_spot_has_a_quota_of_its_own(bench: Bench, world: World) -> None:
    subnet = bench.network()
    set_quota(world, "azure-native", "eastus", SIZE, 0, market="spot")
    spot, _ = bench.provider.create(bench.urn(SET, "set"), a_set(subnet, profile={"priority": "Spot"}), preview=False)
    assert "LowPriorityCores" in spot.failures[0]
    regular, _ = bench.provider.create(bench.urn(SET, "b"), a_set(subnet, vmScaleSetName="b"), preview=False)
    assert not regular.failures


def test_a_set_starts_from_the_reservation_of_its_size(bench: Bench, world: World) -> None:
    subnet = bench.network()
    group = bench.make(RESERVATIONS, "g", **IN_RG, capacityReservationGroupName="held")
    held = bench.make(
        RESERVATION, "r", **IN_RG, capacityReservationGroupName="held", capacityReservationName="two",
        sku={"name": SIZE, "capacity": 2},
    )  # fmt: skip
    profile = {"capacityReservation": {"capacityReservationGroup": {"id": group}}}
    made, _ = bench.provider.create(
        bench.urn(SET, "set"), a_set(subnet, singlePlacementGroup=False, capacity=3, profile=profile), preview=False
    )
    machines = world.resources("azure-native", VM, "eastus")
    assert [machine.facts["reservation_id"] for machine in machines] == [held] * 2
    assert "OverconstrainedAllocationRequest" in made.failures[0]


def test_a_machine_takes_the_address_of_its_interface(bench: Bench) -> None:
    subnet = bench.network()
    fixed = {"name": "p", "subnet": {"id": subnet}, "privateIPAddress": "10.0.0.10"}
    nic = bench.make(NIC, "nic", **IN_RG, networkInterfaceName="nic", ipConfigurations=[fixed])
    profile = a_set(subnet)["virtualMachineProfile"]
    given = {
        **IN_RG, "vmName": "controller", "hardwareProfile": {"vmSize": "Standard_D2s_v5"},
        "networkProfile": {"networkInterfaces": [{"id": nic}]}, "storageProfile": profile["storageProfile"],
        "osProfile": {
            "computerName": "c", "adminUsername": "x",
            "linuxConfiguration": profile["osProfile"]["linuxConfiguration"],
        },
    }  # fmt: skip
    made = bench.make(VM, "vm", **given)
    (machine,) = bench.provider.caller.world.resources("azure-native", VM, "eastus")
    assert machine.facts["addresses"] == ["10.0.0.10"]
    assert made.endswith("/virtualMachines/controller")
    with pytest.raises(CloudRefusedError) as caught:
        bench.provider.delete(bench.urn(NIC, "nic"), nic, {"id": nic})
    assert caught.value.code == "NicInUse"


def test_subnets_lie_inside_the_network_and_apart(bench: Bench) -> None:
    bench.network()
    given = {"resourceGroupName": "rg", "virtualNetworkName": "vnet"}
    for name, cidr, code in (
        ("out", "10.1.0.0/20", "NetcfgInvalidSubnet"),
        ("over", "10.0.8.0/24", "NetcfgSubnetRangesOverlap"),
        ("AzureBastionSubnet", "10.0.255.0/27", "BastionSubnetTooSmall"),
        ("bad", "10.0.0.1/20", "InvalidAddressPrefixFormat"),
    ):
        assert bench.refused(SUBNET, name, **given, subnetName=name, addressPrefix=cidr).code == code
    assert bench.subnet("AzureBastionSubnet", "10.0.255.192/26")


def test_a_bastion_stands_in_the_subnet_of_its_name(bench: Bench) -> None:
    subnet = bench.network()
    address = bench.make(PUBLIC_IP, "ip", **IN_RG, publicIpAddressName="ip")
    place = {"name": "b", "subnet": {"id": subnet}, "publicIPAddress": {"id": address}}
    refused = bench.refused(BASTION, "b", **IN_RG, bastionHostName="bastion", ipConfigurations=[place])
    assert refused.code == "BastionHostSubnetNameInvalid"


def test_rules_have_a_priority_each(bench: Bench) -> None:
    bench.network()
    rule = {"name": "a", "priority": 100, "direction": "Inbound", "access": "Allow", "protocol": "*"}
    for rules, code in (
        ([rule, {**rule, "name": "b"}], "SecurityRuleConflict"),
        ([{**rule, "priority": 99}], "SecurityRuleInvalidPriority"),
    ):
        given = {"networkSecurityGroupName": "n", "securityRules": rules}
        assert bench.refused(RULES, "n", **IN_RG, **given).code == code


def test_what_is_used_is_not_deleted(bench: Bench) -> None:
    subnet = bench.network()
    near = bench.make(PROXIMITY, "near", **IN_RG, proximityPlacementGroupName="near")
    bench.make(SET, "set", **a_set(subnet, singlePlacementGroup=False, proximityPlacementGroup={"id": near}))
    vnet = subnet.rpartition("/subnets/")[0]
    for token, name, code in (
        (SUBNET, subnet, "InUseSubnetCannotBeDeleted"),
        (VNET, vnet, "InUseVirtualNetworkCannotBeDeleted"),
        (PROXIMITY, near, "InUseProximityPlacementGroupCannotBeDeleted"),
    ):
        with pytest.raises(CloudRefusedError) as caught:
            bench.provider.delete(bench.urn(token, "x"), name, {"id": name})
        assert caught.value.code == code


def test_a_second_create_is_refused_by_the_provider_that_looks_first(bench: Bench) -> None:
    bench.network()
    again = bench.refused(GROUP, "again", resourceGroupName="rg", location="eastus")
    assert "cannot create already existing resource" in str(again)


def test_names_of_accounts_and_vaults_are_unique_and_have_their_shape(bench: Bench) -> None:
    bench.network()
    store = {"kind": "StorageV2", "sku": {"name": "Standard_LRS"}}
    bench.make(ACCOUNT, "a", **IN_RG, accountName="mine0", **store)
    assert bench.refused(ACCOUNT, "b", **IN_RG, accountName="mine0", **store).code == "StorageAccountAlreadyTaken"
    for name in ("ab", "x" * 25, "Mine", "my-store"):
        assert bench.refused(ACCOUNT, "c", **IN_RG, accountName=name, **store).code == "AccountNameInvalid"
    properties = {"tenantId": "t", "sku": {"family": "A", "name": "standard"}}
    made = bench.make(VAULT, "v", **IN_RG, vaultName="em-1", properties=properties)
    assert bench.outputs(VAULT, made)["properties"]["vaultUri"] == "https://em-1.vault.azure.net/"
    assert bench.refused(VAULT, "w", **IN_RG, vaultName="1-em", properties=properties).code == "VaultNameNotValid"
    short = {**properties, "softDeleteRetentionInDays": 1}
    assert bench.refused(VAULT, "w", **IN_RG, vaultName="em-2", properties=short).code == "BadRequest"


def test_a_container_of_a_closed_account_is_not_public_and_a_kept_one_stays(bench: Bench) -> None:
    bench.network()
    closed = {"kind": "StorageV2", "sku": {"name": "Standard_LRS"}, "allowBlobPublicAccess": False}
    bench.make(ACCOUNT, "a", **IN_RG, accountName="mine0", **closed)
    given = {"resourceGroupName": "rg", "accountName": "mine0", "containerName": "checkpoints"}
    assert bench.refused(CONTAINER, "c", **given, publicAccess="Blob").code == "PublicAccessNotPermitted"
    container = bench.make(CONTAINER, "c", **given, publicAccess="None")
    bench.make(POLICY, "p", **given, immutabilityPolicyName="default", immutabilityPeriodSinceCreationInDays=3)
    with pytest.raises(CloudRefusedError) as caught:
        bench.provider.delete(bench.urn(CONTAINER, "c"), container, {"id": container})
    assert caught.value.code == "ContainerProtectedFromDeletion"


def test_a_role_is_given_once_and_named_by_a_guid(bench: Bench) -> None:
    bench.network()
    who = bench.make(IDENTITY, "i", **IN_RG, resourceName="who")
    principal = bench.outputs(IDENTITY, who)["principalId"]
    definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/{principal}"
    given = {"scope": who, "principalId": principal, "roleDefinitionId": definition}
    assert bench.refused(ROLE, "r", **given, roleAssignmentName="r").code == "InvalidRoleAssignmentId"
    name = "0a1b2c3d-0000-4000-8000-00000000000"
    made = bench.make(ROLE, "r", **given, roleAssignmentName=f"{name}1")
    assert made == f"{who}/providers/Microsoft.Authorization/roleAssignments/{name}1"
    assert bench.refused(ROLE, "s", **given, roleAssignmentName=f"{name}2").code == "RoleAssignmentExists"
    nobody = {**given, "principalId": "nobody"}
    assert bench.refused(ROLE, "t", **nobody, roleAssignmentName=f"{name}3").code == "PrincipalNotFound"


def test_a_file_system_has_a_size_that_is_sold(bench: Bench) -> None:
    bench.network()
    place = bench.subnet("lustre", "10.0.252.0/27")
    given = {
        **IN_RG, "amlFilesystemName": "fs", "filesystemSubnet": place, "sku": {"name": "AMLFS-Durable-Premium-125"},
        "maintenanceWindow": {"dayOfWeek": "Sunday", "timeOfDayUTC": "03:00"},
    }  # fmt: skip
    assert bench.refused(LUSTRE, "fs", **given, storageCapacityTiB=20).code == "InvalidParameter"
    assert bench.make(LUSTRE, "fs", **given, storageCapacityTiB=32)


@pytest.mark.parametrize(
    ("config", "key"),
    [
        pytest.param({}, "location", id="none"),
        pytest.param({"location": "eastuss"}, "location", id="misspelt"),
        pytest.param({"location": "eastus", "subscriptionId": "1-2"}, "subscriptionId", id="a real subscription"),
    ],
)
def test_a_configuration_that_leads_elsewhere_is_refused(bench: Bench, config: dict[str, str], key: str) -> None:
    assert [where for where, _ in bench.provider.check_config(config)] == [key]


def test_the_reserved_subscription_is_told() -> None:
    assert STAND_IN.account == SUBSCRIPTION
    assert STAND_IN.zones("eastus") == {"eastus-az1": "1", "eastus-az2": "2", "eastus-az3": "3"}
    assert STAND_IN.zones("mars") == {}
