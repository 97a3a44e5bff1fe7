from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any

import pytest

from emporion.localcloud.capacity import set_capacity, set_quota
from emporion.localcloud.machines import end_machine, settle_groups
from emporion.localcloud.plugin.calls import CloudRefusedError
from emporion.localcloud.plugin.lifecycle import Made
from emporion.localcloud.plugin.provider import Naming, Provider
from emporion.localcloud.world import Resource, World
from emporion.market.errors import UserError
from emporion.market.stand_in import StandIn

Make = Callable[..., str]
INSTANCE, GROUP = "aws:ec2/instance:Instance", "aws:autoscaling/group:Group"
TEMPLATE, SUBNET = "aws:ec2/launchTemplate:LaunchTemplate", "aws:ec2/subnet:Subnet"
RESERVATION = "aws:ec2/capacityReservation:CapacityReservation"
P4D, ZONE, ZONE_ID = "p4d.24xlarge", "us-east-1c", "use1-az2"


def urn(token: str, name: str) -> str:
    return f"urn:pulumi:dev::shop::{token}::{name}"


@pytest.fixture
def subnet(make: Make) -> str:
    vpc = make("aws:ec2/vpc:Vpc", "v", {"cidrBlock": "10.0.0.0/16"})
    return make(SUBNET, "s", {"vpcId": vpc, "cidrBlock": "10.0.1.0/24", "availabilityZone": ZONE})


@pytest.fixture
def template(make: Make) -> str:
    nics = [
        {"networkCardIndex": card, "deviceIndex": 0 if card == 0 else 1, "interfaceType": "efa"} for card in range(4)
    ]
    data = {"imageId": "ami-1", "instanceType": P4D, "networkInterfaces": nics}
    return make(TEMPLATE, "t", {"name": "t", **data})


@pytest.fixture
def launch(provider: Provider, template: str, subnet: str) -> Callable[..., Made]:
    def start(name: str = "i", **more: Any) -> Made:
        inputs = {"launchTemplate": {"id": template, "version": "1"}, "subnetId": subnet, **more}
        return provider.create(urn(INSTANCE, name), inputs, preview=False)[0]

    return start


@pytest.fixture
def group(provider: Provider, template: str, subnet: str) -> Callable[..., Made]:
    def start(count: int = 2, **more: Any) -> Made:
        inputs = {
            "name": "g", "minSize": count, "maxSize": count, "vpcZoneIdentifiers": [subnet],
            "launchTemplate": {"id": template, "version": "1"},
            "tags": [
                {"key": "emporion-pool", "value": "gpu-0", "propagateAtLaunch": True},
                {"key": "kept", "value": "by the group", "propagateAtLaunch": False},
            ],
            **more,
        }  # fmt: skip
        checked, failures = provider.check(urn(GROUP, "g"), {}, inputs, Naming())
        assert not failures
        return provider.create(urn(GROUP, "g"), checked, preview=False)[0]

    return start


def machines(world: World) -> list[Resource]:
    return world.resources(token=INSTANCE)


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(CloudRefusedError) as error:
        action()
    return str(error.value)


def test_a_machine_runs_in_its_subnets_zone_with_an_address_per_interface(
    launch: Callable[..., Made], world: World
) -> None:
    outputs = launch(tags={"Name": "x"}).outputs
    assert (outputs["availabilityZone"], outputs["instanceState"], outputs["instanceType"]) == (ZONE, "running", P4D)
    (machine,) = machines(world)
    assert len(set(machine.facts["addresses"])) == 4
    assert outputs["privateIp"] == machine.facts["addresses"][0]
    assert all(ipaddress.ip_address(one) in ipaddress.ip_network("10.0.1.0/24") for one in machine.facts["addresses"])
    assert outputs["privateDns"] == f"ip-{outputs['privateIp'].replace('.', '-')}.ec2.internal"
    assert machine.facts["market"] == "on_demand"


def test_efa_only_interfaces_take_no_address(make: Make, provider: Provider, subnet: str, world: World) -> None:
    nics = [{"deviceIndex": 0, "interfaceType": "interface"}]
    nics += [{"networkCardIndex": card, "deviceIndex": 1, "interfaceType": "efa-only"} for card in range(32)]
    template = make(
        TEMPLATE, "t", {"name": "t", "imageId": "ami-1", "instanceType": "p5.48xlarge", "networkInterfaces": nics}
    )
    inputs = {"launchTemplate": {"id": template, "version": "$Latest"}, "subnetId": subnet}
    provider.create(urn(INSTANCE, "i"), inputs, preview=False)
    assert len(machines(world)[0].facts["addresses"]) == 1


