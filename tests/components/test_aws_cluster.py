"""The shape of what a cluster registers, under Pulumi's mocks."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import Any

import pytest
from placements import (
    DATA,
    LOCKED,
    LUSTRE,
    OWN_BUCKET,
    PLACEMENT,
    POOL,
    SCRATCH,
    Built,
    build,
    statements,
    with_pool,
)

from emporion.components.names import Names
from emporion.market.clouds import identity
from emporion.market.offer import Market
from emporion.market.pin import PinnedPlacement

ON_DEMAND = with_pool(market=Market.ON_DEMAND)
RESERVED = with_pool(market=Market.ON_DEMAND, reservation="cr-0123456789abcdef0")
BLOCK = with_pool(market=Market.ON_DEMAND, reservation="cr-0123456789abcdef0", capacity_block=True)
OWN_RESERVATION = with_pool(market=Market.RESERVED)
RENEWED = replace(PLACEMENT, spot_auto_renew=True)
NO_WAY_OUT = replace(PLACEMENT, nat=False)
NO_SCHEDULER = replace(PLACEMENT, scheduler="none", controller=None)
ONE_PLAIN = with_pool(instance_type="g6.xlarge", gpus_per_node=1, count=1, rdma=False, fabric="ethernet")
TWO_POOLS = replace(
    PLACEMENT,
    pools=(POOL, replace(POOL, name="gpu-1", instance_type="g6.xlarge", gpus_per_node=1, rdma=False, zone="use1-az4")),
)
EVERY = {
    "demo": PLACEMENT, "on demand": ON_DEMAND, "reserved": RESERVED, "block": BLOCK, "own reservation": OWN_RESERVATION,
    "renewed": RENEWED, "no way out": NO_WAY_OUT, "no scheduler": NO_SCHEDULER, "locked": LOCKED,
    "own bucket": OWN_BUCKET, "lustre": LUSTRE, "scratch": SCRATCH, "one plain": ONE_PLAIN, "two pools": TWO_POOLS,
    "data": DATA, "tagged": replace(PLACEMENT, tags=(("team", "ml"),)),
}  # fmt: skip
each = pytest.mark.parametrize("built", EVERY, indirect=True)


@cache
def built_once(name: str) -> Built:
    return build(EVERY[name])


@pytest.fixture
def built(request: pytest.FixtureRequest) -> Built:
    """What one of the placements above registers."""
    return built_once(request.param)


def rules(built: Built, kind: str) -> list[Mapping[str, Any]]:
    return [rule for rule in built.of(kind) if rule["securityGroupId"] == "cluster-nodes-id"]


@each
def test_no_document_has_an_action_with_a_wildcard(built: Built) -> None:
    found = list(statements(built))
    assert found
    for statement in found:
        assert isinstance(statement["Action"], list)
        assert not any("*" in action for action in statement["Action"])
        assert "NotAction" not in statement
        assert "NotResource" not in statement
    for role in built.of("Role"):
        assert not role.get("inlinePolicies")
        assert not role.get("managedPolicyArns")
    for policy in built.of("RolePolicy"):
        assert isinstance(json.loads(policy["policy"])["Statement"], list)


@each
def test_only_what_has_no_narrower_resource_is_allowed_on_everything(built: Built) -> None:
    wide = {
        action
        for statement in statements(built, ("RolePolicy",))
        if statement["Effect"] == "Allow" and "*" in statement.get("Resource", [])
        for action in statement["Action"]
    }
    assert wide == {
        "ecr:GetAuthorizationToken",
        "ssmmessages:CreateControlChannel",
        "ssmmessages:CreateDataChannel",
        "ssmmessages:OpenControlChannel",
        "ssmmessages:OpenDataChannel",
    }


@each
def test_everything_has_a_parent_and_the_providers_plugin(built: Built) -> None:
    providers = {item.provider or "" for item in built.resources if item.typ.startswith("aws:")}
    assert len(providers) == 1
    assert "pulumi:providers:aws::aws-us-east-1" in providers.pop()


@each
def test_every_tag_is_the_identity_of_the_engines_urn(built: Built) -> None:
    names = Names("emporion", "dev", 0, ("emporion:index:GpuCluster", "emporion:index:AwsCluster"))
    tagged = 0
    for item in built.resources:
        tags = item.inputs.get("tags")
        if isinstance(tags, list):
            tags = {tag["key"]: tag["value"] for tag in tags}
        if not item.typ.startswith("aws:") or tags is None:
            continue
        tagged += 1
        assert tags["emporion-id"] == identity("emporion", "dev", names.urn(item.typ, item.name), 0)
        assert tags["emporion-stack"] == "emporion/dev"
    assert tagged > 20


@each
def test_only_roads_settings_and_inline_policies_have_no_tag(built: Built) -> None:
    bare = {
        item.typ.rpartition(":")[2]
        for item in built.resources
        if item.typ.startswith("aws:") and "tags" not in item.inputs
    }
    assert bare <= {
        "Route", "RouteTableAssociation", "RolePolicy", "QueuePolicy", "EventTarget", "BucketPublicAccessBlock",
        "BucketVersioning", "BucketServerSideEncryptionConfiguration", "BucketPolicy", "BucketLifecycleConfiguration",
        "BucketObjectLockConfiguration",
    }  # fmt: skip


@each
def test_the_program_looks_up_the_account_and_the_zones_and_nothing_else(built: Built) -> None:
    assert set(built.calls) == {
        "aws:index/getCallerIdentity:getCallerIdentity",
        "aws:index/getAvailabilityZones:getAvailabilityZones",
    }


@each
def test_no_launch_gives_a_public_address_and_every_disk_is_encrypted(built: Built) -> None:
    assert all(subnet["mapPublicIpOnLaunch"] is False for subnet in built.of("Subnet"))
    for template in built.of("LaunchTemplate"):
        assert all(nic.get("associatePublicIpAddress") != "true" for nic in template["networkInterfaces"])
        (disk,) = template["blockDeviceMappings"]
        assert (disk["ebs"]["volumeType"], disk["ebs"]["encrypted"]) == ("gp3", "true")
        assert template["metadataOptions"]["httpTokens"] == "required"
        assert template["metadataOptions"]["httpEndpoint"] == "enabled"
    for instance in built.of("Instance"):
        if "launchTemplate" not in instance:
            assert instance["associatePublicIpAddress"] is False
            assert instance["rootBlockDevice"]["encrypted"] is True
            assert instance["metadataOptions"]["httpTokens"] == "required"


def test_the_group_of_the_nodes_has_all_protocol_rules_in_and_out_that_name_itself() -> None:
    built = build()
    (came_in,) = rules(built, "SecurityGroupIngressRule")
    assert came_in["ipProtocol"] == "-1"
    assert came_in["referencedSecurityGroupId"] == "cluster-nodes-id"
    assert not {"fromPort", "toPort", "cidrIpv4"} & set(came_in)
    to_itself, out = rules(built, "SecurityGroupEgressRule")
    assert (to_itself["ipProtocol"], to_itself["referencedSecurityGroupId"]) == ("-1", "cluster-nodes-id")
    assert (out["ipProtocol"], out["cidrIpv4"]) == ("-1", "0.0.0.0/0")
    assert "referencedSecurityGroupId" not in out
    group = next(item for item in built.of("SecurityGroup") if "nodes" in item["tags"]["Name"])
    assert not {"ingress", "egress"} & set(group)


def test_the_default_group_lets_nothing_through() -> None:
    assert not {"ingress", "egress"} & set(build().one("DefaultSecurityGroup"))


def test_a_p4d_node_has_four_efa_interfaces_on_four_cards_in_the_subnet() -> None:
    template = build().one("LaunchTemplate")
    assert template["instanceType"] == "p4d.24xlarge"
    seen = [
        (nic["networkCardIndex"], nic["deviceIndex"], nic["interfaceType"], nic["subnetId"], nic["securityGroups"])
        for nic in template["networkInterfaces"]
    ]
    subnet, groups = "cluster-private-use1-az2-id", ["cluster-nodes-id"]
    assert seen == [
        (0, 0, "efa", subnet, groups), (1, 1, "efa", subnet, groups), (2, 1, "efa", subnet, groups),
        (3, 1, "efa", subnet, groups),
    ]  # fmt: skip
    assert not {"vpcSecurityGroupIds"} & set(template)


@pytest.mark.parametrize(
    ("placement", "group"),
    [
        pytest.param(PLACEMENT, True, id="two rdma nodes"),
        pytest.param(ON_DEMAND, True, id="on demand"),
        pytest.param(with_pool(count=1), False, id="single node"),
        pytest.param(with_pool(rdma=False), False, id="no rdma"),
        pytest.param(BLOCK, False, id="capacity block"),
        pytest.param(RESERVED, False, id="the user's reservation"),
        pytest.param(OWN_RESERVATION, True, id="our reservation"),
    ],
)
def test_when_there_is_a_cluster_placement_group(placement: PinnedPlacement, *, group: bool) -> None:
    built = build(placement)
    assert [item["strategy"] for item in built.of("PlacementGroup")] == (["cluster"] if group else [])
    assert ("placement" in built.one("LaunchTemplate")) is group
    if group:
        assert built.one("LaunchTemplate")["placement"]["groupName"] == built.one("PlacementGroup")["name"]


def test_spot_nodes_are_single_one_time_instances() -> None:
    built = build()
    options = built.one("LaunchTemplate")["instanceMarketOptions"]
    assert options["marketType"] == "spot"
    assert options["spotOptions"] == {"spotInstanceType": "one-time", "instanceInterruptionBehavior": "terminate"}
    nodes = [item for item in built.of("Instance") if "launchTemplate" in item]
    assert [node["tags"]["emporion-pool"] for node in nodes] == ["gpu-0", "gpu-0"]
    assert [node["launchTemplate"] for node in nodes] == [{"id": "cluster-gpu-0-template-id", "version": "1"}] * 2
    assert len({node["tags"]["emporion-id"] for node in nodes}) == 2
    assert not built.of("Group")


def test_a_ceiling_for_spot_is_written_as_it_is() -> None:
    built = build(with_pool(spot_max_price_usd_per_hour=Decimal("9.50")))
    assert built.one("LaunchTemplate")["instanceMarketOptions"]["spotOptions"]["maxPrice"] == "9.50"


@pytest.mark.parametrize(
    ("placement", "market", "timeout"),
    [
        pytest.param(ON_DEMAND, None, "20m", id="on demand"),
        pytest.param(RENEWED, "spot", "0", id="spot that is renewed"),
        pytest.param(RESERVED, None, "20m", id="reserved"),
        pytest.param(BLOCK, "capacity-block", "0", id="capacity block"),
    ],
)
def test_everything_else_is_a_group_of_fixed_size(placement: PinnedPlacement, market: str | None, timeout: str) -> None:
    built = build(placement)
    group = built.one("Group")
    assert (group["minSize"], group["maxSize"], group["desiredCapacity"]) == (2, 2, 2)
    assert group["vpcZoneIdentifiers"] == ["cluster-private-use1-az2-id"]
    assert group["launchTemplate"] == {"id": "cluster-gpu-0-template-id", "version": "1"}
    assert group["waitForCapacityTimeout"] == timeout
    assert group["capacityRebalance"] is False
    assert all(tag["propagateAtLaunch"] for tag in group["tags"])
    assert {"emporion-id", "emporion-stack", "emporion-pool", "Name"} <= {tag["key"] for tag in group["tags"]}
    template = built.one("LaunchTemplate")
    assert (template.get("instanceMarketOptions") or {}).get("marketType") == market
    assert all("subnetId" not in nic for nic in template["networkInterfaces"])
    assert not [item for item in built.of("Instance") if "launchTemplate" in item]


@pytest.mark.parametrize("placement", [RESERVED, BLOCK])
def test_a_reservation_of_the_users_is_targeted_by_its_id(placement: PinnedPlacement) -> None:
    built = build(placement)
    target = built.one("LaunchTemplate")["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "cr-0123456789abcdef0"}
    assert not built.of("CapacityReservation")


def test_a_reserved_pool_without_an_id_gets_a_reservation_of_its_own_in_its_group() -> None:
    built = build(OWN_RESERVATION)
    made = built.one("CapacityReservation")
    assert (made["instanceType"], made["instanceCount"], made["availabilityZone"]) == ("p4d.24xlarge", 2, "us-east-1a")
    assert made["instanceMatchCriteria"] == "targeted"
    assert made["placementGroupArn"].endswith("cluster-gpu-0-placement")
    target = built.one("LaunchTemplate")["capacityReservationSpecification"]["capacityReservationTarget"]
    assert target == {"capacityReservationId": "cluster-gpu-0-reservation-id"}


def test_a_zone_id_becomes_this_accounts_zone_name() -> None:
    built = build(with_pool(zone="use1-az1"))
    assert {subnet["availabilityZone"] for subnet in built.of("Subnet")} == {"us-east-1c"}
    assert not any("use1-az" in subnet["availabilityZone"] for subnet in built.of("Subnet"))


def test_an_offer_without_a_zone_takes_the_first_one_of_the_region() -> None:
    zones = {"use1-az4": "us-east-1b", "use1-atl2-az1": "us-east-1-atl-2a", "use1-az1": "us-east-1c"}
    built = build(with_pool(zone=None), zones=zones)
    assert {subnet["availabilityZone"] for subnet in built.of("Subnet")} == {"us-east-1c"}


def test_nodes_in_a_local_zone_go_out_through_the_region() -> None:
    zones = {"use1-az4": "us-east-1b", "use1-atl2-az1": "us-east-1-atl-2a"}
    built = build(with_pool(zone="use1-atl2-az1", instance_type="p5.48xlarge"), zones=zones)
    where = {subnet["tags"]["Name"]: subnet["availabilityZone"] for subnet in built.of("Subnet")}
    assert where == {"dev-cluster-private-use1-atl2-az1": "us-east-1-atl-2a", "dev-cluster-public": "us-east-1b"}


def test_pools_in_two_zones_have_a_subnet_each() -> None:
    built = build(TWO_POOLS)
    private = {
        item["cidrBlock"]: item["availabilityZone"] for item in built.of("Subnet") if "private" in item["tags"]["Name"]
    }
    assert private == {"10.0.0.0/20": "us-east-1a", "10.0.16.0/20": "us-east-1b"}
    assert [item["instanceType"] for item in built.of("LaunchTemplate")] == ["p4d.24xlarge", "g6.xlarge"]


def test_with_a_way_out_there_is_one_nat_gateway_and_no_interface_endpoint() -> None:
    built = build()
    assert (len(built.of("NatGateway")), len(built.of("Eip")), len(built.of("InternetGateway"))) == (1, 1, 1)
    (endpoint,) = built.of("VpcEndpoint")
    assert (endpoint["vpcEndpointType"], endpoint["serviceName"]) == ("Gateway", "com.amazonaws.us-east-1.s3")
    assert endpoint["routeTableIds"] == ["cluster-private-routes-id"]


def test_without_a_way_out_there_are_endpoints_and_no_road_to_the_internet() -> None:
    built = build(NO_WAY_OUT)
    assert not built.of("NatGateway") + built.of("Eip") + built.of("InternetGateway") + built.of("Route")
    names = {item["serviceName"].removeprefix("com.amazonaws.us-east-1.") for item in built.of("VpcEndpoint")}
    assert names == {"s3", "ssm", "ssmmessages", "ec2messages", "logs", "ecr.api", "ecr.dkr"}
    for item in built.of("VpcEndpoint"):
        if item["vpcEndpointType"] == "Interface":
            assert item["privateDnsEnabled"] is True
            assert item["securityGroupIds"] == ["cluster-endpoints-id"]
    (rule,) = [
        item for item in built.of("SecurityGroupIngressRule") if item["securityGroupId"] == "cluster-endpoints-id"
    ]
    assert (rule["fromPort"], rule["toPort"], rule["ipProtocol"], rule["cidrIpv4"]) == (443, 443, "tcp", "10.0.0.0/20")


def test_without_a_scheduler_there_is_no_controller_and_no_key() -> None:
    built = build(NO_SCHEDULER)
    assert not built.of("Parameter")
    assert len(built.of("Role")) == 1
    assert all("launchTemplate" in item for item in built.of("Instance"))
    assert built.exports["controller_id"] == built.exports["cluster_address"] == ""
    assert not [item for item in statements(built, ("RolePolicy",)) if item.get("Sid") == "MungeKey"]


def test_the_schedulers_key_never_passes_through_the_program() -> None:
    built = build()
    parameter = built.one("Parameter")
    assert parameter["type"] == "SecureString"
    held = parameter["value"]
    assert (held.get("value") if isinstance(held, dict) else held) == "unset"
    may = {
        tuple(item["Action"]): item["Resource"]
        for item in statements(built, ("RolePolicy",))
        if item.get("Sid") == "MungeKey"
    }
    resource = [f"arn:aws:ssm:us-east-1:000000000000:parameter{parameter['name']}"]
    assert may == {("ssm:GetParameter",): resource, ("ssm:GetParameter", "ssm:PutParameter"): resource}


def test_the_controller_has_a_fixed_address_in_the_first_subnet() -> None:
    built = build()
    controller = next(item for item in built.of("Instance") if "launchTemplate" not in item)
    assert (controller["privateIp"], controller["subnetId"]) == ("10.0.0.10", "cluster-private-use1-az2-id")
    assert controller["tags"]["emporion-pool"] == "controller"
    assert built.exports["cluster_address"] == "10.0.0.10"
    text = base64.b64decode(built.one("LaunchTemplate")["userData"]).decode()
    assert "EMPORION_CONTROLLER_IP=10.0.0.10" in text


def test_warnings_of_the_cloud_reach_the_queue_and_only_they_do() -> None:
    built = build()
    patterns = [json.loads(item["eventPattern"]) for item in built.of("EventRule")]
    kinds = {kind for pattern in patterns for kind in pattern["detail-type"]}
    assert {
        "EC2 Spot Instance Interruption Warning", "EC2 Instance Rebalance Recommendation",
        "EC2 Instance State-change Notification", "AWS Health Event",
    } <= kinds  # fmt: skip
    assert len(built.of("EventTarget")) == 2
    (statement,) = json.loads(built.one("QueuePolicy")["policy"])["Statement"]
    assert statement["Principal"] == {"Service": "events.amazonaws.com"}
    assert statement["Action"] == ["sqs:SendMessage"]
    assert len(statement["Condition"]["ArnEquals"]["aws:SourceArn"]) == 2
    assert built.one("Queue")["sqsManagedSseEnabled"] is True


def test_names_that_are_keys_in_the_cloud_carry_the_identity() -> None:
    built = build(ON_DEMAND)
    named = (
        "Role",
        "InstanceProfile",
        "LaunchTemplate",
        "Queue",
        "Group",
        "PlacementGroup",
        "EventRule",
        "SecurityGroup",
    )
    for kind in named:
        for item in built.of(kind):
            tags = (
                item["tags"] if isinstance(item["tags"], dict) else {tag["key"]: tag["value"] for tag in item["tags"]}
            )
            assert item["name"] == f"emporion-dev-{tags['emporion-id']}"
    assert built.one("Bucket")["bucket"] == f"emporion-dev-{built.one('Bucket')['tags']['emporion-id']}"
