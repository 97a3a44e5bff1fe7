from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from clock import Clock

from emporion.localcloud.api import LocalCloud
from emporion.localcloud.faults import add_fault, faults
from emporion.localcloud.happenings import come_to_pass, node_notices, told_notices
from emporion.localcloud.interruptions import NO_NOTICE, notice_of
from emporion.localcloud.models import set_model
from emporion.localcloud.places import stand_ins
from emporion.localcloud.time_control import set_rate, step
from emporion.localcloud.world import Resource, World, iso_time
from emporion.market.stand_in import StandIn

INSTANCE, GROUP = "aws:ec2/instance:Instance", "aws:autoscaling/group:Group"
DAY_S = 86_400
Make = Callable[..., str]
Spot = Callable[..., None]


@pytest.fixture(autouse=True)
def stepped(world: World) -> None:
    set_rate(world, 0)


@pytest.fixture
def subnet(make: Make) -> str:
    vpc = make("aws:ec2/vpc:Vpc", "v", {"cidrBlock": "10.0.0.0/16"})
    zone = {"availabilityZone": "us-east-1c"}
    return make("aws:ec2/subnet:Subnet", "s", {"vpcId": vpc, "cidrBlock": "10.0.1.0/24", **zone})


@pytest.fixture
def spot(make: Make, subnet: str) -> Spot:
    def start(count: int = 1, instance_type: str = "p4d.24xlarge", market: str = "spot") -> None:
        for number in range(count):
            more = {"instanceMarketOptions": {"marketType": "spot"}} if market == "spot" else {}
            make(INSTANCE, f"{instance_type}-{number}", {
                "ami": "ami-1", "instanceType": instance_type, "subnetId": subnet,
                "tags": {"emporion-stack": "shop/dev"}, **more,
            })  # fmt: skip

    return start


def machines(world: World) -> list[Resource]:
    return world.resources(token=INSTANCE)


def test_aws_tells_of_an_interruption_two_minutes_before_and_after_it(
    spot: Spot, world: World, rules: StandIn, clock: Clock
) -> None:
    spot()
    home = world.path.parent.parent
    api = LocalCloud(lambda: World.open(home, clock), rules, "us-east-1")
    (node,) = api.nodes("shop", "dev")
    assert api.notices(node.id) == []
    add_fault(world, "interruption", provider="aws", after_s=600)
    step(world, 599)
    assert api.notices(node.id) == []
    step(world, 1)
    noticed = world.now()
    assert api.notices(node.id) == [{"kind": "spot_interruption", "at": noticed}]
    assert [one["ends"] for one in node_notices(world, rules, node.id)] == [iso_time(world.time_s() + 120)]
    step(world, 119)
    assert len(api.nodes("shop", "dev")) == 1
    step(world, 1)
    assert api.nodes("shop", "dev") == []
    assert api.notices(node.id) == [
        {"kind": "spot_interruption", "at": noticed},
        {"kind": "spot_interrupted", "at": world.now()},
    ]


@pytest.mark.parametrize(
    ("provider", "lead_s", "in_api"), [("aws", 120, True), ("azure", 30, False), ("gcp", 30, False)]
)
def test_each_cloud_gives_its_own_notice(provider: str, lead_s: float, in_api: bool) -> None:
    notice = notice_of(provider)
    assert (notice.lead_s, notice.in_api) == (lead_s, in_api)
    assert notice.kind


def test_a_cloud_without_a_row_gives_none() -> None:
    assert notice_of("vast") is NO_NOTICE
    assert NO_NOTICE.lead_s == 0


def test_azure_tells_the_machine_alone(world: World) -> None:
    azure = stand_ins()["azure"]
    with world.transaction() as connection:
        connection.execute(
            "INSERT INTO interruptions (plugin, region, machine, node, notice_s, ends_s) VALUES (?, ?, ?, ?, ?, ?)",
            (azure.plugin, "eastus", 1, "/vm", world.time_s(), world.time_s() + 30),
        )
    assert told_notices(world, azure, "/vm") == []
    assert [one["kind"] for one in node_notices(world, azure, "/vm")] == ["preempt"]


