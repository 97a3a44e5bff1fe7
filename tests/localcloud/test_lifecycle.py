from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from emporion.localcloud.plugin.calls import CloudRefusedError
from emporion.localcloud.plugin.provider import Naming, Provider
from emporion.localcloud.world import World
from emporion.market.wire import UNKNOWN_TEXT

Make = Callable[..., str]
VPC, SUBNET = "aws:ec2/vpc:Vpc", "aws:ec2/subnet:Subnet"
GROUP, INGRESS = "aws:ec2/securityGroup:SecurityGroup", "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
TEMPLATE, BUCKET = "aws:ec2/launchTemplate:LaunchTemplate", "aws:s3/bucket:Bucket"
OBJECT, ROLE = "aws:s3/bucketObjectv2:BucketObjectv2", "aws:iam/role:Role"
PROFILE, POLICY = "aws:iam/instanceProfile:InstanceProfile", "aws:iam/rolePolicy:RolePolicy"
TABLE, ROUTE = "aws:ec2/routeTable:RouteTable", "aws:ec2/route:Route"
TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": ["sts:AssumeRole"]}],
    }
)


def urn(token: str, name: str = "x", stack: str = "dev") -> str:
    return f"urn:pulumi:{stack}::shop::{token}::{name}"


def refused(action: Callable[[], object]) -> str:
    with pytest.raises(CloudRefusedError) as error:
        action()
    return str(error.value)


# what is computed


def test_a_vpc_has_ids_and_an_arn_of_the_real_shape(provider: Provider, make: Make) -> None:
    made = make(VPC, "v", {"cidrBlock": "10.0.0.0/16"})
    outputs = provider.read(urn(VPC, "v"), made, {"x": 1})[0].outputs  # type: ignore[union-attr]
    assert made.startswith("vpc-")
    assert len(made) == len("vpc-") + 17
    assert outputs["arn"] == f"arn:aws:ec2:us-east-1:000000000000:vpc/{made}"
    assert outputs["defaultSecurityGroupId"].startswith("sg-")
    assert (outputs["ownerId"], outputs["region"], outputs["tagsAll"]) == ("000000000000", "us-east-1", {})


def test_a_subnets_zone_id_belongs_to_its_zone_name(provider: Provider, make: Make) -> None:
    vpc = make(VPC, "v", {"cidrBlock": "10.0.0.0/16"})
    inputs = {"vpcId": vpc, "cidrBlock": "10.0.1.0/24", "availabilityZone": "us-east-1c"}
    made, _ = provider.create(urn(SUBNET), inputs, preview=False)
    assert made.outputs["availabilityZoneId"] == "use1-az2"


def test_default_tags_of_the_provider_are_in_all_tags_and_give_way_to_the_resources_own(provider: Provider) -> None:
    provider.configure({"region": "us-east-1", "defaultTags": '{"tags":{"team":"a","cost":"b"}}'})
    made, _ = provider.create(urn(VPC), {"cidrBlock": "10.0.0.0/16", "tags": {"team": "mine"}}, preview=False)
    assert made.outputs["tagsAll"] == {"team": "mine", "cost": "b"}
    assert made.outputs["tags"] == {"team": "mine"}


def test_a_resource_may_name_its_own_region(provider: Provider) -> None:
    made, _ = provider.create(urn(VPC), {"cidrBlock": "10.0.0.0/16", "region": "eu-west-1"}, preview=False)
    assert ":eu-west-1:" in made.outputs["arn"]


def test_a_type_without_a_rule_gets_an_id_and_an_arn(provider: Provider, make: Make) -> None:
    token = "aws:dynamodb/table:Table"
    made = make(token, "t", {"attributes": [{"name": "id", "type": "S"}], "hashKey": "id"})
    found = provider.read(urn(token, "t"), made, {"x": 1})[0]
    assert found
    assert found.outputs["arn"] == f"arn:aws:dynamodb:us-east-1:000000000000:table/{made}"
    assert found.outputs["name"].startswith("t-")


# previews


