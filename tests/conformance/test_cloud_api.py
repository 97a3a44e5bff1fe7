"""One suite over every `CloudApi`: AWS as moto plays it, and the local world's.

What moto does not play stands in docs/verification.md; tests/components/test_aws_api.py answers those calls with shapes
that botocore checks against AWS's own service model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from grounds import STACK, TRUST, Ground, MotoGround, pending
from local_ground import LocalGround
from moto import mock_aws

from emporion.market.clouds import installed_clouds
from emporion.market.errors import ExitCode, UserError

ID, OTHER = "0123456789abcdef0123", "fedcba98765432100000"


GROUNDS = ("aws on moto", "aws in the local world")


@pytest.fixture(params=GROUNDS)
def ground(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Ground]:
    if request.param == "aws in the local world":
        monkeypatch.setenv("EMPORION_HOME", str(tmp_path))
        local = LocalGround(tmp_path)
        yield local
        local.close()
        return
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with mock_aws():
        yield MotoGround()


def zone_name(ground: Ground) -> str:
    return next(iter(ground.api.zones().values()))


def test_every_installed_cloud_is_tried_for_real_and_in_the_local_world() -> None:
    """A cloud has its suite here or in a file of its own; each names both grounds on which it is tried."""
    suites = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_cloud_api*.py"))
    for cloud in installed_clouds():
        assert f'"{cloud} in the local world"' in suites
        assert re.search(rf'"{cloud} (?:on|in) (?!the local)[a-z ]+"', suites), f"{cloud} is not tried as it really is"


class Scene:
    """A small network and a role, with things that stand on them."""

    def __init__(self, ground: Ground) -> None:
        make = ground.make
        self.vpc = make("aws:ec2/vpc:Vpc", "a" * 20, {"cidrBlock": "10.9.0.0/16"})
        self.subnet = make(
            "aws:ec2/subnet:Subnet",
            "b" * 20,
            {
                "vpcId": self.vpc,
                "cidrBlock": "10.9.1.0/24",
                "availabilityZone": zone_name(ground),
            },
        )
        self.gateway = make("aws:ec2/internetGateway:InternetGateway", "c" * 20, {"vpcId": self.vpc})
        self.table = make("aws:ec2/routeTable:RouteTable", "d" * 20, {"vpcId": self.vpc})
        self.group = make(
            "aws:ec2/securityGroup:SecurityGroup",
            "e" * 20,
            {
                "name": "emporion-c-eeee",
                "description": "nodes",
                "vpcId": self.vpc,
            },
        )
        self.role = make("aws:iam/role:Role", "f" * 20, {"name": "emporion-c-ffff", "assumeRolePolicy": TRUST})
        self.bucket = make("aws:s3/bucket:Bucket", "1" * 20, {"bucket": "emporion-c-1111"})
        self.rule = make(
            "aws:cloudwatch/eventRule:EventRule",
            "2" * 20,
            {
                "name": "emporion-c-2222",
                "eventPattern": json.dumps({"source": ["aws.ec2"]}),
            },
        )


def inputs_of(kind: str, scene: Scene, ground: Ground) -> Mapping[str, Any]:
    queue_arn = f"arn:aws:sqs:{ground.region}:{ground.account}:emporion-c-q"
    policy = {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::emporion-c-1111/bootstrap/x"]},
        ],
    }
    table: dict[str, Mapping[str, Any]] = {
        "aws:cloudwatch/eventRule:EventRule": {
            "name": f"emporion-c-{ID}",
            "eventPattern": '{"source": ["aws.health"]}',
        },
        "aws:cloudwatch/eventTarget:EventTarget": {"rule": scene.rule, "targetId": ID, "arn": queue_arn},
        "aws:ec2/internetGateway:InternetGateway": {"vpcId": scene.vpc},
        "aws:ec2/launchTemplate:LaunchTemplate": {"name": f"emporion-c-{ID}", "instanceType": "p4d.24xlarge"},
        "aws:ec2/route:Route": {
            "routeTableId": scene.table,
            "destinationCidrBlock": "0.0.0.0/0",
            "gatewayId": scene.gateway,
        },
        "aws:ec2/routeTable:RouteTable": {"vpcId": scene.vpc},
        "aws:ec2/routeTableAssociation:RouteTableAssociation": {"routeTableId": scene.table, "subnetId": scene.subnet},
        "aws:ec2/securityGroup:SecurityGroup": {
            "name": f"emporion-c-{ID}",
            "description": "more",
            "vpcId": scene.vpc,
        },
        "aws:ec2/subnet:Subnet": {
            "vpcId": scene.vpc,
            "cidrBlock": "10.9.2.0/24",
            "availabilityZone": zone_name(ground),
        },
        "aws:ec2/vpc:Vpc": {"cidrBlock": "10.8.0.0/16"},
        "aws:iam/instanceProfile:InstanceProfile": {"name": f"emporion-c-{ID}", "role": scene.role},
        "aws:iam/role:Role": {"name": f"emporion-c-{ID}", "assumeRolePolicy": TRUST},
        "aws:iam/rolePolicy:RolePolicy": {
            "role": scene.role,
            "name": f"emporion-c-{ID}",
            "policy": json.dumps(policy),
        },
        "aws:s3/bucket:Bucket": {"bucket": f"emporion-c-{ID}"},
        "aws:s3/bucketObjectv2:BucketObjectv2": {"bucket": scene.bucket, "key": "bootstrap/x.sh", "content": "true\n"},
        "aws:s3/bucketVersioning:BucketVersioning": {
            "bucket": scene.bucket,
            "versioningConfiguration": {"status": "Enabled"},
        },
        "aws:sqs/queue:Queue": {"name": f"emporion-c-{ID}"},
        "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": {
            "securityGroupId": scene.group,
            "ipProtocol": "-1",
            "referencedSecurityGroupId": scene.group,
        },
        "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": {
            "securityGroupId": scene.group,
            "ipProtocol": "tcp",
            "fromPort": 443.0,
            "toPort": 443.0,
            "cidrIpv4": "10.9.1.0/24",
        },
    }
    inputs = dict(table[kind])
    if kind not in UNTAGGED:
        inputs["tags"] = {"emporion-id": ID, "emporion-stack": STACK}
    return inputs


UNTAGGED = frozenset(
    {
        "aws:cloudwatch/eventTarget:EventTarget",
        "aws:ec2/route:Route",
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        "aws:iam/rolePolicy:RolePolicy",
        "aws:s3/bucketVersioning:BucketVersioning",
    }
)
BY_TAG = [
    "aws:ec2/internetGateway:InternetGateway",
    "aws:ec2/routeTable:RouteTable",
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/vpc:Vpc",
    "aws:ec2/launchTemplate:LaunchTemplate",
]
BY_NAME = [
    "aws:cloudwatch/eventRule:EventRule",
    "aws:iam/instanceProfile:InstanceProfile",
    "aws:iam/role:Role",
    "aws:s3/bucket:Bucket",
    "aws:sqs/queue:Queue",
]
BY_PARENT = [
    "aws:cloudwatch/eventTarget:EventTarget",
    "aws:ec2/route:Route",
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:s3/bucketObjectv2:BucketObjectv2",
    "aws:s3/bucketVersioning:BucketVersioning",
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
]


@pytest.mark.parametrize("kind", [*BY_TAG, *BY_NAME, *BY_PARENT])
def test_what_a_killed_create_made_is_found(ground: Ground, kind: str) -> None:
    inputs = inputs_of(kind, Scene(ground), ground)
    made = ground.make(kind, ID, inputs)
    assert ground.api.find(pending(kind, ID, inputs)) == made


@pytest.mark.parametrize("kind", [*BY_TAG, *BY_NAME, *BY_PARENT])
def test_nothing_is_found_when_the_create_never_reached_the_cloud(ground: Ground, kind: str) -> None:
    inputs = inputs_of(kind, Scene(ground), ground)
    assert ground.api.find(pending(kind, ID, inputs)) is None


@pytest.mark.parametrize("kind", [*BY_TAG, *BY_NAME, *BY_PARENT])
def test_what_the_state_holds_already_is_not_found_again(ground: Ground, kind: str) -> None:
    inputs = inputs_of(kind, Scene(ground), ground)
    made = ground.make(kind, ID, inputs)
    assert ground.api.find(replace(pending(kind, ID, inputs), known=frozenset({made}))) is None


def test_the_newer_half_of_a_replacement_is_found_beside_the_older(ground: Ground) -> None:
    kind = "aws:ec2/internetGateway:InternetGateway"
    inputs = inputs_of(kind, Scene(ground), ground)
    older, newer = ground.make(kind, ID, inputs), ground.make(kind, ID, inputs)
    assert ground.api.find(replace(pending(kind, ID, inputs), known=frozenset({older}))) == newer


@pytest.mark.parametrize("kind", BY_TAG)
def test_an_equal_thing_of_another_stack_is_not_ours(ground: Ground, kind: str) -> None:
    inputs = inputs_of(kind, Scene(ground), ground)
    theirs = {**inputs, "tags": {"emporion-id": OTHER}}
    ground.make(kind, OTHER, theirs)
    assert ground.api.find(pending(kind, ID, inputs)) is None


@pytest.mark.parametrize("kind", ["aws:s3/bucket:Bucket", "aws:ec2/launchTemplate:LaunchTemplate"])
def test_what_has_been_deleted_is_not_found(ground: Ground, kind: str) -> None:
    inputs = inputs_of(kind, Scene(ground), ground)
    ground.remove(kind, ground.make(kind, ID, inputs))
    assert ground.api.find(pending(kind, ID, inputs)) is None


def test_a_route_has_the_id_that_the_provider_makes_up(ground: Ground) -> None:
    scene = Scene(ground)
    inputs = inputs_of("aws:ec2/route:Route", scene, ground)
    ground.make("aws:ec2/route:Route", ID, inputs)
    assert ground.api.find(pending("aws:ec2/route:Route", ID, inputs)) == f"r-{scene.table}1080289494"


def test_a_child_of_a_missing_parent_is_not_found(ground: Ground) -> None:
    inputs = {"routeTableId": "rtb-0123456789abcdef0", "destinationCidrBlock": "0.0.0.0/0", "gatewayId": "igw-1"}
    assert ground.api.find(pending("aws:ec2/route:Route", ID, inputs)) is None


def test_a_bucket_setting_that_says_something_else_is_not_the_one_asked(ground: Ground) -> None:
    scene = Scene(ground)
    inputs = {"bucket": scene.bucket, "versioningConfiguration": {"status": "Suspended"}}
    kind = "aws:s3/bucketVersioning:BucketVersioning"
    ground.make(kind, ID, inputs)
    asked = {"bucket": scene.bucket, "versioningConfiguration": {"status": "Enabled"}}
    assert ground.api.find(pending(kind, ID, asked)) is None


def test_the_account_has_twelve_digits(ground: Ground) -> None:
    assert ground.api.account() == ground.account
    assert len(ground.account) == 12


def test_zone_ids_are_mapped_to_this_accounts_names(ground: Ground) -> None:
    zones = ground.api.zones()
    assert zones
    assert all(zone_id.startswith("use1-") for zone_id in zones)
    assert all(name.startswith("us-east-1") for name in zones.values())
    assert len(set(zones.values())) == len(zones)


def test_nodes_are_those_of_one_stack_with_their_pools(ground: Ground) -> None:
    first, controller = ground.run("gpu-0"), ground.run("controller")
    ground.run("gpu-0", stack="emporion/other")
    nodes = ground.api.nodes(*STACK.split("/"))
    assert {node.id: node.pool for node in nodes} == {first: "gpu-0", controller: "controller"}
    for node in nodes:
        assert node.state in {"pending", "running"}
        assert node.instance_type == "p4d.24xlarge"
        assert node.market == "on_demand"
        assert node.private_ip
        assert node.launched_at
        assert node.launched_at.endswith("Z")
        assert node.zone in ground.api.zones()


def test_a_spot_node_says_so(ground: Ground) -> None:
    ground.run("gpu-0", market="spot")
    assert [node.market for node in ground.api.nodes(*STACK.split("/"))] == ["spot"]


def test_a_stack_that_does_not_exist_has_no_nodes(ground: Ground) -> None:
    assert list(ground.api.nodes("emporion", "nobody")) == []


def test_a_terminated_node_is_gone_and_ending_it_again_is_no_error(ground: Ground) -> None:
    node, kept = ground.run("gpu-0"), ground.run("gpu-0")
    ground.api.terminate(node)
    assert [node.id for node in ground.api.nodes(*STACK.split("/")) if node.state != "stopping"] == [kept]
    ground.api.terminate(node)


def test_ending_a_machine_that_the_cloud_has_forgotten_is_no_error(ground: Ground) -> None:
    ground.api.terminate("i-0123456789abcdef0")


def test_a_quiet_node_has_no_notices(ground: Ground) -> None:
    assert list(ground.api.notices(ground.run("gpu-0", market="spot"))) == []


def test_the_newest_image_is_taken(ground: Ground) -> None:
    ground.publish("gpu", "x86_64", "20270601", "2027-06-01T00:00:00.000Z")
    newest = ground.publish("gpu", "x86_64", "20271102", "2027-11-02T00:00:00.000Z")
    ground.publish("gpu", "x86_64", "20270801", "2027-08-01T00:00:00.000Z")
    found = ground.api.image("gpu", "x86_64")
    assert found.id == newest
    assert found.arch == "x86_64"
    assert found.published_at
    assert found.published_at.startswith("2027-11-02")


def test_a_quota_is_a_number_of_machines_or_unknown(ground: Ground) -> None:
    for market in ("on_demand", "spot", "reserved"):
        allowed = ground.api.quota("p4d.24xlarge", market)
        assert allowed is None or allowed >= 0


def test_a_little_throttling_is_sat_out(ground: Ground) -> None:
    ground.throttle(1)
    assert ground.api.zones()


def test_lasting_throttling_is_told_in_the_users_words(ground: Ground) -> None:
    ground.throttle(100)
    with pytest.raises(UserError, match="RequestLimitExceeded") as caught:
        ground.api.zones()
    ground.throttle(0)
    assert caught.value.code == "E-CLOUD"
    assert caught.value.exit_code == ExitCode.FAILED
    assert "again" in (caught.value.fix or "")