def test_an_address_that_the_program_chose_is_given_and_taken_once(launch: Callable[..., Made]) -> None:
    assert launch("a", privateIp="10.0.1.10").outputs["privateIp"] == "10.0.1.10"
    assert "InsufficientFreeAddressesInSubnet" in refused(lambda: launch("b", privateIp="10.0.1.10"))


def test_a_spot_machine_is_noted_as_one(make: Make, provider: Provider, subnet: str, world: World) -> None:
    inputs = {
        "ami": "ami-1", "instanceType": P4D, "subnetId": subnet, "instanceMarketOptions": {"marketType": "spot"},
    }  # fmt: skip
    made, _ = provider.create(urn(INSTANCE, "i"), inputs, preview=False)
    assert made.outputs["instanceLifecycle"] == "spot"
    assert machines(world)[0].facts["market"] == "spot"


def test_a_group_runs_its_machines_with_the_tags_that_it_hands_on(group: Callable[..., Made], world: World) -> None:
    made = group(2)
    assert made.failures == ()
    assert [machine.facts["tags"] for machine in machines(world)] == [{"emporion-pool": "gpu-0"}] * 2
    assert len({address for machine in machines(world) for address in machine.facts["addresses"]}) == 8
    assert made.outputs["arn"].endswith(":autoScalingGroupName/g")


def test_a_groups_machines_follow_its_size_and_go_with_it(
    group: Callable[..., Made], provider: Provider, world: World
) -> None:
    made = group(2)
    grown = {**made.inputs, "minSize": 3, "maxSize": 3}
    provider.update(urn(GROUP, "g"), "g", made.outputs, made.inputs, grown, preview=False)
    assert len(machines(world)) == 3
    provider.update(urn(GROUP, "g"), "g", made.outputs, grown, made.inputs, preview=False)
    assert len(machines(world)) == 2
    provider.delete(urn(GROUP, "g"), "g", {})
    assert machines(world) == []


@pytest.mark.parametrize("refresh", [None, {"strategy": "Rolling"}])
def test_another_template_version_reaches_running_machines_only_by_a_refresh(
    group: Callable[..., Made], provider: Provider, world: World, template: str, refresh: dict[str, str] | None
) -> None:
    made = group(2, **({"instanceRefresh": refresh} if refresh else {}))
    (row,) = world.resources(token=TEMPLATE)
    provider.update(
        urn(TEMPLATE, "t"), template, row.outputs, row.inputs, {**row.inputs, "imageId": "ami-2"}, preview=False
    )
    newer = {**made.inputs, "launchTemplate": {"id": template, "version": "2"}}
    provider.update(urn(GROUP, "g"), "g", made.outputs, made.inputs, newer, preview=False)
    assert {machine.facts["image_id"] for machine in machines(world)} == {"ami-2" if refresh else "ami-1"}


def test_a_lost_machine_of_a_group_is_replaced_and_one_by_itself_is_not(
    group: Callable[..., Made], launch: Callable[..., Made], world: World, rules: StandIn
) -> None:
    group(2)
    alone = launch().id
    lost = machines(world)[0]
    end_machine(world, rules, lost)
    end_machine(world, rules, next(machine for machine in machines(world) if machine.id == alone))
    assert len(machines(world)) == 2
    assert lost.id not in {machine.id for machine in machines(world)}


# capacity


@pytest.mark.parametrize(
    ("region", "zone", "instance_type"),
    [
        pytest.param("us-east-1", "*", P4D, id="type in a region"),
        pytest.param("us-east-1", ZONE, P4D, id="type in a zone"),
        pytest.param("us-east-1", ZONE_ID, P4D, id="type in a zone by its id"),
        pytest.param("us-east-1", "*", "*", id="every type"),
        pytest.param("*", "*", P4D, id="every region"),
    ],
)
def test_the_machine_beyond_the_capacity_is_refused_by_the_real_code(
    launch: Callable[..., Made], world: World, region: str, zone: str, instance_type: str
) -> None:
    set_capacity(world, "aws", region, instance_type, 1, zone=zone)
    launch("a")
    said = refused(lambda: launch("b"))
    assert said.startswith("creating EC2 Instance (b): operation error EC2: RunInstances")
    assert f"api error InsufficientInstanceCapacity: We currently do not have sufficient {P4D} capacity" in said
    assert f"({ZONE})" in said
    assert len(machines(world)) == 1
    set_capacity(world, "aws", region, instance_type, None, zone=zone)
    launch("b")


