"""The whole road on the local cloud: intent, plan, pin, up, status, a newer image, down."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pytest
from desk import Desk

from emporion.components.aws.stand_in import STAND_IN
from emporion.localcloud.images import publish_image
from emporion.localcloud.world import World

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def standing(new_desk: Callable[[str], Desk]) -> Desk:
    desk = new_desk("road")
    desk.done("up", "demo.yaml", "--local", "--yes")
    return desk


def of_type(desk: Desk, token: str) -> list[Mapping[str, Any]]:
    return [one for one in desk.state("demo")["resources"] if one["type"] == token]


def only(desk: Desk, token: str) -> Mapping[str, Any]:
    (one,) = of_type(desk, token)
    return one


def test_the_fabric_group_allows_everything_from_and_to_itself(standing: Desk) -> None:
    groups = {one["id"] for one in of_type(standing, "aws:ec2/securityGroup:SecurityGroup")}
    for direction in ("Ingress", "Egress"):
        rules = [
            one["inputs"]
            for one in of_type(standing, f"aws:vpc/securityGroup{direction}Rule:SecurityGroup{direction}Rule")
        ]
        own = [rule for rule in rules if rule.get("referencedSecurityGroupId") == rule["securityGroupId"]]
        assert own, direction
        assert {rule["ipProtocol"] for rule in own} == {"-1"}
        assert {rule["securityGroupId"] for rule in own} <= groups


def test_nothing_is_reachable_from_outside(standing: Desk) -> None:
    rules = [one["inputs"] for one in of_type(standing, "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule")]
    assert not [rule for rule in rules if rule.get("cidrIpv4") == "0.0.0.0/0" or rule.get("cidrIpv6") == "::/0"]


def test_nodes_form_a_cluster_placement_group(standing: Desk) -> None:
    assert only(standing, "aws:ec2/placementGroup:PlacementGroup")["inputs"]["strategy"] == "cluster"


def test_the_launch_template_has_an_efa_interface_on_each_network_card(standing: Desk) -> None:
    templates = [one["inputs"] for one in of_type(standing, "aws:ec2/launchTemplate:LaunchTemplate")]
    (template,) = [one for one in templates if one["instanceType"] == "p4d.24xlarge"]
    interfaces = template["networkInterfaces"]
    assert [one["interfaceType"] for one in interfaces] == ["efa"] * 4
    assert sorted(one["networkCardIndex"] for one in interfaces) == [0, 1, 2, 3]
    assert {one.get("associatePublicIpAddress") for one in interfaces} <= {None, "false"}
    assert template["metadataOptions"]["httpTokens"] == "required"


def test_no_permission_is_a_wildcard(standing: Desk) -> None:
    tokens = ("aws:iam/rolePolicy:RolePolicy", "aws:iam/policy:Policy")
    documents = [json.loads(one["outputs"]["policy"]) for token in tokens for one in of_type(standing, token)]
    assert documents
    for document in documents:
        for statement in document["Statement"]:
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            assert not [action for action in actions if "*" in action], statement
            assert "NotAction" not in statement
    assert not [one for one in of_type(standing, "aws:iam/role:Role") if one["inputs"].get("inlinePolicies")]


def test_the_bucket_is_versioned_encrypted_and_private(standing: Desk) -> None:
    bucket = only(standing, "aws:s3/bucket:Bucket")["id"]
    assert (
        only(standing, "aws:s3/bucketVersioning:BucketVersioning")["inputs"]["versioningConfiguration"]["status"]
        == "Enabled"
    )
    block = only(standing, "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock")["inputs"]
    assert {key: value for key, value in block.items() if key.startswith(("block", "ignore", "restrict"))} == {
        "blockPublicAcls": True,
        "blockPublicPolicy": True,
        "ignorePublicAcls": True,
        "restrictPublicBuckets": True,
    }
    assert block["bucket"] == bucket


def test_status_shows_what_stands_and_what_it_costs(standing: Desk) -> None:
    status = standing.json("status", "demo")
    gpu_nodes = [node for node in status["nodes"] if node["pool"] == "gpu-0"]
    assert [(node["instance_type"], node["market"], node["state"]) for node in gpu_nodes] == [
        ("p4d.24xlarge", "spot", "running")
    ] * 2
    assert all(node["private_ip"] for node in status["nodes"])
    assert status["missing"] == {}
    assert status["pending_operations"] == 0
    lines = [Decimal(line["usd_per_hour"]) for line in status["cost_lines"] if line["usd_per_hour"] is not None]
    assert sum(lines) == Decimal(status["usd_per_hour"])
    assert Decimal(status["usd_per_hour"]) <= 16


def test_prices_that_have_grown_old_are_noted_and_stop_nothing(standing: Desk) -> None:
    for command in (("status", "demo"), ("preview", "demo"), ("up", "demo", "--yes")):
        ran = standing.run(*command)
        assert ran.returncode == 0, ran.stderr
        assert "demo: pricing older than 7 days: pinned " in ran.stderr
        assert "emporion plan --diff demo shows how the market moved" in ran.stderr
    pricing = standing.json("status", "demo")["pricing"]
    assert pricing["age_days"] > 7
    assert pricing["stale"].startswith("pricing older than 7 days")


def test_a_second_up_changes_nothing(standing: Desk) -> None:
    assert standing.json("up", "demo.yaml", "--yes")["changed"] == 0


def test_a_newer_image_changes_nothing_until_it_is_planned(standing: Desk) -> None:
    with World.open(standing.home) as world:
        newer = publish_image(
            world,
            STAND_IN,
            "us-east-1",
            "gpu",
            "x86_64",
            name="Deep Learning Base newer",
            published_at="2027-01-01T00:00:00Z",
        )
    assert standing.json("preview", "demo")["changed"] == 0
    assert newer.id in standing.done("plan", "demo.yaml", "--diff", "demo")


def test_the_worlds_of_a_stack_cannot_be_mixed(standing: Desk) -> None:
    refused = standing.run("up", "demo", "--real", "--yes")
    assert refused.returncode == 2
    assert "belongs to the local world" in refused.stderr


def test_down_leaves_nothing(new_desk: Callable[[str], Desk]) -> None:
    desk = new_desk("down")
    desk.done("up", "demo.yaml", "--yes")
    desk.done("down", "demo", "--yes")
    with World.open(desk.home) as world:
        assert world.counts() == {}
    assert not desk.state("demo").get("pending_operations")
    assert desk.json("status", "demo")["up"] is False


def test_a_store_with_data_is_kept_until_it_may_go_and_nothing_is_made_for_that(
    new_desk: Callable[[str], Desk],
) -> None:
    desk = new_desk("data")
    desk.done("up", "demo.yaml", "--yes")
    with World.open(desk.home) as world:
        (script,) = world.resources(token="aws:s3/bucketObjectv2:BucketObjectv2")
        bucket = script.inputs["bucket"]
        world.insert(
            provider=script.provider,
            scope=script.region,
            region=script.region,
            token=script.token,
            resource_id=f"{bucket}/checkpoints/1",
            inputs={**script.inputs, "key": "checkpoints/1", "tags": {}},
            outputs={**script.outputs, "key": "checkpoints/1"},
        )
    refused = desk.run("down", "demo", "--yes")
    assert refused.returncode == 1
    assert "BucketNotEmpty" in refused.stderr
    assert "--delete-data" in refused.stderr
    with World.open(desk.home) as world:
        assert world.counts()["aws:s3/bucket:Bucket"] == 1
        before = len(world.calls())
    desk.done("down", "demo", "--yes", "--delete-data")
    with World.open(desk.home) as world:
        assert world.counts() == {}
        assert not [call for call in world.calls()[before:] if call["operation"] == "create"]