def test_a_preview_of_a_create_knows_the_inputs_and_nothing_that_the_cloud_computes(provider: Provider) -> None:
    made, _ = provider.create(urn(SUBNET), {"vpcId": UNKNOWN_TEXT, "cidrBlock": "10.0.0.0/24"}, preview=True)
    assert made.id == ""
    assert made.outputs["cidrBlock"] == "10.0.0.0/24"
    assert {made.outputs[name] for name in ("arn", "availabilityZone", "availabilityZoneId", "ownerId")} == {
        UNKNOWN_TEXT
    }
    assert made.outputs["region"] == "us-east-1"
    assert "outpostArn" not in made.outputs, "an optional output that is not asked for is absent"
    assert made.outputs["tagsAll"] == {}


def test_a_preview_writes_and_counts_nothing(provider: Provider, world: World) -> None:
    provider.create(urn(VPC), {"cidrBlock": "10.0.0.0/16"}, preview=True)
    assert (world.counts(), world.calls()) == ({}, [])


@pytest.mark.parametrize(
    ("change", "unknown"),
    [
        pytest.param({"instanceType": "p5.48xlarge"}, True, id="another machine"),
        pytest.param({"userData": UNKNOWN_TEXT}, True, id="unknown user data"),
        pytest.param({"description": "new words"}, False, id="description"),
        pytest.param({"tags": {"a": "b"}}, False, id="tags"),
    ],
)
def test_a_templates_version_is_unknown_only_when_a_new_one_will_be_made(
    provider: Provider,
    change: dict[str, Any],
    unknown: bool,
) -> None:
    old = {"name": "lt", "instanceType": "p4d.24xlarge", "updateDefaultVersion": True}
    made, _ = provider.create(urn(TEMPLATE), old, preview=False)
    previewed, _ = provider.update(urn(TEMPLATE), made.id, made.outputs, old, {**old, **change}, preview=True)
    assert previewed.outputs["arn"] == made.outputs["arn"]
    assert (previewed.outputs["latestVersion"] == UNKNOWN_TEXT) is unknown
    assert (previewed.outputs["defaultVersion"] == UNKNOWN_TEXT) is unknown


# updates and reads


def test_an_edit_of_a_template_is_a_new_version(provider: Provider, world: World) -> None:
    old = {"name": "lt", "instanceType": "p4d.24xlarge"}
    made, _ = provider.create(urn(TEMPLATE), old, preview=False)
    new = {"name": "lt", "instanceType": "p5.48xlarge"}
    changed, _ = provider.update(urn(TEMPLATE), made.id, made.outputs, old, new, preview=False)
    assert (changed.outputs["latestVersion"], changed.outputs["defaultVersion"]) == (2, 1)
    (row,) = world.resources(token=TEMPLATE)
    assert {version: data["instanceType"] for version, data in row.facts["versions"].items()} == {
        "1": "p4d.24xlarge", "2": "p5.48xlarge",
    }  # fmt: skip


def test_a_refresh_sees_what_changed_behind_the_programs_back(provider: Provider, make: Make, world: World) -> None:
    made = make(VPC, "v", {"cidrBlock": "10.0.0.0/16", "tags": {"a": "b"}})
    (row,) = world.resources()
    world.change(row.seq, inputs={**row.inputs, "tags": {"a": "c"}}, outputs={**row.outputs, "tags": {"a": "c"}})
    found = provider.read(urn(VPC, "v"), made, row.outputs)[0]
    assert found
    assert (found.inputs["tags"], found.outputs["tags"]) == ({"a": "c"}, {"a": "c"})


def test_what_is_gone_is_read_as_nothing_and_deleted_without_complaint(provider: Provider) -> None:
    assert provider.read(urn(VPC), "vpc-0123456789abcdef0", {"x": 1}) == (None, None)
    assert provider.delete(urn(VPC), "vpc-0123456789abcdef0", {}) is None


