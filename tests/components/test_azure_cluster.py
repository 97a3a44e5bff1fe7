"""The shape of what an Azure cluster registers, under Pulumi's mocks."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import pulumi
import pytest
from azure_placements import AZURE, AZURE_POOL, PRINCIPAL, SUBSCRIPTION, azure_pool, azure_storage, build_azure
from placements import Built

from emporion.components.azure.machine import NOBODYS_KEY
from emporion.components.azure.plan import ROLES
from emporion.components.azure.stand_in import STAND_IN
from emporion.components.azure.vault import vault_name
from emporion.components.names import Names
from emporion.market.clouds import identity
from emporion.market.offer import Market

PLAIN = {"instance_type": "Standard_NC24ads_A100_v4", "gpus_per_node": 1, "rdma": False, "fabric": None}
HELD = "subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/mine"
EVERY = {
    "demo": AZURE,
    "on demand": azure_pool(market=Market.ON_DEMAND),
    "plain": azure_pool(**PLAIN),
    "reserved": azure_pool(**PLAIN, market=Market.RESERVED),
    "the user's reservation": azure_pool(**PLAIN, market=Market.ON_DEMAND, reservation=HELD),
    "renewed": replace(AZURE, spot_auto_renew=True),
    "no way out": replace(AZURE, nat=False),
    "no scheduler": replace(AZURE, scheduler="none", controller=None),
    "locked": azure_storage(object_lock_days=30),
    "lustre": azure_storage(file_system="lustre", file_system_gib=20_000, file_system_mbps_per_tib=125),
    "tagged": replace(AZURE, tags=(("team", "ml"),)),
    "two pools": replace(AZURE, pools=(AZURE_POOL, replace(azure_pool(**PLAIN).pools[0], name="gpu-1"))),
}
each = pytest.mark.parametrize("built", EVERY, indirect=True)


@cache
def built_once(name: str) -> Built:
    return build_azure(EVERY[name])


@pytest.fixture
def built(request: pytest.FixtureRequest) -> Built:
    """What one of the placements above registers."""
    return built_once(request.param)


def ours(built: Built) -> list[Any]:
    return [item for item in built.resources if item.typ.startswith("azure-native:")]


def profile(built: Built) -> Mapping[str, Any]:
    found: Mapping[str, Any] = built.one("VirtualMachineScaleSet")["virtualMachineProfile"]
    return found


@each
def test_every_type_has_rules_in_the_stand_in(built: Built) -> None:
    assert {item.typ for item in ours(built)} <= set(STAND_IN.types)


@each
def test_everything_has_the_providers_plugin_of_the_region(built: Built) -> None:
    providers = {item.provider or "" for item in ours(built)}
    assert len(providers) == 1
    assert "pulumi:providers:azure-native::azure-eastus" in providers.pop()


@each
def test_every_tag_is_the_identity_of_the_engines_urn(built: Built) -> None:
    names = Names("emporion", "dev", 0, ("emporion:index:GpuCluster", "emporion:index:AzureCluster"))
    tagged = [item for item in ours(built) if item.inputs.get("tags")]
    assert len(tagged) >= 10
    for item in tagged:
        assert item.inputs["tags"]["emporion-id"] == identity("emporion", "dev", names.urn(item.typ, item.name), 0)
        assert item.inputs["tags"]["emporion-stack"] == "emporion/dev"


@each
def test_only_what_lies_in_a_tagged_parent_has_no_tag(built: Built) -> None:
    bare = {item.typ.rpartition(":")[2] for item in ours(built) if not item.inputs.get("tags")}
    assert bare <= {
        "Subnet", "RoleAssignment", "BlobContainer", "BlobServiceProperties", "BlobContainerImmutabilityPolicy",
    }  # fmt: skip


@each
def test_everything_lies_in_the_clusters_own_group(built: Built) -> None:
    name = built.one("ResourceGroup")["resourceGroupName"]
    assert re.fullmatch(r"emporion-dev-[0-9a-f]{20}", name)
    for item in ours(built):
        if not item.typ.endswith(":RoleAssignment"):
            assert item.inputs["resourceGroupName"] == name


@each
def test_the_program_looks_up_the_subscription_and_nothing_else(built: Built) -> None:
    assert set(built.calls) == {"azure-native:authorization:getClientConfig"}


@each
def test_roles_are_built_in_ones_on_one_resource_each(built: Built) -> None:
    roles = built.of("RoleAssignment")
    assert roles
    for role in roles:
        assert role["scope"].endswith(("cluster-checkpoints-id", "/secrets/munge"))
        assert role["principalType"] == "ServicePrincipal"
        definition = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Authorization/roleDefinitions/"
        assert role["roleDefinitionId"].removeprefix(definition) in ROLES.values()
        assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", role["roleAssignmentName"])
    assert len({role["roleAssignmentName"] for role in roles}) == len(roles)


@each
def test_nodes_have_no_public_address_and_nobodys_key(built: Built) -> None:
    for item in built.of("VirtualMachineScaleSet"):
        (nic,) = item["virtualMachineProfile"]["networkProfile"]["networkInterfaceConfigurations"]
        assert nic["enableAcceleratedNetworking"] is True
        assert "publicIPAddressConfiguration" not in nic["ipConfigurations"][0]
        linux = item["virtualMachineProfile"]["osProfile"]["linuxConfiguration"]
        assert linux["disablePasswordAuthentication"] is True
        assert [key["keyData"] for key in linux["ssh"]["publicKeys"]] == [NOBODYS_KEY]
    for item in built.of("NetworkInterface"):
        assert "publicIPAddress" not in item["ipConfigurations"][0]


def test_a_set_with_infiniband_is_one_placement_group_without_a_second_constraint() -> None:
    made = built_once("demo").one("VirtualMachineScaleSet")
    assert made["singlePlacementGroup"] is True
    assert made["orchestrationMode"] == "Uniform"
    assert made["platformFaultDomainCount"] == 1
    assert made["overprovision"] is False
    assert made["upgradePolicy"] == {"mode": "Manual"}
    assert made["sku"] == {"name": "Standard_ND96asr_v4", "tier": "Standard", "capacity": 2}
    assert not {"proximityPlacementGroup", "zones"} & set(made)
    assert not built_once("demo").of("ProximityPlacementGroup")


def test_without_infiniband_the_nodes_are_kept_close() -> None:
    built = built_once("plain")
    made = built.one("VirtualMachineScaleSet")
    assert made["singlePlacementGroup"] is False
    assert made["proximityPlacementGroup"] == {"id": "cluster-gpu-0-placement-id"}
    group = built.one("ProximityPlacementGroup")
    assert (group["proximityPlacementGroupType"], group["intent"]) == (
        "Standard",
        {"vmSizes": ["Standard_NC24ads_A100_v4"]},
    )


def test_spot_is_deleted_when_it_is_taken_and_pays_up_to_its_ceiling() -> None:
    found = profile(built_once("demo"))
    assert (found["priority"], found["evictionPolicy"]) == ("Spot", "Delete")
    assert found["billingProfile"] == {"maxPrice": -1.0}
    assert "spotRestorePolicy" not in built_once("demo").one("VirtualMachineScaleSet")
    capped = profile(build_azure(azure_pool(spot_max_price_usd_per_hour=Decimal("9.50"))))
    assert capped["billingProfile"] == {"maxPrice": 9.5}
    renewed = built_once("renewed").one("VirtualMachineScaleSet")
    assert renewed["spotRestorePolicy"] == {"enabled": True, "restoreTimeout": "PT2H"}


def test_on_demand_has_no_word_of_spot() -> None:
    found = profile(built_once("on demand"))
    assert found["priority"] == "Regular"
    assert not {"evictionPolicy", "billingProfile"} & set(found)


def test_a_reserved_pool_gets_a_reservation_of_its_size_or_the_users() -> None:
    built = built_once("reserved")
    assert built.one("CapacityReservation")["sku"] == {"name": "Standard_NC24ads_A100_v4", "capacity": 2}
    held = profile(built)["capacityReservation"]["capacityReservationGroup"]
    assert held == {"id": "cluster-gpu-0-reservations-id"}
    theirs = built_once("the user's reservation")
    assert profile(theirs)["capacityReservation"]["capacityReservationGroup"] == {"id": f"/{HELD}"}
    assert not theirs.of("CapacityReservation")


def test_the_image_is_the_pinned_version_with_its_plan_when_it_is_ordered_under_one() -> None:
    image = profile(built_once("demo"))["storageProfile"]["imageReference"]
    assert image == {
        "publisher": "microsoft-dsvm", "offer": "ubuntu-hpc", "sku": "2404", "version": "24.04.2026110101"
    }  # fmt: skip
    assert "plan" not in built_once("demo").one("VirtualMachineScaleSet")
    ordered = replace(AZURE_POOL.image, id=f"{AZURE_POOL.image.id}#plan")
    made = build_azure(azure_pool(image=ordered)).one("VirtualMachineScaleSet")
    assert made["plan"] == {"name": "2404", "product": "ubuntu-hpc", "publisher": "microsoft-dsvm"}
    own = replace(AZURE_POOL.image, id="subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/mine")
    image = profile(build_azure(azure_pool(image=own)))["storageProfile"]["imageReference"]
    assert image == {"id": f"/{own.id}"}


def test_azure_is_asked_for_a_notice_before_a_set_ends_a_node() -> None:
    assert profile(built_once("demo"))["scheduledEventsProfile"] == {
        "terminateNotificationProfile": {"enable": True, "notBeforeTimeout": "PT5M"}
    }


def test_the_store_takes_no_keys_no_anonymous_reader_and_no_old_tls() -> None:
    made = built_once("demo").one("StorageAccount")
    assert re.fullmatch(r"[a-z0-9]{3,24}", made["accountName"])
    assert made["minimumTlsVersion"] == "TLS1_2"
    assert made["enableHttpsTrafficOnly"] is True
    assert made["allowSharedKeyAccess"] is False
    assert made["allowBlobPublicAccess"] is False
    assert built_once("demo").one("BlobContainer")["publicAccess"] == "None"
    assert not built_once("demo").of("BlobContainerImmutabilityPolicy")
    assert (
        built_once("demo").exports["checkpoint_uri"]
        == f"https://{made['accountName']}.blob.core.windows.net/checkpoints"
    )


def test_on_request_checkpoints_cannot_be_deleted_for_some_days() -> None:
    policy = built_once("locked").one("BlobContainerImmutabilityPolicy")
    assert policy["immutabilityPeriodSinceCreationInDays"] == 30
    assert policy["immutabilityPolicyName"] == "default"


def test_the_schedulers_key_lies_in_a_vault_that_answers_the_nodes_subnet_alone() -> None:
    built = built_once("demo")
    vault = built.one("Vault")
    assert vault["vaultName"] == vault_name(PRINCIPAL)
    assert re.fullmatch(r"[a-z][a-z0-9-]{1,22}[a-z0-9]", vault["vaultName"])
    assert vault["properties"]["enableRbacAuthorization"] is True
    acls = vault["properties"]["networkAcls"]
    assert (acls["defaultAction"], acls["bypass"]) == ("Deny", "None")
    assert [rule["id"] for rule in acls["virtualNetworkRules"]] == ["cluster-nodes-id"]
    assert not built.of("Secret")
    assert vault_name("another principal") != vault["vaultName"]


def test_only_the_controller_may_write_the_key() -> None:
    roles = {item.name: item.inputs for item in ours(built_once("demo")) if item.typ.endswith(":RoleAssignment")}
    ends = {name: role["roleDefinitionId"].rpartition("/")[2] for name, role in roles.items()}
    assert ends == {
        "cluster-controller-blobs": ROLES["blobs"],
        "cluster-controller-munge": ROLES["write_secrets"],
        "cluster-node-blobs": ROLES["blobs"],
        "cluster-node-munge": ROLES["read_secrets"],
    }


def test_without_a_scheduler_there_is_no_controller_and_no_vault() -> None:
    built = built_once("no scheduler")
    assert not [*built.of("Vault"), *built.of("VirtualMachine"), *built.of("NetworkInterface")]
    assert len(built.of("UserAssignedIdentity")) == 1
    assert built.exports["controller_id"] == built.exports["cluster_address"] == ""


def test_nodes_go_out_through_one_gateway_or_not_at_all() -> None:
    nodes = next(item for item in built_once("demo").of("Subnet") if item["subnetName"] == "nodes")
    assert nodes["natGateway"] == {"id": "cluster-nat-id"}
    assert nodes["defaultOutboundAccess"] is False
    built = built_once("no way out")
    nodes = next(item for item in built.of("Subnet") if item["subnetName"] == "nodes")
    assert "natGateway" not in nodes
    assert not built.of("NatGateway")
    services = {endpoint["service"] for endpoint in nodes["serviceEndpoints"]}
    assert services == {"Microsoft.Storage", "Microsoft.KeyVault"}


def test_nothing_comes_in_but_from_the_network_itself() -> None:
    rules = built_once("demo").one("NetworkSecurityGroup")["securityRules"]
    inbound = [rule for rule in sorted(rules, key=lambda rule: rule["priority"]) if rule["direction"] == "Inbound"]
    assert [(rule["access"], rule["sourceAddressPrefix"]) for rule in inbound] == [
        ("Allow", "VirtualNetwork"),
        ("Deny", "*"),
    ]


def test_subnets_are_made_one_after_the_other() -> None:
    order = [item.name for item in built_once("lustre").resources]
    chain = ["cluster-nodes", "cluster-lustre-subnet", "cluster-bastion-subnet"]
    assert [name for name in order if name in chain] == chain


def test_the_bastion_has_a_door_for_a_command_line() -> None:
    made = built_once("demo").one("BastionHost")
    assert (made["bastionHostName"], made["sku"], made["enableTunneling"]) == ("bastion", {"name": "Standard"}, True)


def test_a_file_system_has_a_subnet_of_its_own_and_the_nodes_mount_it() -> None:
    built = built_once("lustre")
    made = built.one("AmlFilesystem")
    assert (made["storageCapacityTiB"], made["sku"]) == (32.0, {"name": "AMLFS-Durable-Premium-125"})
    assert made["filesystemSubnet"] == "cluster-lustre-subnet-id"
    text = base64.b64decode(profile(built)["osProfile"]["customData"]).decode()
    assert "EMPORION_LUSTRE_ADDRESS=10.0.252.5" in text
    controller = base64.b64decode(built.one("VirtualMachine")["osProfile"]["customData"]).decode()
    assert "EMPORION_LUSTRE_ADDRESS=''" in controller


def test_the_controller_has_a_fixed_address_and_takes_its_disk_with_it() -> None:
    built = built_once("demo")
    (configuration,) = built.one("NetworkInterface")["ipConfigurations"]
    assert (configuration["privateIPAddress"], configuration["privateIPAllocationMethod"]) == ("10.0.0.10", "Static")
    made = built.one("VirtualMachine")
    assert made["tags"]["emporion-pool"] == "controller"
    assert made["storageProfile"]["osDisk"]["deleteOption"] == "Delete"
    assert built.exports["cluster_address"] == "10.0.0.10"


def test_what_the_nodes_are_told_is_what_was_made() -> None:
    built = built_once("demo")
    text = base64.b64decode(profile(built)["osProfile"]["customData"]).decode()
    assert "EMPORION_CONTROLLER_IP=10.0.0.10" in text
    assert f"EMPORION_VAULT={vault_name(PRINCIPAL)}" in text
    assert "EMPORION_IDENTITY=cluster-node-identity-id" in text
    assert "EMPORION_INFINIBAND=1" in text


def test_only_addresses_of_nodes_are_secret() -> None:
    assert built_once("demo").secret == {"node_addresses"}


@pytest.mark.parametrize(
    ("world", "subscription", "what"),
    [
        pytest.param("local", "1111", "the credentials lead to the real account 1111", id="local stack, real account"),
        pytest.param("real", SUBSCRIPTION, "the answer came from the local cloud", id="real stack, local cloud"),
    ],
)
def test_a_stack_never_reaches_the_other_world(world: str, subscription: str, what: str) -> None:
    with pytest.raises(pulumi.RunError, match=what):
        build_azure(AZURE, subscription=subscription, world=world)


def test_a_local_stack_names_the_subscription_that_nobody_has() -> None:
    provider = next(item for item in built_once("demo").resources if item.typ == "pulumi:providers:azure-native")
    assert (provider.inputs["subscriptionId"], provider.inputs["location"]) == (SUBSCRIPTION, "eastus")
    real = build_azure(AZURE, subscription="1111", world="real")
    provider = next(item for item in real.resources if item.typ == "pulumi:providers:azure-native")
    assert "subscriptionId" not in provider.inputs


def test_what_azure_would_refuse_ends_the_program_and_registers_nothing() -> None:
    with pytest.raises(pulumi.RunError, match="InfiniBand joins 100 at most"):
        build_azure(azure_pool(count=101))


def test_another_generation_makes_other_names() -> None:
    first, second = built_once("demo"), build_azure(AZURE, generation="1")
    for kind, key in (("StorageAccount", "accountName"), ("ResourceGroup", "resourceGroupName")):
        assert first.one(kind)[key] != second.one(kind)[key]
