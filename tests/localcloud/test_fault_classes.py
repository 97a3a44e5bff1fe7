"""Each class of faults as clients see it: the provider plugin, and `CloudApi`."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from clock import Clock

from emporion.localcloud.api import LocalCloud
from emporion.localcloud.fault_kinds import KINDS
from emporion.localcloud.faults import active_faults, add_fault, clear_faults
from emporion.localcloud.machines import settle_groups
from emporion.localcloud.meeting import Place, meet, reachable, said
from emporion.localcloud.places import stand_ins
from emporion.localcloud.plugin.calls import CloudRefusedError
from emporion.localcloud.plugin.lifecycle import Made
from emporion.localcloud.plugin.provider import Provider
from emporion.localcloud.time_control import set_rate, step
from emporion.localcloud.world import World
from emporion.market.clouds import Pending, classify, installed_clouds
from emporion.market.errors import UserError
from emporion.market.stand_in import StandIn

Make = Callable[..., str]
VPC, ROLE, BUCKET = "aws:ec2/vpc:Vpc", "aws:iam/role:Role", "aws:s3/bucket:Bucket"
INSTANCE, SUBNET = "aws:ec2/instance:Instance", "aws:ec2/subnet:Subnet"
GROUP, TEMPLATE = "aws:autoscaling/group:Group", "aws:ec2/launchTemplate:LaunchTemplate"
CIDR = {"cidrBlock": "10.0.0.0/16"}
TRUST = '{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole"}]}'


def urn(token: str) -> str:
    return f"urn:pulumi:dev::shop::{token}::x"


@pytest.fixture
def api(world: World, rules: StandIn, clock: Clock) -> LocalCloud:
    home = world.path.parent.parent
    return LocalCloud(lambda: World.open(home, clock), rules, "us-east-1", clock.sleep)


@pytest.fixture
def create(provider: Provider) -> Callable[..., Made]:
    return lambda token, inputs: provider.create(urn(token), inputs, preview=False)[0]


def no(action: Callable[[], object]) -> str:
    with pytest.raises(CloudRefusedError) as refused:
        action()
    return str(refused.value)


def no_answer(action: Callable[[], object]) -> str:
    with pytest.raises(UserError) as refused:
        action()
    assert refused.value.code == "E-CLOUD"
    return refused.value.what


def outcomes(world: World) -> list[str]:
    return [call["outcome"] for call in world.calls()]


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        pytest.param(
            "throttle", "RequestLimitExceeded", "StatusCode: 503.*RequestLimitExceeded: Request limit", id="throttle"
        ),
        pytest.param(
            "server-error", "InternalError", "StatusCode: 500.*api error InternalError: An internal", id="5xx"
        ),
        pytest.param(
            "timeout",
            "RequestTimeout",
            r'StatusCode: 0, RequestID: , request send failed, Post "https://ec2.us-east-1.amazonaws.com/": dial tcp',
            id="time-out",
        ),
    ],
)
def test_what_clients_try_again_is_passed_when_it_ends_and_an_error_when_it_lasts(
    kind: str, code: str, words: str, create: Callable[..., Made], world: World, api: LocalCloud
) -> None:
    add_fault(world, kind, times=3)
    create(VPC, CIDR)
    assert outcomes(world) == [code] * 3 + ["ok"]
    add_fault(world, kind)
    with pytest.raises(CloudRefusedError, match=words):
        create(VPC, CIDR)
    assert len(world.resources(token=VPC)) == 1
    assert outcomes(world)[4:] == [code] * 25
    assert ("i/o timeout" if kind == "timeout" else f"{code}: ") in no_answer(api.zones)


def test_each_attempt_of_a_call_that_times_out_takes_its_time(create: Callable[..., Made], world: World) -> None:
    set_rate(world, 0)
    add_fault(world, "timeout", times=2, detail={"delay_s": 30})
    before_s = world.time_s()
    create(VPC, CIDR)
    assert 60 < world.time_s() - before_s < 61


def test_a_slow_call_takes_the_worlds_time(create: Callable[..., Made], world: World, clock: Clock) -> None:
    set_rate(world, 60)
    add_fault(world, "slow", detail={"delay_s": 600})
    create(VPC, CIDR)
    assert clock.slept_s == 10


def test_a_lost_answer_is_an_error_about_something_that_exists(
    create: Callable[..., Made], world: World, api: LocalCloud
) -> None:
    add_fault(world, "lost-answer", operation="create", token=VPC)
    told = no(lambda: create(VPC, {**CIDR, "tags": {"emporion-id": "0123456789abcdef0123"}}))
    assert "net/http: timeout awaiting response headers" in told
    (vpc,) = world.resources(token=VPC)
    assert outcomes(world) == ["lost"]
    pending = Pending(urn(VPC), VPC, "0123456789abcdef0123", CIDR)
    assert api.find(pending) == vpc.id


def test_the_answer_of_a_read_is_never_lost_but_asked_for_again(provider: Provider, make: Make, world: World) -> None:
    made = make(VPC, "v", CIDR)
    add_fault(world, "lost-answer")
    found, _ = provider.read(urn(VPC), made, {})
    assert found is not None


def test_what_is_new_is_not_seen_for_a_while_and_the_plugin_waits_for_it(
    create: Callable[..., Made], provider: Provider, world: World, api: LocalCloud, clock: Clock
) -> None:
    add_fault(world, "stale", detail={"delay_s": 40})
    pending = Pending(urn(VPC), VPC, "0123456789abcdef0123", CIDR)
    seen: list[object] = []
    sleep = clock.sleep

    def look_and_sleep(seconds: float) -> None:
        seen.append(api.find(pending))
        seen.append(provider.read(urn(VPC), world.resources()[0].id, {})[0])
        sleep(seconds)

    object.__setattr__(provider.caller, "sleep", look_and_sleep)
    made = create(VPC, {**CIDR, "tags": {"emporion-id": "0123456789abcdef0123"}})
    assert seen == [None, None]
    assert clock.slept_s == 40
    assert api.find(pending) == made.id
    assert provider.read(urn(VPC), made.id, {})[0] is not None


def test_a_lost_region_answers_nothing_and_other_regions_do(
    create: Callable[..., Made], world: World, api: LocalCloud, rules: StandIn, clock: Clock
) -> None:
    add_fault(world, "region-outage", provider="aws", region="us-east-1")
    words = "StatusCode: 503.*ServiceUnavailable: The request has failed due to a temporary failure of the server"
    with pytest.raises(CloudRefusedError, match=words):
        create(VPC, CIDR)
    assert "ServiceUnavailable" in no_answer(lambda: api.nodes("shop", "dev"))
    create(VPC, {**CIDR, "region": "us-west-2"})
    west = LocalCloud(lambda: World.open(world.path.parent.parent, clock), rules, "us-west-2")
    assert west.nodes("shop", "dev") == []


def test_the_outage_of_us_east_1_fails_every_write_to_iam_and_no_read(
    create: Callable[..., Made], provider: Provider, world: World
) -> None:
    role = {"name": "r", "assumeRolePolicy": TRUST, "region": "eu-west-1"}
    made = create(ROLE, role)
    add_fault(world, "region-outage", provider="aws", region="us-east-1")
    west = {**role, "name": "second"}
    assert "ServiceUnavailable" in no(lambda: create(ROLE, west))
    assert "ServiceUnavailable" in no(
        lambda: provider.update(urn(ROLE), made.id, {}, role, {**role, "description": "x"}, preview=False)
    )
    assert "ServiceUnavailable" in no(lambda: provider.delete(urn(ROLE), made.id, role))
    assert provider.read(urn(ROLE), made.id, role)[0] is not None
    clear_faults(world)
    add_fault(world, "region-outage", provider="aws", region="eu-west-1")
    create(ROLE, west)


def test_an_outage_begins_and_ends_in_the_worlds_time(create: Callable[..., Made], world: World) -> None:
    set_rate(world, 0)
    add_fault(world, "region-outage", provider="aws", region="us-east-1", after_s=300, for_s=3600)
    create(VPC, CIDR)
    step(world, 300)
    assert "ServiceUnavailable" in no(lambda: create(VPC, CIDR))
    step(world, 3600)
    create(VPC, CIDR)
    assert active_faults(world) == []


@pytest.fixture
def machine(make: Make) -> str:
    vpc = make(VPC, "v", CIDR)
    subnet = make(SUBNET, "s", {"vpcId": vpc, "cidrBlock": "10.0.1.0/24", "availabilityZone": "us-east-1c"})
    make(TEMPLATE, "t", {"name": "t", "imageId": "ami-1", "instanceType": "p4d.24xlarge"})
    return subnet


def instance(subnet: str) -> dict[str, object]:
    return {"ami": "ami-1", "instanceType": "p4d.24xlarge", "subnetId": subnet}


@pytest.mark.parametrize("zone", [pytest.param("us-east-1c", id="by name"), pytest.param("use1-az2", id="by id")])
def test_a_lost_zone_takes_its_machines_out_of_reach_and_starts_no_more(
    machine: str, create: Callable[..., Made], world: World, rules: StandIn, zone: str
) -> None:
    create(INSTANCE, instance(machine))
    (standing,) = world.resources(token=INSTANCE)
    assert reachable(world, rules, standing)
    add_fault(world, "zone-outage", provider="aws", region="us-east-1", zone=zone)
    assert not reachable(world, rules, standing)
    assert "InsufficientInstanceCapacity" in no(lambda: create(INSTANCE, instance(machine)))
    create(VPC, CIDR)
    clear_faults(world)
    add_fault(world, "zone-outage", provider="aws", region="us-east-1", zone="use1-az1")
    assert reachable(world, rules, standing)
    create(INSTANCE, instance(machine))


@pytest.mark.parametrize("kind", ["network-outage", "region-outage"])
def test_machines_of_a_region_without_network_stand_and_cannot_be_reached(
    machine: str, create: Callable[..., Made], world: World, rules: StandIn, kind: str
) -> None:
    create(INSTANCE, instance(machine))
    add_fault(world, kind, provider="aws", region="us-east-1")
    (standing,) = world.resources(token=INSTANCE)
    assert not reachable(world, rules, standing)


def test_without_network_the_cloud_still_answers(create: Callable[..., Made], world: World, api: LocalCloud) -> None:
    add_fault(world, "network-outage", provider="aws", region="us-east-1")
    create(VPC, CIDR)
    assert api.account() == "000000000000"


def test_lost_storage_fails_the_object_store_of_its_region_alone(create: Callable[..., Made], world: World) -> None:
    add_fault(world, "storage-outage", provider="aws", region="us-east-1")
    assert "operation error S3: CreateBucket" in no(lambda: create(BUCKET, {"bucket": "data"}))
    create(VPC, CIDR)
    create(BUCKET, {"bucket": "data", "region": "us-west-2"})


def test_no_capacity_is_the_clouds_word_for_machines_alone(
    machine: str, create: Callable[..., Made], world: World
) -> None:
    add_fault(world, "no-capacity", instance_type="p4d.24xlarge", market="on_demand")
    told = no(lambda: create(INSTANCE, instance(machine)))
    assert "InsufficientInstanceCapacity: We currently do not have sufficient p4d.24xlarge capacity" in told
    create(INSTANCE, {**instance(machine), "instanceType": "p5.48xlarge"})
    create(INSTANCE, {**instance(machine), "instanceMarketOptions": {"marketType": "spot"}})


def test_a_quota_that_is_used_up_is_told_with_what_runs(
    machine: str, create: Callable[..., Made], world: World
) -> None:
    create(INSTANCE, instance(machine))
    add_fault(world, "quota", provider="aws", region="us-east-1")
    told = no(lambda: create(INSTANCE, instance(machine)))
    assert "VcpuLimitExceeded: You have requested more vCPU capacity than your current vCPU limit of 96" in told
    clear_faults(world)
    add_fault(world, "quota", market="spot")
    spot = {**instance(machine), "instanceMarketOptions": {"marketType": "spot"}}
    assert "MaxSpotInstanceCountExceeded" in no(lambda: create(INSTANCE, spot))
    create(INSTANCE, instance(machine))


def test_a_group_starts_nothing_while_its_region_is_lost_and_goes_on_after_it(
    machine: str, provider: Provider, make: Make, world: World, rules: StandIn
) -> None:
    inputs = {"minSize": 2, "maxSize": 2, "vpcZoneIdentifiers": [machine]}
    template = world.resources(token=TEMPLATE)[0].id
    make(GROUP, "g", {"name": "g", **inputs, "launchTemplate": {"id": template, "version": "1"}})
    world.remove(world.resources(token=INSTANCE)[0].seq)
    add_fault(world, "region-outage", provider="aws", region="us-east-1")
    settle_groups(world, rules, "us-east-1")
    assert len(world.resources(token=INSTANCE)) == 1
    clear_faults(world)
    settle_groups(world, rules, "us-east-1")
    assert len(world.resources(token=INSTANCE)) == 2


CLOUDS = sorted(installed_clouds())
OF_ANY_CALL = ("throttled", "server_error", "unavailable", "timeout", "lost_answer")


@pytest.mark.parametrize("which", OF_ANY_CALL)
@pytest.mark.parametrize("provider_name", CLOUDS)
def test_every_cloud_has_its_own_words_and_its_error_table_knows_them(provider_name: str, which: str) -> None:
    cloud, stand_in = installed_clouds()[provider_name], stand_ins()[provider_name]
    token = stand_in.machine
    refusal = said(stand_in, which, Place(stand_in.regions[0], "create", token, "compute"))
    assert "{" not in refusal.text
    told = stand_in.message(stand_in.types[token], "creating", "x", refusal, "request-1")
    known = classify(cloud.errors, told)
    assert known is not None
    assert (known.code, known.kind.value) == (refusal.code, "throttled")


@pytest.mark.parametrize("provider_name", CLOUDS)
def test_every_kind_of_fault_finds_words_in_every_cloud(provider_name: str) -> None:
    named = {kind.refusal for kind in KINDS.values() if kind.refusal}
    assert named <= set(stand_ins()[provider_name].refusals)
    assert stand_ins()[provider_name].storage


def test_a_fault_is_counted_once_for_each_attempt_it_strikes(world: World, rules: StandIn) -> None:
    add_fault(world, "server-error", skip=1, times=2)
    place = Place("us-east-1", "create", VPC)
    met = [meet(world, rules, place, first_attempt=number == 0).refusal for number in range(4)]
    assert [one is not None for one in met] == [False, True, True, False]