def test_only_spot_machines_of_the_place_and_type_are_struck_as_many_as_asked(
    spot: Spot, world: World, rules: StandIn
) -> None:
    spot(3)
    spot(2, "g5.xlarge")
    spot(1, "p5.48xlarge", market="on_demand")
    add_fault(world, "interruption", instance_type="p4d.24xlarge", times=2)
    step(world, 200)
    come_to_pass(world, rules, "us-east-1")
    left = sorted(machine.facts["instance_type"] for machine in machines(world))
    assert left == ["g5.xlarge", "g5.xlarge", "p4d.24xlarge", "p5.48xlarge"]
    assert faults(world) == []
    add_fault(world, "interruption", zone="use1-az1", times=0)
    add_fault(world, "interruption", detail={"node": machines(world)[0].id})
    step(world, 200)
    come_to_pass(world, rules, "us-east-1")
    assert len(machines(world)) == 3


def test_a_wave_takes_what_runs_when_it_begins_and_nothing_that_starts_after_it(
    spot: Spot, world: World, rules: StandIn
) -> None:
    spot(2)
    add_fault(world, "interruption", times=0)
    step(world, 1)
    spot(1, "g5.xlarge")
    step(world, DAY_S)
    come_to_pass(world, rules, "us-east-1")
    assert [machine.facts["instance_type"] for machine in machines(world)] == ["g5.xlarge"]


def test_a_group_makes_up_for_each_loss_at_the_moment_of_the_loss(
    make: Make, subnet: str, world: World, rules: StandIn
) -> None:
    template = make("aws:ec2/launchTemplate:LaunchTemplate", "t", {
        "name": "t", "imageId": "ami-1", "instanceType": "p4d.24xlarge",
        "instanceMarketOptions": {"marketType": "spot"},
    })  # fmt: skip
    group = {"minSize": 1, "maxSize": 1, "vpcZoneIdentifiers": [subnet]}
    make(GROUP, "g", {"name": "g", **group, "launchTemplate": {"id": template, "version": "1"}})
    (first,) = machines(world)
    add_fault(world, "interruption", after_s=1000)
    add_fault(world, "interruption", after_s=5000)
    began_s = world.time_s()
    step(world, DAY_S)
    come_to_pass(world, rules, "us-east-1")
    (last,) = machines(world)
    assert last.id != first.id
    assert last.facts["launched_s"] - began_s == 5120
    assert last.created_at == iso_time(began_s + 5120)
    assert world.query("SELECT count(*) FROM interruptions WHERE done") == [(2,)]


def interrupted_at(home: Path, clock: Clock, rules: StandIn, seed: str, looks: int) -> list[float]:
    """Return when five pools of two machines are interrupted within 20 days that are looked at so often."""
    with World.open(home, clock) as world:
        world.set_seed(seed)
        set_rate(world, 0)
        set_model(world, "interruptions", "modelled")
        for number in range(10):
            facts = {
                "market": "spot", "launched_s": world.time_s(), "zone": f"z{number % 5}", "tags": {},
                "instance_type": "p4d.24xlarge", "subnet_id": "", "addresses": [], "reservation_id": None,
            }  # fmt: skip
            world.insert(
                provider="aws", scope="us-east-1", region="us-east-1", token=INSTANCE, resource_id=f"i-{number}",
                inputs={}, outputs={}, facts=facts,
            )  # fmt: skip
        began_s = world.time_s()
        for _ in range(looks):
            step(world, 20 * DAY_S / looks)
            come_to_pass(world, rules, "us-east-1")
        rows = world.query("SELECT node, notice_s FROM interruptions ORDER BY node")
        pools = {node[-1]: round(notice_s - began_s, 3) for node, notice_s in rows}
        for number in range(5):  # both machines of a pool, or none of them, and at once
            assert pools.get(str(number)) == pools.get(str(number + 5))
        return sorted(pools.values())


def test_chance_takes_whole_pools_back_at_the_published_rate_the_same_however_often_one_looks(
    tmp_path: Path, clock: Clock, rules: StandIn
) -> None:
    once = interrupted_at(tmp_path / "once", clock, rules, "7", 1)
    clock.seconds = 1_796_083_200.0
    often = interrupted_at(tmp_path / "often", clock, rules, "7", 50)
    assert once == often
    assert once
    clock.seconds = 1_796_083_200.0
    assert once != interrupted_at(tmp_path / "other", clock, rules, "8", 1)


def test_what_was_before_the_model_was_switched_on_is_not_made_up_for(spot: Spot, world: World, rules: StandIn) -> None:
    spot(2)
    step(world, 365 * DAY_S)
    set_model(world, "interruptions", "modelled")
    come_to_pass(world, rules, "us-east-1")
    assert len(machines(world)) == 2