@pytest.mark.parametrize(
    ("region", "zone", "instance_type"),
    [
        ("eu-west-1", "*", P4D),
        ("us-east-1", "us-east-1a", P4D),
        ("us-east-1", "*", "p5.48xlarge"),
    ],
)
def test_capacity_elsewhere_does_not_matter(
    launch: Callable[..., Made], world: World, region: str, zone: str, instance_type: str
) -> None:
    set_capacity(world, "aws", region, instance_type, 0, zone=zone)
    launch()


def test_the_most_exact_entry_counts(launch: Callable[..., Made], world: World) -> None:
    set_capacity(world, "*", "*", "*", 0)
    set_capacity(world, "aws", "us-east-1", P4D, 1)
    launch()


def test_a_group_without_room_exists_says_why_and_is_completed_by_the_next_update(
    group: Callable[..., Made], provider: Provider, world: World
) -> None:
    set_capacity(world, "aws", "us-east-1", P4D, 1)
    made = group(2)
    (why,) = made.failures
    assert "InsufficientInstanceCapacity - We currently do not have sufficient p4d.24xlarge capacity" in why
    assert len(machines(world)) == 1
    set_capacity(world, "aws", "us-east-1", P4D, 2)
    again, _ = provider.update(urn(GROUP, "g"), "g", made.outputs, made.inputs, made.inputs, preview=False)
    assert again.failures == ()
    assert len(machines(world)) == 2


def test_a_group_that_does_not_wait_for_its_machines_is_no_failure(group: Callable[..., Made], world: World) -> None:
    set_capacity(world, "aws", "us-east-1", P4D, 1)
    assert group(2, waitForCapacityTimeout="0").failures == ()
    assert len(machines(world)) == 1


def test_a_group_that_lacks_machines_gets_them_when_there_is_room(
    group: Callable[..., Made], world: World, rules: StandIn
) -> None:
    set_capacity(world, "aws", "us-east-1", P4D, 1)
    group(2, waitForCapacityTimeout="0")
    settle_groups(world, rules, "us-east-1")
    assert len(machines(world)) == 1
    set_capacity(world, "aws", "us-east-1", P4D, 2)
    settle_groups(world, rules, "us-east-1")
    assert len(machines(world)) == 2


def test_less_than_no_machines_cannot_be(world: World) -> None:
    with pytest.raises(UserError, match="-1 machines cannot be"):
        set_capacity(world, "aws", "us-east-1", P4D, -1)


# quotas


def test_the_machine_beyond_the_quota_is_refused_in_vcpus(launch: Callable[..., Made], world: World) -> None:
    set_quota(world, "aws", "us-east-1", P4D, 1)
    launch("a")
    said = refused(lambda: launch("b"))
    assert (
        "api error VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 96" in said
    )


def test_a_quota_of_one_market_leaves_the_other(launch: Callable[..., Made], world: World) -> None:
    set_quota(world, "aws", "us-east-1", P4D, 0, market="spot")
    launch("a")
    assert "MaxSpotInstanceCountExceeded" in refused(lambda: launch("b", instanceMarketOptions={"marketType": "spot"}))


# reservations


def reservation(count: int = 1, zone: str = ZONE) -> dict[str, Any]:
    return {
        "availabilityZone": zone, "instanceCount": count, "instancePlatform": "Linux/UNIX", "instanceType": P4D,
        "instanceMatchCriteria": "targeted",
    }  # fmt: skip


def targeted(reservation_id: str) -> dict[str, Any]:
    return {
        "capacityReservationSpecification": {"capacityReservationTarget": {"capacityReservationId": reservation_id}}
    }


