"""What the AWS stand-in answers to functions, and what it says of its configuration."""

from __future__ import annotations

from typing import Any

import pytest

from emporion.localcloud.plugin.provider import Provider
from emporion.market.wire import UNKNOWN_TEXT


def test_the_account_is_the_reserved_one(provider: Provider) -> None:
    answer = provider.invoke("aws:index/getCallerIdentity:getCallerIdentity", {})
    assert isinstance(answer, dict)
    assert answer["accountId"] == "000000000000"


def test_zone_names_and_ids_translate_both_ways(provider: Provider) -> None:
    one = "aws:index/getAvailabilityZone:getAvailabilityZone"
    by_id, by_name = provider.invoke(one, {"zoneId": "use1-az2"}), provider.invoke(one, {"name": "us-east-1c"})
    assert by_id == by_name
    assert isinstance(by_id, dict)
    assert (by_id["name"], by_id["zoneId"]) == ("us-east-1c", "use1-az2")
    every = provider.invoke("aws:index/getAvailabilityZones:getAvailabilityZones", {})
    assert isinstance(every, dict)
    assert dict(zip(every["names"], every["zoneIds"], strict=True))["us-east-1c"] == "use1-az2"


def test_a_zone_that_is_not_there_is_refused(provider: Provider) -> None:
    answer = provider.invoke("aws:index/getAvailabilityZone:getAvailabilityZone", {"zoneId": "use1-az9"})
    assert isinstance(answer, list)
    assert "Invalid availability zone: [use1-az9]" in answer[0][1]


def test_an_unknown_function_gets_the_nearest_one(provider: Provider) -> None:
    answer = provider.invoke("aws:index/getCallerIdentiti:getCallerIdentity", {})
    assert isinstance(answer, list)
    assert "did you mean 'aws:index/getCallerIdentity:getCallerIdentity'?" in answer[0][1]


@pytest.mark.parametrize(
    ("config", "problems"),
    [
        pytest.param({"region": "us-east-1"}, [], id="right"),
        pytest.param({"region": UNKNOWN_TEXT}, [], id="not known yet"),
        pytest.param({}, [("region", "missing region: set it on the provider or in AWS_REGION")], id="no region"),
        pytest.param(
            {"region": "us-east-1a"},
            [("region", "invalid AWS Region: us-east-1a; did you mean 'us-east-1'?")], id="near",
        ),
        pytest.param(
            {"region": "us-east-1", "regoin": "x"},
            [("regoin", "unknown property 'regoin'; did you mean 'region'?")], id="unknown key",
        ),
        pytest.param(
            {"region": "us-east-1", "allowedAccountIds": '["123456789012"]'},
            [("allowedAccountIds", "AWS account ID not allowed: 000000000000")], id="only another account",
        ),
    ],
)  # fmt: skip
def test_provider_configuration(provider: Provider, config: dict[str, Any], problems: list[tuple[str, str]]) -> None:
    assert provider.check_config(config) == problems
