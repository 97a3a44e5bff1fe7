"""Faults, retries, kill points and the call log around one provider call."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from clock import Clock

from emporion.localcloud.faults import Kill, clear_faults, fail, kill, slow, throttle
from emporion.localcloud.plugin.calls import CloudRefusedError
from emporion.localcloud.plugin.provider import Provider
from emporion.localcloud.world import World

Make = Callable[..., str]
VPC, BUCKET = "aws:ec2/vpc:Vpc", "aws:s3/bucket:Bucket"
CIDR = {"cidrBlock": "10.0.0.0/16"}


def urn(token: str) -> str:
    return f"urn:pulumi:dev::shop::{token}::x"


def outcomes(world: World) -> list[str]:
    return [call["outcome"] for call in world.calls()]


def test_a_throttled_call_is_tried_again_with_longer_and_longer_pauses(make: Make, world: World, clock: Clock) -> None:
    throttle(world, 3)
    make(VPC, "x", CIDR)
    assert outcomes(world) == ["RequestLimitExceeded"] * 3 + ["ok"]
    assert clock.slept_s == pytest.approx(0.02 + 0.04 + 0.08)


def test_throttling_that_lasts_is_an_error_after_the_providers_own_retries(
    provider: Provider, world: World, clock: Clock
) -> None:
    throttle(world, 0)
    with pytest.raises(CloudRefusedError, match=r"StatusCode: 503.*RequestLimitExceeded: Request limit exceeded"):
        provider.create(urn(VPC), CIDR, preview=False)
    assert outcomes(world) == ["RequestLimitExceeded"] * 25
    assert clock.slept_s < 10
    assert world.counts() == {}


def test_an_injected_error_strikes_the_calls_that_match_and_no_other(provider: Provider, world: World) -> None:
    fail(world, "UnauthorizedOperation", "not you", operation="create", token=BUCKET, skip=1)
    provider.create(urn(VPC), CIDR, preview=False)
    provider.create(urn(BUCKET), {"bucket": "first"}, preview=False)
    with pytest.raises(CloudRefusedError, match=r"creating S3 Bucket.*UnauthorizedOperation: not you") as refused:
        provider.create(urn(BUCKET), {"bucket": "second"}, preview=False)
    assert refused.value.code == "UnauthorizedOperation"
    provider.create(urn(BUCKET), {"bucket": "third"}, preview=False)
    assert outcomes(world) == ["ok", "ok", "UnauthorizedOperation", "ok"]


def test_a_slow_call_takes_longer(make: Make, world: World, clock: Clock) -> None:
    slow(world, 7.5, token=VPC)
    make(VPC, "x", CIDR)
    assert clock.slept_s == 7.5


@pytest.mark.parametrize("phase", ["before_write", "after_write", "after_answer"])
def test_a_kill_point_strikes_in_its_phase_at_its_call_once(
    provider: Provider, world: World, killed: list[Kill], phase: str
) -> None:
    kill(world, "engine", phase, 2, operation="create")  # type: ignore[arg-type]
    provider.create(urn(VPC), CIDR, preview=False)
    assert killed == []
    _, after = provider.create(urn(BUCKET), {"bucket": "second"}, preview=False)
    due = Kill("engine", phase)  # type: ignore[arg-type]
    assert killed == ([] if phase == "after_answer" else [due])
    assert after == (due if phase == "after_answer" else None)
    provider.create(urn(BUCKET), {"bucket": "third"}, preview=False)
    assert len(killed) <= 1


class DeadError(BaseException):
    """Stands for a process that is gone."""


@pytest.mark.parametrize(("phase", "exists"), [("before_write", 0), ("after_write", 1)])
def test_what_exists_after_a_kill_follows_from_its_phase(
    provider: Provider, world: World, phase: str, exists: int
) -> None:
    def die(_: Kill) -> None:
        raise DeadError

    object.__setattr__(provider.caller, "kill", die)
    kill(world, "plugin", phase, 1)  # type: ignore[arg-type]
    with pytest.raises(DeadError):
        provider.create(urn(VPC), CIDR, preview=False)
    assert sum(world.counts().values()) == exists


def test_a_refused_call_leaves_nothing_half_done(provider: Provider, make: Make, world: World) -> None:
    make("aws:iam/role:Role", "r", {"name": "r", "assumeRolePolicy": '{"Statement":[{"Effect":"Allow","Action":"a"}]}'})
    fail(world, "AccessDenied", operation="delete")
    with pytest.raises(CloudRefusedError):
        provider.delete("urn:pulumi:dev::shop::aws:iam/role:Role::r", "r", {})
    assert world.counts() == {"aws:iam/role:Role": 1}


def test_cleared_faults_strike_no_more(make: Make, world: World) -> None:
    throttle(world, 0)
    fail(world, "Blocked")
    clear_faults(world)
    make(VPC, "x", CIDR)
    assert outcomes(world) == ["ok"]


def test_the_call_log_names_what_was_done_and_no_value(make: Make, world: World) -> None:
    make("aws:ssm/parameter:Parameter", "p", {"name": "/p", "type": "SecureString", "value": "hunter2"})
    (call,) = world.calls()
    assert (call["operation"], call["provider"], call["region"]) == ("create", "aws", "us-east-1")
    assert call["urn"].endswith("::p")
    assert "hunter2" not in str(call)
