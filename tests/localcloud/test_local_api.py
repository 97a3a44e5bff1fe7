"""What is the local world's own in `CloudApi`; tests/conformance holds what every cloud must do."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from emporion.localcloud.api import LocalCloud
from emporion.localcloud.capacity import set_quota
from emporion.localcloud.faults import fail, throttle
from emporion.localcloud.images import publish_image
from emporion.localcloud.world import World
from emporion.market.clouds import Pending
from emporion.market.errors import ExitCode, UserError
from emporion.market.stand_in import StandIn

Make = Callable[..., str]
VPC, ROLE = "aws:ec2/vpc:Vpc", "aws:iam/role:Role"
TRUST = '{"Statement":[{"Effect":"Allow","Action":"sts:AssumeRole"}]}'


@pytest.fixture
def api(world: World, rules: StandIn, clock: Callable[[], float]) -> LocalCloud:
    home = world.path.parent.parent
    return LocalCloud(lambda: World.open(home, clock), rules, "us-east-1")


def pending(token: str, name: str, inputs: Mapping[str, Any], emporion_id: str | None = None) -> Pending:
    made_id = emporion_id or hashlib.sha256(name.encode()).hexdigest()[:20]
    return Pending(f"urn:pulumi:dev::shop::{token}::{name}", token, made_id, inputs)


def test_a_thing_is_found_by_its_tag_and_not_by_its_name_in_the_program(api: LocalCloud, make: Make) -> None:
    one = {"cidrBlock": "10.0.0.0/16", "tags": {"emporion-id": "0123456789abcdef0123"}}
    made = make(VPC, "v", one)
    assert api.find(pending(VPC, "v", one, "0123456789abcdef0123")) == made
    assert api.find(pending(VPC, "v", one, "ffffffffffffffffffff")) is None


def test_a_thing_whose_name_is_its_key_is_found_by_the_id_in_its_name(api: LocalCloud, make: Make) -> None:
    inputs = {"name": "emporion-dev-0123456789abcdef0123", "assumeRolePolicy": TRUST}
    assert make(ROLE, "r", inputs) == api.find(pending(ROLE, "r", inputs, "0123456789abcdef0123"))


def test_things_in_another_region_are_not_found(api: LocalCloud, make: Make) -> None:
    inputs = {"cidrBlock": "10.0.0.0/16", "region": "eu-west-1", "tags": {"emporion-id": "0123456789abcdef0123"}}
    make(VPC, "v", inputs)
    assert api.find(pending(VPC, "v", inputs, "0123456789abcdef0123")) is None


def test_two_things_of_one_identity_are_an_error_that_names_both(api: LocalCloud, make: Make) -> None:
    inputs = {"cidrBlock": "10.0.0.0/16", "tags": {"emporion-id": "0123456789abcdef0123"}}
    first, second = make(VPC, "v", inputs), make(VPC, "w", inputs)
    with pytest.raises(UserError, match=f"2 things carry emporion-id 0123456789abcdef0123: {first}, {second}"):
        api.find(pending(VPC, "v", inputs, "0123456789abcdef0123"))


def test_a_setting_that_says_something_else_was_not_made(api: LocalCloud, make: Make) -> None:
    token = "aws:s3/bucketVersioning:BucketVersioning"
    bucket = make("aws:s3/bucket:Bucket", "b", {"bucket": "data"})
    inputs = {"bucket": bucket, "versioningConfiguration": {"status": "Suspended"}}
    make(token, "v", inputs)
    assert api.find(pending(token, "v", inputs)) == "data"
    wanted = {"bucket": bucket, "versioningConfiguration": {"status": "Enabled"}}
    assert api.find(pending(token, "v", wanted)) is None


def test_a_published_image_becomes_the_newest_one(api: LocalCloud, world: World, rules: StandIn) -> None:
    before = api.image("gpu", "x86_64")
    newer = publish_image(world, rules, "us-east-1", "gpu", "x86_64", name="Deep Learning 20261130")
    assert api.image("gpu", "x86_64") == newer
    assert newer.published_at == "2026-12-01T00:00:00.000Z"
    assert before.id != newer.id
    assert api.image("controller", "x86_64") != newer


def test_an_older_image_that_comes_late_changes_nothing(api: LocalCloud, world: World, rules: StandIn) -> None:
    before = api.image("gpu", "arm64")
    publish_image(world, rules, "us-east-1", "gpu", "arm64", name="old", published_at="2020-01-01T00:00:00.000Z")
    assert api.image("gpu", "arm64") == before


def test_an_image_for_another_purpose_is_one_clear_error(api: LocalCloud) -> None:
    with pytest.raises(UserError, match="us-east-1 has no dishwasher image for x86_64"):
        api.image("dishwasher", "x86_64")


def test_a_quota_is_told_when_there_is_one(api: LocalCloud, world: World) -> None:
    assert api.quota("p4d.24xlarge", "spot") is None
    set_quota(world, "aws", "us-east-1", "p4d.24xlarge", 3)
    assert api.quota("p4d.24xlarge", "spot") == 3


def test_a_stopped_world_is_no_answer(api: LocalCloud, world: World) -> None:
    world.set_meta("running", "0")
    with pytest.raises(UserError, match="the local cloud is stopped") as refused:
        api.account()
    assert (refused.value.code, refused.value.exit_code) == ("E-CLOUD", ExitCode.FAILED)
    assert refused.value.fix == "emporion local start"


def test_throttling_is_waited_out_up_to_the_retries_of_the_real_client(api: LocalCloud, world: World) -> None:
    throttle(world, 4, operation="api")
    assert api.account() == "000000000000"
    throttle(world, 5, operation="api")
    with pytest.raises(UserError, match="RequestLimitExceeded"):
        api.zones()


def test_an_error_of_the_cloud_is_no_guess(api: LocalCloud, world: World) -> None:
    fail(world, "UnauthorizedOperation", operation="api")
    with pytest.raises(UserError, match="cannot ask for the machines of shop/dev: UnauthorizedOperation"):
        api.nodes("shop", "dev")
