from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from clock import Clock

from emporion.localcloud.api import LocalCloud
from emporion.localcloud.capacity import quota_limit, request_quota, set_quota
from emporion.localcloud.delays import Phase, phase, start_times
from emporion.localcloud.happenings import come_to_pass
from emporion.localcloud.model_kinds import MODELS
from emporion.localcloud.models import model, set_model
from emporion.localcloud.plugin.provider import Provider
from emporion.localcloud.time_control import set_rate, step
from emporion.localcloud.world import World
from emporion.market.errors import UserError
from emporion.market.stand_in import StandIn
from emporion.market.tables import read_rows

Make = Callable[..., str]
DATA = Path("localcloud/emporion/localcloud/data")
INSTANCE = "aws:ec2/instance:Instance"


def test_a_new_world_models_nothing(world: World) -> None:
    assert {name: model(world, name) for name in MODELS} == {each.name: each.values[0] for each in MODELS.values()}
    assert start_times(world, "aws", "x") == {}


@pytest.fixture
def subnet(make: Make) -> str:
    vpc = make("aws:ec2/vpc:Vpc", "v", {"cidrBlock": "10.0.0.0/16"})
    zone = {"availabilityZone": "us-east-1c"}
    return make("aws:ec2/subnet:Subnet", "s", {"vpcId": vpc, "cidrBlock": "10.0.1.0/24", **zone})


def test_a_machine_takes_its_time_to_run_boot_and_set_itself_up(
    make: Make, subnet: str, world: World, rules: StandIn, clock: Clock
) -> None:
    set_rate(world, 0)
    set_model(world, "delays", "modelled")
    began_s = world.time_s()
    inputs = {
        "ami": "ami-1",
        "instanceType": "p4d.24xlarge",
        "subnetId": subnet,
        "tags": {"emporion-stack": "shop/dev"},
    }
    make(INSTANCE, "i", inputs)
    (machine,) = world.resources(token=INSTANCE)
    facts = machine.facts
    assert began_s < facts["running_s"] < facts["booted_s"] < facts["ready_s"]
    assert world.time_s() == pytest.approx(facts["running_s"])  # the provider waits until it runs
    home = world.path.parent.parent
    api = LocalCloud(lambda: World.open(home, clock), rules, "us-east-1")
    assert [node.state for node in api.nodes("shop", "dev")] == ["running"]
    assert phase(facts, began_s) is Phase.PENDING
    assert phase(facts, world.time_s() + 1) is Phase.BOOTING
    assert phase(facts, facts["booted_s"]) is Phase.BOOTSTRAPPING
    assert phase(facts, facts["ready_s"]) is Phase.READY
    assert phase({}, 0) is Phase.READY


def test_a_machine_that_is_still_being_made_is_pending(
    provider: Provider, subnet: str, world: World, rules: StandIn, clock: Clock
) -> None:
    set_rate(world, 0)
    set_model(world, "delays", "modelled")
    home = world.path.parent.parent
    api = LocalCloud(lambda: World.open(home, clock), rules, "us-east-1")
    seen: list[str] = []
    set_rate(world, 1)
    object.__setattr__(provider.caller, "sleep", lambda _: seen.extend(node.state for node in api.nodes("shop", "dev")))
    inputs = {
        "ami": "ami-1",
        "instanceType": "p4d.24xlarge",
        "subnetId": subnet,
        "tags": {"emporion-stack": "shop/dev"},
    }
    provider.create(f"urn:pulumi:dev::shop::{INSTANCE}::i", inputs, preview=False)
    assert seen == ["pending"]


def test_equal_seeds_take_equal_times_and_each_machine_of_a_name_its_own(tmp_path: Path, clock: Clock) -> None:
    told: list[list[dict[str, float]]] = []
    for name, seed in (("a", "7"), ("b", "7"), ("c", "8")):
        with World.open(tmp_path / name, clock) as world:
            world.set_seed(seed)
            set_model(world, "delays", "modelled")
            told.append([start_times(world, "aws", "gpu-0") for _ in range(3)])
    assert told[0] == told[1] != told[2]
    assert len({str(times) for times in told[0]}) == 3


def test_a_request_for_quota_is_answered_when_its_time_has_come(world: World, rules: StandIn) -> None:
    set_rate(world, 0)
    set_model(world, "delays", "modelled")
    set_quota(world, "aws", "us-east-1", "p4d.24xlarge", 0)
    answer_s = request_quota(world, "aws", "us-east-1", "p4d.24xlarge", 4)
    assert answer_s - world.time_s() > 3600
    come_to_pass(world, rules, "us-east-1")
    assert quota_limit(world, "aws", "us-east-1", "p4d.24xlarge", "spot") == (0, "*")
    step(world, answer_s - world.time_s() + 1)
    come_to_pass(world, rules, "us-east-1")
    assert quota_limit(world, "aws", "us-east-1", "p4d.24xlarge", "spot") == (4, "*")


def test_without_delays_a_request_is_answered_at_once(world: World, rules: StandIn) -> None:
    request_quota(world, "aws", "us-east-1", "p4d.24xlarge", 4, market="spot")
    come_to_pass(world, rules, "us-east-1")
    assert quota_limit(world, "aws", "us-east-1", "p4d.24xlarge", "spot") == (4, "spot")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        pytest.param("delay", "none", "did you mean delays?", id="model"),
        pytest.param("delays", "long", "one of none, modelled", id="value"),
        pytest.param("prices", "replay", "one of fixed, moving", id="replay needs records"),
    ],
)
def test_a_model_that_is_none_is_refused(world: World, name: str, value: str, says: str) -> None:
    with pytest.raises(UserError) as refused:
        set_model(world, name, value)
    assert says in (refused.value.fix or "")


@pytest.mark.parametrize("name", ["delays.csv", "notices.csv", "price_process.csv"])
def test_every_row_of_the_data_has_a_source_a_date_and_says_whether_it_is_assumed(name: str) -> None:
    for row in read_rows(DATA / name):
        assert row["source"]
        assert row["as_of"] >= "2018"
        assert row["quality"] in ("measured", "published", "assumed")
    if name == "delays.csv":
        assert all(0 < float(row["median_s"]) < float(row["p95_s"]) for row in read_rows(DATA / name))
