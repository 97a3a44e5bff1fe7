from __future__ import annotations

from typing import Any

import pytest

from emporion.components.aws.stand_in import STAND_IN
from emporion.localcloud.plugin.checks import check_inputs
from emporion.localcloud.plugin.schema import Schemas
from emporion.market.wire import UNKNOWN_TEXT

SUBNET = "aws:ec2/subnet:Subnet"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
PLACEMENT = "aws:ec2/placementGroup:PlacementGroup"
GROUP = "aws:autoscaling/group:Group"


def check(schemas: Schemas, token: str, inputs: dict[str, Any]) -> list[tuple[str, str]]:
    rule = STAND_IN.types.get(token) or STAND_IN.generic(token)
    return check_inputs(schemas, token, rule, inputs)


@pytest.mark.parametrize(
    ("token", "inputs", "path", "reason"),
    [
        pytest.param(
            SUBNET, {"vpcId": "v", "cidrBlok": "10.0.0.0/24"}, "cidrBlok",
            "unknown property 'cidrBlok'; did you mean 'cidrBlock'?", id="unknown property",
        ),
        pytest.param(SUBNET, {}, "vpcId", "missing required property 'vpcId'", id="missing"),
        pytest.param(SUBNET, {"vpcId": 3}, "vpcId", "expected a string, got the number 3", id="number for a string"),
        pytest.param(
            SUBNET, {"vpcId": "v", "mapPublicIpOnLaunch": "yes"}, "mapPublicIpOnLaunch",
            "expected a boolean, got a string", id="string for a boolean",
        ),
        pytest.param(
            GROUP, {"minSize": 1.5, "maxSize": 2}, "minSize", "expected a whole number, got the number 1.5",
            id="half a machine",
        ),
        pytest.param(
            GROUP, {"minSize": True, "maxSize": 2}, "minSize", "expected a whole number, got the boolean true",
            id="boolean for a number",
        ),
        pytest.param(
            GROUP, {"minSize": 1, "maxSize": 2, "vpcZoneIdentifiers": "subnet-1"}, "vpcZoneIdentifiers",
            "expected a list, got a string", id="one for a list",
        ),
        pytest.param(
            TEMPLATE, {"networkInterfaces": [{"networkCardIndexx": 1}]}, "networkInterfaces[0].networkCardIndexx",
            "unknown property 'networkCardIndexx'; did you mean 'networkCardIndex'?", id="nested unknown property",
        ),
        pytest.param(
            TEMPLATE, {"metadataOptions": {"httpTokens": "requird"}}, "metadataOptions.httpTokens",
            "'requird' is not one of optional, required; did you mean 'required'?", id="nested enum",
        ),
        pytest.param(
            TEMPLATE, {"networkInterfaces": [{"interfaceType": "efa"}, {"interfaceType": "roce"}]},
            "networkInterfaces[1].interfaceType", "'roce' is not one of interface, efa, efa-only", id="enum in a list",
        ),
        pytest.param(
            PLACEMENT, {"strategy": "clusterr"}, "strategy",
            "'clusterr' is not one of cluster, spread, partition, precision-time; did you mean 'cluster'?",
            id="E19: a strategy that nobody knows",
        ),
        pytest.param(
            "aws:ec2/vpc:Vpcc", {}, "", "unknown resource type 'aws:ec2/vpc:Vpcc'; did you mean 'aws:ec2/vpc:Vpc'?",
            id="unknown type",
        ),
        pytest.param(
            "aws:lambda/function:Function", {"role": "r", "rolle": "x"}, "rolle",
            "unknown property 'rolle'; did you mean 'role'?", id="a type without a rule is checked too",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_path_and_what_is_allowed(
    schemas: Schemas, token: str, inputs: dict[str, Any], path: str, reason: str
) -> None:
    assert check(schemas, token, inputs) == [(path, reason)]


def test_an_instance_type_that_aws_does_not_have_gets_the_nearest_one(schemas: Schemas) -> None:
    ((path, reason),) = check(schemas, TEMPLATE, {"instanceType": "p4d.24xlrge"})
    assert path == "instanceType"
    assert reason.endswith("did you mean 'p4d.24xlarge'?")


@pytest.mark.parametrize(
    ("token", "inputs"),
    [
        pytest.param(PLACEMENT, {"strategy": "partition"}, id="E19: the SDK's enum is stale"),
        pytest.param(TEMPLATE, {"instanceType": "p6-b200.48xlarge"}, id="a new instance type"),
        pytest.param(GROUP, {"minSize": 1.0, "maxSize": 2}, id="numbers arrive as doubles"),
        pytest.param(SUBNET, {"vpcId": UNKNOWN_TEXT, "mapPublicIpOnLaunch": UNKNOWN_TEXT}, id="unknown values"),
        pytest.param(TEMPLATE, {"networkInterfaces": [{"securityGroups": [UNKNOWN_TEXT]}]}, id="nested unknown values"),
        pytest.param(
            TEMPLATE, {"networkInterfaces": UNKNOWN_TEXT, "instanceType": UNKNOWN_TEXT}, id="unknown list and enum"
        ),
        pytest.param(SUBNET, {"vpcId": "v", "cidrBlock": None}, id="null"),
        pytest.param(SUBNET, {"vpcId": "v", "__defaults": ["x"]}, id="the provider's own marks"),
    ],
)
def test_what_is_right_passes(schemas: Schemas, token: str, inputs: dict[str, Any]) -> None:
    assert check(schemas, token, inputs) == []


def test_all_problems_of_a_resource_come_at_once(schemas: Schemas) -> None:
    found = check(schemas, GROUP, {"minSize": "1", "maxSze": 2, "tags": [{"key": "a"}]})
    assert [path for path, _ in found] == [
        "minSize", "maxSze", "tags[0].propagateAtLaunch", "tags[0].value", "maxSize",
    ]  # fmt: skip


def test_a_value_that_may_be_secret_is_not_quoted(schemas: Schemas) -> None:
    ((_, reason),) = check(schemas, SUBNET, {"vpcId": "v", "mapPublicIpOnLaunch": "hunter2"})
    assert "hunter2" not in reason