def test_updating_what_is_gone_is_refused(provider: Provider) -> None:
    said = refused(lambda: provider.update(urn(VPC), "vpc-1", {}, {}, {"cidrBlock": "10.0.0.0/16"}, preview=False))
    assert "updating EC2 VPC (vpc-1)" in said
    assert "api error NotFound: EC2 VPC vpc-1 does not exist" in said


def test_an_import_takes_the_id_that_the_real_provider_takes(provider: Provider, make: Make) -> None:
    vpc = make(VPC, "v", {"cidrBlock": "10.0.0.0/16"})
    table = make(TABLE, "t", {"vpcId": vpc})
    gateway = make("aws:ec2/internetGateway:InternetGateway", "g", {"vpcId": vpc})
    inputs = {"routeTableId": table, "destinationCidrBlock": "0.0.0.0/0", "gatewayId": gateway}
    route = make(ROUTE, "r", inputs)
    assert route.startswith(f"r-{table}")
    assert provider.read(urn(ROUTE, "r"), f"{table}_0.0.0.0/0", {"x": 1}) == (None, None)
    for taken in (f"{table}_0.0.0.0/0", route):
        found = provider.read(urn(ROUTE, "r"), taken, {})[0]
        assert found
        assert (found.id, found.inputs) == (route, inputs)


# names


def test_a_missing_name_is_made_from_the_logical_name_and_kept(provider: Provider) -> None:
    first, _ = provider.check(urn(BUCKET, "Data"), {}, {}, Naming(b"one"))
    assert first["bucket"].startswith("data-")
    assert len(first["bucket"]) == len("data-") + 7
    assert "bucket" in first["__defaults"]
    again, _ = provider.check(urn(BUCKET, "Data"), first, {}, Naming(b"two"))
    assert again["bucket"] == first["bucket"]
    replaced, _ = provider.check(urn(BUCKET, "Data"), {}, {}, Naming(b"three"))
    assert replaced["bucket"] != first["bucket"]


@pytest.mark.parametrize(
    ("inputs", "naming", "name"),
    [
        pytest.param({"bucket": "mine"}, Naming(), "mine", id="given"),
        pytest.param({"bucketPrefix": "pre"}, Naming(), None, id="prefix"),
        pytest.param({}, Naming(proposed="shop-data"), "shop-data", id="proposed by the engine"),
    ],
)
def test_other_ways_to_a_name(provider: Provider, inputs: dict[str, Any], naming: Naming, name: str | None) -> None:
    assert provider.check(urn(BUCKET), {}, inputs, naming)[0].get("bucket") == name


def test_a_name_is_missing_when_naming_is_off(provider: Provider) -> None:
    _, failures = provider.check(urn(BUCKET), {}, {}, Naming(disabled=True))
    assert failures == [("bucket", "missing required property 'bucket': automatic naming is off")]


# what the cloud refuses


@pytest.mark.parametrize(
    ("token", "inputs", "code"),
    [
        pytest.param(SUBNET, {"vpcId": "vpc-1"}, "InvalidVpcID.NotFound", id="a vpc that is not there"),
        pytest.param(GROUP, {"vpcId": "vpc-1", "name": "g"}, "InvalidVpcID.NotFound", id="a group in it"),
        pytest.param(PROFILE, {"role": "nobody", "name": "p"}, "NoSuchEntity", id="a role that is not there"),
        pytest.param(BUCKET, {"bucket": "No_Such"}, "InvalidBucketName", id="a bucket name"),
        pytest.param(
            ROLE, {"name": "r", "assumeRolePolicy": "{not json"}, "MalformedPolicyDocument", id="no document"
        ),
        pytest.param(
            ROLE, {"name": "r", "assumeRolePolicy": '{"Statement":[{"Effect":"Maybe","Action":"a"}]}'},
            "MalformedPolicyDocument", id="no effect",
        ),
        pytest.param(ROLE, {"name": "r" * 65, "assumeRolePolicy": TRUST}, "ValidationError", id="a long name"),
        pytest.param(
            TEMPLATE, {"name": "t", "userData": "A" * 4 * 5462}, "User data is limited to 16384 bytes", id="user data"
        ),
        pytest.param(TEMPLATE, {"name": "t", "userData": "#!"}, "InvalidUserData.Malformed", id="not base64"),
    ],
)  # fmt: skip
def test_refusals_of_a_create(provider: Provider, world: World, token: str, inputs: dict[str, Any], code: str) -> None:
    said = refused(lambda: provider.create(urn(token), inputs, preview=False))
    assert code in said
    assert world.counts() == {}
    assert [call["outcome"] for call in world.calls()] != ["ok"]


