"""What moto does not play of the real AWS client: answers in AWS's own shapes, checked by botocore's stubber."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from aws_answers import ID, found
from grounds import MotoGround, pending
from moto import mock_aws

from emporion.components import aws as aws_room
from emporion.components.aws.api import AwsApi
from emporion.components.aws.api.client import FINDERS
from emporion.components.aws.api.session import Clients
from emporion.market.errors import UserError

TAG = [{"Key": "emporion-id", "Value": ID}]
BY_TAG = [{"Name": "tag:emporion-id", "Values": [ID]}]
POLICY = '{"Version": "2012-10-17", "Statement": []}'


@pytest.fixture(autouse=True)
def account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")


@pytest.fixture(scope="module")
def clients() -> Clients:
    return Clients("us-east-1", attempts=1)


@pytest.fixture
def moto() -> Iterator[MotoGround]:
    with mock_aws():
        yield MotoGround()


@pytest.mark.parametrize(
    ("state", "expected"),
    [("available", "emporion-c-1"), ("pending", "emporion-c-1"), ("deleting", None), ("deleted", None)],
)
def test_a_placement_group_is_found_by_tag_unless_it_is_going(
    clients: Clients, state: str, expected: str | None
) -> None:
    answer = {"PlacementGroups": [{"GroupName": "emporion-c-1", "State": state, "Strategy": "cluster", "Tags": TAG}]}
    assert expected == found(
        clients,
        "aws:ec2/placementGroup:PlacementGroup",
        {"strategy": "cluster"},
        ("ec2", "describe_placement_groups", {"Filters": BY_TAG}, answer),
    )


@pytest.mark.parametrize(
    ("state", "expected"), [("active", "cr-1"), ("scheduled", "cr-1"), ("cancelled", None), ("expired", None)]
)
def test_a_capacity_reservation_is_found_by_tag_unless_it_has_ended(
    clients: Clients, state: str, expected: str | None
) -> None:
    answer = {"CapacityReservations": [{"CapacityReservationId": "cr-1", "State": state}]}
    assert expected == found(
        clients,
        "aws:ec2/capacityReservation:CapacityReservation",
        {},
        ("ec2", "describe_capacity_reservations", {"Filters": BY_TAG}, answer),
    )


@pytest.mark.parametrize(
    ("state", "expected"), [("pending", "nat-1"), ("available", "nat-1"), ("failed", None), ("deleted", None)]
)
def test_a_nat_gateway_that_failed_or_went_is_not_found(clients: Clients, state: str, expected: str | None) -> None:
    answer = {"NatGateways": [{"NatGatewayId": "nat-1", "State": state}]}
    assert expected == found(
        clients, "aws:ec2/natGateway:NatGateway", {}, ("ec2", "describe_nat_gateways", {"Filter": BY_TAG}, answer)
    )


@pytest.mark.parametrize(
    ("state", "expected"), [("pending", "i-1"), ("running", "i-1"), ("shutting-down", None), ("terminated", None)]
)
def test_a_machine_that_ended_is_not_found(clients: Clients, state: str, expected: str | None) -> None:
    answer = {"Reservations": [{"Instances": [{"InstanceId": "i-1", "State": {"Code": 0, "Name": state}}]}]}
    assert expected == found(
        clients, "aws:ec2/instance:Instance", {}, ("ec2", "describe_instances", {"Filters": BY_TAG}, answer)
    )


def test_all_pages_are_read(clients: Clients) -> None:
    first = {"Vpcs": [], "NextToken": "more"}
    second = {"Vpcs": [{"VpcId": "vpc-1"}]}
    assert (
        found(
            clients,
            "aws:ec2/vpc:Vpc",
            {},
            ("ec2", "describe_vpcs", {"Filters": BY_TAG}, first),
            ("ec2", "describe_vpcs", {"Filters": BY_TAG, "NextToken": "more"}, second),
        )
        == "vpc-1"
    )


def test_two_things_with_one_identity_are_an_error_never_a_choice(clients: Clients) -> None:
    answer = {"Vpcs": [{"VpcId": "vpc-2"}, {"VpcId": "vpc-1"}]}
    with pytest.raises(UserError, match="vpc-1, vpc-2") as caught:
        found(clients, "aws:ec2/vpc:Vpc", {}, ("ec2", "describe_vpcs", {"Filters": BY_TAG}, answer))
    assert caught.value.code == "E-CLOUD"


def test_a_rule_without_its_tag_is_found_in_its_group(clients: Clients) -> None:
    rule = {
        "SecurityGroupRuleId": "sgr-1",
        "GroupId": "sg-1",
        "IsEgress": False,
        "IpProtocol": "-1",
        "FromPort": -1,
        "ToPort": -1,
    }
    self_rule = {**rule, "ReferencedGroupInfo": {"GroupId": "sg-1"}}
    open_rule = {**rule, "SecurityGroupRuleId": "sgr-2", "CidrIpv4": "0.0.0.0/0"}
    out_rule = {**self_rule, "SecurityGroupRuleId": "sgr-3", "IsEgress": True}
    inputs = {"securityGroupId": "sg-1", "ipProtocol": "-1", "referencedSecurityGroupId": "sg-1"}
    in_group = {"Filters": [{"Name": "group-id", "Values": ["sg-1"]}]}
    assert (
        found(
            clients,
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            inputs,
            ("ec2", "describe_security_group_rules", {"Filters": BY_TAG}, {"SecurityGroupRules": []}),
            (
                "ec2",
                "describe_security_group_rules",
                in_group,
                {"SecurityGroupRules": [open_rule, out_rule, self_rule]},
            ),
        )
        == "sgr-1"
    )


def file_system(**more: Any) -> dict[str, Any]:
    return {"FileSystemId": "fs-0123456789abcdef0", "FileSystemType": "LUSTRE", "Tags": TAG, **more}


def test_a_file_system_is_found_by_tag_among_others(clients: Clients) -> None:
    other = {"FileSystemId": "fs-0aaaaaaaaaaaaaaaa", "Tags": [{"Key": "emporion-id", "Value": "f" * 20}]}
    going = file_system(FileSystemId="fs-0bbbbbbbbbbbbbbbb", Lifecycle="DELETING")
    answer = {"FileSystems": [other, going, file_system(Lifecycle="CREATING")]}
    token = "aws:fsx/lustreFileSystem:LustreFileSystem"
    assert found(clients, token, {}, ("fsx", "describe_file_systems", {}, answer)) == "fs-0123456789abcdef0"


def test_a_file_system_that_failed_is_neither_adopted_nor_forgotten(clients: Clients) -> None:
    failed = file_system(Lifecycle="FAILED", FailureDetails={"Message": "Lustre ports are closed"})
    with pytest.raises(UserError, match="Lustre ports are closed") as caught:
        found(
            clients,
            "aws:fsx/lustreFileSystem:LustreFileSystem",
            {},
            ("fsx", "describe_file_systems", {}, {"FileSystems": [failed]}),
        )
    assert "fs-0123456789abcdef0" in (caught.value.fix or "")


def test_a_data_repository_association_is_found_below_its_file_system(clients: Clients) -> None:
    inputs = {"fileSystemId": "fs-0123456789abcdef0", "fileSystemPath": "/data"}
    links = [
        {"AssociationId": "dra-0123456789abcdef0", "FileSystemPath": "/other", "Lifecycle": "AVAILABLE"},
        {"AssociationId": "dra-0123456789abcdef1", "FileSystemPath": "/data", "Lifecycle": "CREATING"},
    ]
    asked = {"Filters": [{"Name": "file-system-id", "Values": ["fs-0123456789abcdef0"]}]}
    token = "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation"
    answer = ("fsx", "describe_data_repository_associations", asked, {"Associations": links})
    assert found(clients, token, inputs, answer) == "dra-0123456789abcdef1"


def test_groups_hooks_parameters_logs_policies_and_keys_are_found(moto: MotoGround) -> None:
    boto = moto.boto
    vpc = moto.make("aws:ec2/vpc:Vpc", "a" * 20, {"cidrBlock": "10.9.0.0/16"})
    subnet = moto.make(
        "aws:ec2/subnet:Subnet",
        "b" * 20,
        {
            "vpcId": vpc,
            "cidrBlock": "10.9.1.0/24",
            "availabilityZone": "us-east-1a",
        },
    )
    template = moto.make(
        "aws:ec2/launchTemplate:LaunchTemplate", "c" * 20, {"name": "t", "instanceType": "p4d.24xlarge"}
    )
    expected: dict[str, tuple[Mapping[str, Any], str]] = {
        "aws:autoscaling/group:Group": ({"name": "emporion-g"}, "emporion-g"),
        "aws:autoscaling/lifecycleHook:LifecycleHook": (
            {"autoscalingGroupName": "emporion-g", "name": "hook"},
            "hook",
        ),
        "aws:ssm/parameter:Parameter": ({"name": "/emporion/key"}, "/emporion/key"),
        "aws:cloudwatch/logGroup:LogGroup": ({"name": "/emporion/log"}, "/emporion/log"),
        "aws:iam/policy:Policy": ({"name": "emporion-p"}, "arn:aws:iam::123456789012:policy/emporion-p"),
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment": (
            {"role": "emporion-r", "policyArn": "arn:aws:iam::123456789012:policy/emporion-p"},
            "emporion-r/arn:aws:iam::123456789012:policy/emporion-p",
        ),
        "aws:kms/alias:Alias": ({"name": "alias/emporion"}, "alias/emporion"),
    }
    for token, (inputs, _) in expected.items():
        assert moto.api.find(pending(token, ID, inputs)) is None, token
    assert moto.api.find(pending("aws:kms/key:Key", ID, {})) is None

    boto.of("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName="emporion-g",
        MinSize=0,
        MaxSize=1,
        VPCZoneIdentifier=subnet,
        LaunchTemplate={"LaunchTemplateId": template, "Version": "1"},
    )
    boto.of("autoscaling").put_lifecycle_hook(
        AutoScalingGroupName="emporion-g",
        LifecycleHookName="hook",
        LifecycleTransition="autoscaling:EC2_INSTANCE_LAUNCHING",
    )
    boto.of("ssm").put_parameter(Name="/emporion/key", Value="secret", Type="SecureString")
    boto.of("ssm").put_parameter(Name="/emporion/key2", Value="secret", Type="SecureString")
    boto.of("logs").create_log_group(logGroupName="/emporion/log-longer")
    assert moto.api.find(pending("aws:cloudwatch/logGroup:LogGroup", ID, {"name": "/emporion/log"})) is None
    boto.of("logs").create_log_group(logGroupName="/emporion/log")
    moto.make(
        "aws:iam/role:Role",
        "d" * 20,
        {"name": "emporion-r", "assumeRolePolicy": POLICY.replace("[]", TRUST_STATEMENTS)},
    )
    statements = '[{"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": ["arn:aws:s3:::b/x"]}]'
    arn = boto.of("iam").create_policy(PolicyName="emporion-p", PolicyDocument=POLICY.replace("[]", statements))[
        "Policy"
    ]["Arn"]
    boto.of("iam").attach_role_policy(RoleName="emporion-r", PolicyArn=arn)
    key = boto.of("kms").create_key(Tags=[{"TagKey": "emporion-id", "TagValue": ID}])["KeyMetadata"]["KeyId"]
    boto.of("kms").create_alias(AliasName="alias/emporion", TargetKeyId=key)

    for token, (inputs, identifier) in expected.items():
        assert moto.api.find(pending(token, ID, inputs)) == identifier, token
    assert moto.api.find(pending("aws:kms/key:Key", ID, {})) == key
    boto.of("kms").schedule_key_deletion(KeyId=key)
    assert moto.api.find(pending("aws:kms/key:Key", ID, {})) is None


TRUST_STATEMENTS = '[{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": ["sts:AssumeRole"]}]'


def test_addresses_gateways_endpoints_and_queue_policies_are_found(moto: MotoGround) -> None:
    vpc = moto.make("aws:ec2/vpc:Vpc", "a" * 20, {"cidrBlock": "10.9.0.0/16"})
    boto = moto.boto
    address = boto.ec2("allocate_address", "elastic-ip", ID, Domain="vpc")["AllocationId"]
    endpoint = boto.ec2("create_vpc_endpoint", "vpc-endpoint", ID, VpcId=vpc, ServiceName="com.amazonaws.us-east-1.s3")[
        "VpcEndpoint"
    ]["VpcEndpointId"]
    url = moto.make("aws:sqs/queue:Queue", ID, {"name": "emporion-q"})
    statement = {"Effect": "Allow", "Principal": {"Service": "events.amazonaws.com"}, "Action": ["sqs:SendMessage"]}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [{**statement, "Resource": ["*"]}]})
    inputs = {"queueUrl": url, "policy": policy}
    assert moto.api.find(pending("aws:sqs/queuePolicy:QueuePolicy", ID, inputs)) is None
    boto.of("sqs").set_queue_attributes(QueueUrl=url, Attributes={"Policy": policy})
    assert moto.api.find(pending("aws:sqs/queuePolicy:QueuePolicy", ID, inputs)) == url
    assert moto.api.find(pending("aws:ec2/eip:Eip", ID, {"domain": "vpc"})) == address
    assert moto.api.find(pending("aws:ec2/vpcEndpoint:VpcEndpoint", ID, {"vpcId": vpc})) == endpoint


def test_a_type_without_a_finder_is_an_error_that_says_how_to_go_on() -> None:
    with pytest.raises(UserError, match="has no finder") as caught:
        AwsApi("us-east-1").find(pending("aws:ec2/trafficMirrorFilter:TrafficMirrorFilter", ID, {}))
    assert ID in (caught.value.fix or "")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the SDK warns of itself
def test_every_type_that_the_cluster_makes_has_a_finder() -> None:
    import pulumi_aws  # noqa: PLC0415 - the only test here that needs the SDK

    used: set[str] = set()
    for path in Path(aws_room.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Attribute(attr=name, value=ast.Attribute(attr=module, value=ast.Name(id="aws"))):
                    made = getattr(getattr(pulumi_aws, module), name, None)
                    used |= {token} if (token := getattr(made, "pulumi_type", None)) else set()
                case _:
                    continue
    assert len(used) > 20
    assert used - set(FINDERS) == set()