def test_a_reservation_holds_machines_back_for_those_who_name_it(
    launch: Callable[..., Made], make: Make, world: World
) -> None:
    set_capacity(world, "aws", "us-east-1", P4D, 1)
    held = make(RESERVATION, "r", reservation())
    assert "InsufficientInstanceCapacity" in refused(lambda: launch("a"))
    launch("b", **targeted(held))
    assert "ReservationCapacityExceeded" in refused(lambda: launch("c", **targeted(held)))


def test_a_reservation_beyond_the_capacity_is_refused(provider: Provider, world: World) -> None:
    set_capacity(world, "aws", "us-east-1", P4D, 1)
    said = refused(lambda: provider.create(urn(RESERVATION, "r"), reservation(2), preview=False))
    assert "InsufficientInstanceCapacity" in said


def test_a_reservation_that_is_not_there_or_elsewhere_is_refused(launch: Callable[..., Made], make: Make) -> None:
    assert "InvalidCapacityReservationId.NotFound" in refused(lambda: launch("a", **targeted("cr-1")))
    elsewhere = make(RESERVATION, "r", reservation(zone="us-east-1a"))
    assert "Availability Zone of the launch" in refused(lambda: launch("a", **targeted(elsewhere)))


# launches that EC2 refuses


@pytest.mark.parametrize(
    ("nics", "code"),
    [
        pytest.param(
            [{"deviceIndex": 0, "associatePublicIpAddress": "true"}, {"deviceIndex": 1}], "associatePublicIPAddress",
            id="a public address and several interfaces",
        ),
        pytest.param([{"deviceIndex": 0}, {"deviceIndex": 0}], "unique device index", id="two at one place"),
        pytest.param([{"networkCardIndex": 4, "deviceIndex": 1}], "has 4 network cards", id="no such card"),
        pytest.param(
            [{"networkCardIndex": card % 4, "deviceIndex": card // 4, "interfaceType": "efa"} for card in range(5)],
            "5 EFA interfaces are more than the 4", id="too many EFA",
        ),
        pytest.param([{"deviceIndex": 0, "interfaceType": "efa-only"}], "EFA-only interface", id="no address at all"),
    ],
)  # fmt: skip
def test_interfaces_that_the_type_does_not_have(
    make: Make, provider: Provider, subnet: str, nics: list[dict[str, Any]], code: str
) -> None:
    data = {"name": "odd", "imageId": "ami-1", "instanceType": P4D, "networkInterfaces": nics}
    template = make(TEMPLATE, "odd", data)
    inputs = {"launchTemplate": {"id": template, "version": "1"}, "subnetId": subnet}
    assert code in refused(lambda: provider.create(urn(INSTANCE, "i"), inputs, preview=False))


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        pytest.param({"iamInstanceProfile": "nobody"}, "Invalid IAM Instance Profile name", id="profile"),
        pytest.param({"placementGroup": "nowhere"}, "InvalidPlacementGroup.Unknown", id="placement group"),
        pytest.param({"vpcSecurityGroupIds": ["sg-1"]}, "InvalidGroup.NotFound", id="security group"),
        pytest.param({"subnetId": "subnet-1"}, "InvalidSubnetID.NotFound", id="subnet"),
        pytest.param({"subnetId": None}, "VPCIdNotSpecified", id="no subnet"),
    ],
)
def test_a_launch_that_names_what_is_not_there(launch: Callable[..., Made], asked: dict[str, Any], code: str) -> None:
    assert code in refused(lambda: launch(**asked))


def test_a_template_version_that_is_not_there(launch: Callable[..., Made], template: str) -> None:
    said = refused(lambda: launch(launchTemplate={"id": template, "version": "7"}))
    assert "InvalidLaunchTemplateId.VersionNotFound" in said


def test_a_full_subnet(make: Make, provider: Provider, world: World) -> None:
    vpc = make("aws:ec2/vpc:Vpc", "v", {"cidrBlock": "10.0.0.0/16"})
    small = make(SUBNET, "s", {"vpcId": vpc, "cidrBlock": "10.0.1.0/28", "availabilityZone": ZONE})
    inputs = {"ami": "ami-1", "instanceType": "g4dn.xlarge", "subnetId": small}
    for number in range(11):
        provider.create(urn(INSTANCE, f"i{number}"), inputs, preview=False)
    assert "InsufficientFreeAddressesInSubnet" in refused(
        lambda: provider.create(urn(INSTANCE, "one-more"), inputs, preview=False)
    )
    assert len(machines(world)) == 11