def test_a_name_that_is_taken_is_refused_by_the_real_code(provider: Provider, make: Make) -> None:
    """E12, and what protects from a second create after a crash."""
    for token, inputs, code in (
        (BUCKET, {"bucket": "mine"}, "BucketAlreadyOwnedByYou"),
        (ROLE, {"name": "mine", "assumeRolePolicy": TRUST}, "EntityAlreadyExists"),
        (TEMPLATE, {"name": "mine"}, "InvalidLaunchTemplateName.AlreadyExistsException"),
    ):
        make(token, "first", inputs)
        assert code in refused(lambda: provider.create(urn(token, "second"), inputs, preview=False))  # noqa: B023


def test_a_put_writes_over_what_is_there(make: Make, world: World) -> None:
    make(ROLE, "r", {"name": "r", "assumeRolePolicy": TRUST})
    for _ in range(2):
        assert make(POLICY, "p", {"role": "r", "name": "p", "policy": TRUST}) == "r:p"
    assert world.counts()[POLICY] == 1


def test_a_subnet_lies_inside_its_vpc_and_beside_the_others(provider: Provider, make: Make) -> None:
    vpc = make(VPC, "v", {"cidrBlock": "10.0.0.0/16"})
    make(SUBNET, "s", {"vpcId": vpc, "cidrBlock": "10.0.1.0/24"})
    for cidr, code in (("10.1.0.0/24", "InvalidSubnet.Range"), ("10.0.1.128/25", "InvalidSubnet.Conflict")):
        inputs = {"vpcId": vpc, "cidrBlock": cidr}
        assert code in refused(lambda: provider.create(urn(SUBNET, "t"), inputs, preview=False))  # noqa: B023


@pytest.mark.parametrize(
    "peers",
    [
        pytest.param({}, id="none"),
        pytest.param({"cidrIpv4": "10.0.0.0/8", "cidrIpv6": "::/0"}, id="two"),
        pytest.param({"cidrIpv4": "10.0.0.0/8", "fromPort": 22, "toPort": 22}, id="ports for all protocols"),
    ],
)
def test_a_rule_needs_exactly_one_peer_and_no_ports_for_all_protocols(
    provider: Provider, make: Make, peers: dict[str, Any]
) -> None:
    group = make(GROUP, "g", {"vpcId": make(VPC, "v", {"cidrBlock": "10.0.0.0/16"})})
    inputs = {"securityGroupId": group, "ipProtocol": "-1", **peers}
    assert "InvalidParameter" in refused(lambda: provider.create(urn(INGRESS), inputs, preview=False))


# what is in use


def test_a_vpc_with_a_subnet_stays(provider: Provider, make: Make, world: World) -> None:
    vpc = make(VPC, "v", {"cidrBlock": "10.0.0.0/16"})
    make(SUBNET, "s", {"vpcId": vpc, "cidrBlock": "10.0.1.0/24"})
    said = refused(lambda: provider.delete(urn(VPC, "v"), vpc, {}))
    assert said.startswith(
        f"deleting EC2 VPC ({vpc}): operation error EC2: DeleteVpc, https response error StatusCode: 400"
    )
    assert said.endswith(f"api error DependencyViolation: The vpc '{vpc}' has dependencies and cannot be deleted.")
    assert world.counts() == {VPC: 1, SUBNET: 1}


