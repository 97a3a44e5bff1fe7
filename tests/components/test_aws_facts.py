"""AWS resources as facts: what is paid for, who renews, what templates hand down."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from emporion.components.aws.facts import facts
from emporion.market.bill import make_bill
from emporion.market.facts import Fact, Ingress, Node, Purchase, Spot, UnknownFactError, known
from emporion.market.resources import UNKNOWN, Others, Resource

WEST = {"region": "us-west-2"}
INSTANCE = "aws:ec2/instance:Instance"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
GROUP = "aws:autoscaling/group:Group"


def made(name: str, kind: str, references: dict[str, list[str]] | None = None, **inputs: Any) -> Resource:
    refers = {key: [urn(one) for one in names] for key, names in (references or {}).items()}
    return Resource(urn(name), kind, inputs, WEST, refers)


def urn(name: str) -> str:
    return f"urn:pulumi:dev::shop::t::{name}"


def read(*resources: Resource) -> list[Fact]:
    others = Others(resources)
    return [fact for resource in resources for fact in facts(resource, others)]


def one(kind: type[Any], found: list[Fact], name: str) -> Any:
    [fact] = [fact for fact in found if isinstance(fact, kind) and fact.name == name]
    return fact


def test_an_instance_is_what_its_template_says() -> None:
    found = read(
        made("template", TEMPLATE, instanceType="p4d.24xlarge", metadataOptions={"httpTokens": "required"},
             networkInterfaces=[{"interfaceType": "efa", "associatePublicIpAddress": "false"}]),
        made("node", INSTANCE, {"launchTemplate": ["template"]}, launchTemplate={"id": UNKNOWN}),
        made("other", INSTANCE, {"launchTemplate": ["template"]}, launchTemplate={"id": UNKNOWN}, userData="x"),
    )  # fmt: skip
    assert [fact.name for fact in found if isinstance(fact, Node)] == ["template", "other"]
    node = one(Node, found, "other")
    assert (node.gpus, node.public_ip, node.session_tokens, node.fast_network) == (8, False, True, True)
    assert node.metadata_hops == 1


def test_of_a_foreign_template_nothing_is_known() -> None:
    node = one(Node, read(made("node", INSTANCE, launchTemplate={"id": "lt-1"})), "node")
    for name in ("gpus", "public_ip", "session_tokens", "secrets", "role"):
        with pytest.raises(UnknownFactError, match=name):
            getattr(node, name)


def spot_options(**changes: Any) -> dict[str, Any]:
    return {"marketType": "spot", "spotOptions": {"spotInstanceType": "one-time", **changes}}


def test_who_renews_spot() -> None:
    found = read(
        made("once", INSTANCE, instanceType="g5.xlarge", instanceMarketOptions=spot_options()),
        made("again", INSTANCE, instanceType="g5.xlarge",
             instanceMarketOptions=spot_options(spotInstanceType="persistent", maxPrice="0.5")),
        made("old", "aws:ec2/spotInstanceRequest:SpotInstanceRequest", instanceType="g5.xlarge"),
        made("template", TEMPLATE, instanceType="g5.xlarge", instanceMarketOptions=spot_options()),
        made("group", GROUP, {"launchTemplate": ["template"]}, launchTemplate={"id": UNKNOWN}, maxSize=4,
             desiredCapacity=2),
        made("plain", TEMPLATE, instanceType="g5.xlarge"),
        made("steady", GROUP, {"launchTemplate": ["plain"]}, launchTemplate={"id": UNKNOWN}, maxSize=4),
        made("mix", GROUP, {"mixedInstancesPolicy": ["plain"]}, maxSize=3, mixedInstancesPolicy={
            "launchTemplate": {"launchTemplateSpecification": {"launchTemplateId": UNKNOWN}},
            "instancesDistribution": {"onDemandPercentageAboveBaseCapacity": 50, "spotMaxPrice": ""}}),
    )  # fmt: skip
    spot = {fact.name: fact for fact in found if isinstance(fact, Spot)}
    assert sorted(spot) == ["again", "group", "mix", "old", "once", "template"]
    assert spot["once"].renews is spot["once"].falls_back is spot["template"].renews is None
    assert spot["again"].renews == spot["old"].renews == "a persistent spot request"
    assert spot["again"].max_usd_per_hour == Decimal("0.5")
    assert spot["group"].renews == "an Auto Scaling group that replaces what was interrupted"
    assert spot["group"].falls_back is None
    assert spot["group"].count == spot["template"].count == 4
    assert spot["mix"].falls_back == "a mixed-instances policy with 50 % on demand above 0"
    assert spot["mix"].max_usd_per_hour is None


def test_what_is_paid_for() -> None:
    found = read(
        made("template", TEMPLATE, instanceType="g5.xlarge", instanceMarketOptions=spot_options(),
             blockDeviceMappings=[{"deviceName": "/dev/sda1", "ebs": {"volumeSize": 200, "volumeType": "gp3",
                                                                      "throughput": 225}}]),
        made("group", GROUP, {"launchTemplate": ["template"]}, launchTemplate={"id": UNKNOWN}, maxSize=4,
             desiredCapacity=2),
        made("volume", "aws:ebs/volume:Volume", size=10, type="gp3"),
        made("nat", "aws:ec2/natGateway:NatGateway"),
        made("vpc", "aws:ec2/vpc:Vpc"),
        made("base", "aws:rds/instance:Instance"),
        made("zero", INSTANCE, instanceType="m6i.large", rootBlockDevice={"volumeSize": 8, "volumeType": "gp3"}),
    )  # fmt: skip
    bill = make_bill(fact for fact in found if isinstance(fact, Purchase))
    lines = {(line.name, line.cost.item): line.cost for line in bill.lines}
    assert lines["group", "g5.xlarge spot"].quantity == 2
    assert lines["group", "disk of group"].quantity == 400
    assert lines["group", "disk throughput of group"].quantity == 200
    assert lines["volume", "volume"].usd_per_hour == Decimal("0.001095890")  # 10 GB x 0.08 / 730
    assert lines["nat", "data of nat"].usd_per_hour is None
    assert dict(bill.not_priced) == {"aws:rds/instance:Instance": 1}


def test_a_reservation_is_paid_for_once() -> None:
    target = {"capacityReservationTarget": {"capacityReservationId": UNKNOWN}}
    found = read(
        made("block", "aws:ec2/capacityReservation:CapacityReservation", instanceType="p4d.24xlarge", instanceCount=2),
        made("template", TEMPLATE, instanceType="p4d.24xlarge", capacityReservationSpecification=target),
        made("node", INSTANCE, {"launchTemplate": ["template"]}, launchTemplate={"id": UNKNOWN}),
    )
    machines = [fact for fact in found if isinstance(fact, Purchase) and fact.item == "machine"]
    assert [(fact.name, fact.quantity) for fact in machines] == [("block", Decimal(2))]


@pytest.mark.parametrize(
    ("rule", "ports", "protocol"),
    [
        pytest.param({"protocol": "tcp", "fromPort": 20, "toPort": 30}, (20, 30), "tcp", id="range"),
        pytest.param({"protocol": "-1", "fromPort": 0, "toPort": 0}, (0, 65535), "all", id="everything"),
        pytest.param({"protocol": "6", "fromPort": 22, "toPort": 22}, (22, 22), "tcp", id="by number"),
        pytest.param({"protocol": "icmp", "fromPort": -1, "toPort": -1}, (0, 65535), "icmp", id="icmp"),
    ],
)
def test_openings(rule: dict[str, Any], ports: tuple[int, int], protocol: str) -> None:
    group = made(
        "group", "aws:ec2/securityGroup:SecurityGroup", ingress=[{**rule, "cidrBlocks": ["10.0.0.0/8", UNKNOWN]}]
    )
    openings = [fact for fact in facts(group, None) if isinstance(fact, Ingress)]
    assert [known(fact, "sources", ("?",)) for fact in openings] == [("10.0.0.0/8",), ("?",)]
    assert (openings[0].ports, openings[0].protocol) == (ports, protocol)