def test_a_group_named_by_anothers_rule_stays_and_its_own_rules_go_with_it(
    provider: Provider, make: Make, world: World
) -> None:
    vpc = make(VPC, "v", {"cidrBlock": "10.0.0.0/16"})
    ours, others = make(GROUP, "a", {"vpcId": vpc}), make(GROUP, "b", {"vpcId": vpc})
    rule = {"ipProtocol": "-1", "referencedSecurityGroupId": ours}
    make(INGRESS, "self", {**rule, "securityGroupId": ours})
    theirs = make(INGRESS, "other", {**rule, "securityGroupId": others})
    assert "DependencyViolation" in refused(lambda: provider.delete(urn(GROUP, "a"), ours, {}))
    provider.delete(urn(INGRESS, "other"), theirs, {})
    provider.delete(urn(GROUP, "a"), ours, {})
    assert world.counts() == {VPC: 1, GROUP: 1}


def test_a_role_in_a_profile_stays(provider: Provider, make: Make) -> None:
    role = make(ROLE, "r", {"name": "r", "assumeRolePolicy": TRUST})
    profile = make(PROFILE, "p", {"name": "p", "role": role})
    assert "DeleteConflict" in refused(lambda: provider.delete(urn(ROLE, "r"), role, {}))
    provider.delete(urn(PROFILE, "p"), profile, {})
    provider.delete(urn(ROLE, "r"), role, {})


@pytest.mark.parametrize("force", [False, True])
def test_a_bucket_with_objects_goes_only_by_force(
    provider: Provider,
    make: Make,
    world: World,
    force: bool,
) -> None:
    bucket = make(BUCKET, "b", {"bucket": "full", "forceDestroy": force})
    make(OBJECT, "o", {"bucket": bucket, "key": "a/b", "content": "x"})
    if force:
        provider.delete(urn(BUCKET, "b"), bucket, {})
        assert world.counts() == {}
    else:
        assert "BucketNotEmpty" in refused(lambda: provider.delete(urn(BUCKET, "b"), bucket, {}))
        assert world.counts() == {BUCKET: 1, OBJECT: 1}


# Lustre

PERSISTENT: dict[str, Any] = {
    "deploymentType": "PERSISTENT_2", "storageCapacity": 1200, "perUnitStorageThroughput": 1000,
}  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "accepted"),
    [
        pytest.param(PERSISTENT | {"perUnitStorageThroughput": 250}, True, id="smallest"),
        pytest.param(PERSISTENT | {"storageCapacity": 4800}, True, id="a multiple of 2400"),
        pytest.param({"deploymentType": "SCRATCH_2", "storageCapacity": 2400}, True, id="scratch"),
        pytest.param(PERSISTENT | {"storageCapacity": 3600}, False, id="not a multiple"),
        pytest.param(PERSISTENT | {"perUnitStorageThroughput": 200}, False, id="another generation's throughput"),
        pytest.param(PERSISTENT | {"perUnitStorageThroughput": None}, False, id="no throughput"),
        pytest.param(PERSISTENT | {"deploymentType": "SCRATCH_2"}, False, id="scratch with throughput"),
        pytest.param(
            PERSISTENT | {"deploymentType": "PERSISTENT_1", "perUnitStorageThroughput": 50, "efaEnabled": True},
            False, id="EFA on an old generation",
        ),
    ],
)  # fmt: skip
def test_lustre_sizes(provider: Provider, make: Make, asked: dict[str, Any], accepted: bool) -> None:
    subnet = make(SUBNET, "s", {"vpcId": make(VPC, "v", {"cidrBlock": "10.0.0.0/16"}), "cidrBlock": "10.0.1.0/24"})
    token, inputs = "aws:fsx/lustreFileSystem:LustreFileSystem", {"subnetIds": subnet, **asked}
    if accepted:
        outputs = provider.create(urn(token), inputs, preview=False)[0].outputs
        assert outputs["dnsName"] == f"{outputs['arn'].rpartition('/')[2]}.fsx.us-east-1.amazonaws.com"
        assert len(outputs["mountName"]) == 8
    else:
        assert "BadRequest" in refused(lambda: provider.create(urn(token), inputs, preview=False))
