"""Where a `CloudApi` is tried: one ground per cloud and world, in which a test makes things and looks for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Protocol
from zlib import crc32

from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from moto.core.botocore_stubber import MockRawResponse
from moto.ec2.models import ec2_backends

from emporion.components.aws.api import AwsApi
from emporion.components.aws.api.session import Clients
from emporion.components.aws.images import IMAGES
from emporion.market.clouds import CloudApi, Pending

__all__ = ["Ground", "MotoGround", "pending"]

STACK = "emporion/conformance"


def pending(token: str, emporion_id: str, inputs: Mapping[str, Any]) -> Pending:
    """Return what the engine would have recorded of a create of this type."""
    return Pending(f"urn:pulumi:conformance::emporion::{token}::thing-{emporion_id}", token, emporion_id, inputs)


class Ground(Protocol):
    """One cloud in one world."""

    region: str
    account: str
    api: CloudApi

    def make(self, token: str, emporion_id: str, inputs: Mapping[str, Any]) -> str:
        """Make a thing as the provider plugin would; return what `find` must return for it."""
        ...

    def remove(self, token: str, found: str) -> None:
        """Delete a thing."""
        ...

    def run(self, pool: str, *, stack: str = STACK, market: str = "on_demand") -> str:
        """Start a machine of a stack's pool and return its id."""
        ...

    def publish(self, purpose: str, arch: str, name_end: str, at: str) -> str:
        """Publish a machine image and return its id."""
        ...

    def throttle(self, calls: int) -> None:
        """Let the next `calls` requests for machines and networks be throttled, the API's own retries included."""
        ...


def _tags(emporion_id: str) -> list[dict[str, str]]:
    return [{"Key": "emporion-id", "Value": emporion_id}]


@cache
def _clients(region: str) -> Clients:
    """Return clients that all tests share: reading EC2's service model takes a third of a second."""
    return Clients(region, attempts=2)


@cache
def _client(service: str, region: str) -> Any:
    return _clients(region).of(service)


@dataclass(frozen=True, slots=True)
class _Boto:
    """Makes AWS things from Pulumi's inputs."""

    region: str

    def of(self, service: str) -> Any:
        return _client(service, self.region)

    def ec2(self, operation: str, kind: str, emporion_id: str, **arguments: Any) -> dict[str, Any]:
        tagged = [{"ResourceType": kind, "Tags": _tags(emporion_id)}]
        made: dict[str, Any] = getattr(self.of("ec2"), operation)(TagSpecifications=tagged, **arguments)
        return made


def _vpc(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    made = boto.ec2("create_vpc", "vpc", emporion_id, CidrBlock=inputs["cidrBlock"])
    return str(made["Vpc"]["VpcId"])


def _subnet(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    made = boto.ec2(
        "create_subnet",
        "subnet",
        emporion_id,
        VpcId=inputs["vpcId"],
        CidrBlock=inputs["cidrBlock"],
        AvailabilityZone=inputs["availabilityZone"],
    )
    return str(made["Subnet"]["SubnetId"])


def _internet(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    made = boto.ec2("create_internet_gateway", "internet-gateway", emporion_id)
    gateway = str(made["InternetGateway"]["InternetGatewayId"])
    boto.of("ec2").attach_internet_gateway(InternetGatewayId=gateway, VpcId=inputs["vpcId"])
    return gateway


def _table(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    made = boto.ec2("create_route_table", "route-table", emporion_id, VpcId=inputs["vpcId"])
    return str(made["RouteTable"]["RouteTableId"])


def _route(boto: _Boto, _: str, inputs: Mapping[str, Any]) -> str:
    table, destination = inputs["routeTableId"], inputs["destinationCidrBlock"]
    boto.of("ec2").create_route(RouteTableId=table, DestinationCidrBlock=destination, GatewayId=inputs["gatewayId"])
    return f"r-{table}{crc32(destination.encode())}"


def _association(boto: _Boto, _: str, inputs: Mapping[str, Any]) -> str:
    table, subnet = inputs["routeTableId"], inputs["subnetId"]
    return str(boto.of("ec2").associate_route_table(RouteTableId=table, SubnetId=subnet)["AssociationId"])


def _group(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    made = boto.ec2(
        "create_security_group",
        "security-group",
        emporion_id,
        GroupName=inputs["name"],
        Description=inputs["description"],
        VpcId=inputs["vpcId"],
    )
    return str(made["GroupId"])


def _rule(direction: str) -> Callable[[_Boto, str, Mapping[str, Any]], str]:
    def make(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
        permission: dict[str, Any] = {"IpProtocol": inputs["ipProtocol"]}
        if "fromPort" in inputs:
            permission |= {"FromPort": int(inputs["fromPort"]), "ToPort": int(inputs["toPort"])}
        if "cidrIpv4" in inputs:
            permission["IpRanges"] = [{"CidrIp": inputs["cidrIpv4"]}]
        else:
            permission["UserIdGroupPairs"] = [{"GroupId": inputs["referencedSecurityGroupId"]}]
        made = boto.ec2(
            f"authorize_security_group_{direction}",
            "security-group-rule",
            emporion_id,
            GroupId=inputs["securityGroupId"],
            IpPermissions=[permission],
        )
        return str(made["SecurityGroupRules"][0]["SecurityGroupRuleId"])

    return make


def _template(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    made = boto.ec2(
        "create_launch_template",
        "launch-template",
        emporion_id,
        LaunchTemplateName=inputs["name"],
        LaunchTemplateData={"InstanceType": inputs["instanceType"]},
    )
    return str(made["LaunchTemplate"]["LaunchTemplateId"])


def _bucket(boto: _Boto, _: str, inputs: Mapping[str, Any]) -> str:
    boto.of("s3").create_bucket(Bucket=inputs["bucket"])
    return str(inputs["bucket"])


def _versioning(boto: _Boto, _: str, inputs: Mapping[str, Any]) -> str:
    status = inputs["versioningConfiguration"]["status"]
    boto.of("s3").put_bucket_versioning(Bucket=inputs["bucket"], VersioningConfiguration={"Status": status})
    return str(inputs["bucket"])


def _object(boto: _Boto, _: str, inputs: Mapping[str, Any]) -> str:
    boto.of("s3").put_object(Bucket=inputs["bucket"], Key=inputs["key"], Body=inputs["content"].encode())
    return f"{inputs['bucket']}/{inputs['key']}"


def _role(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    boto.of("iam").create_role(
        RoleName=inputs["name"], AssumeRolePolicyDocument=inputs["assumeRolePolicy"], Tags=_tags(emporion_id)
    )
    return str(inputs["name"])


def _role_policy(boto: _Boto, _: str, inputs: Mapping[str, Any]) -> str:
    boto.of("iam").put_role_policy(RoleName=inputs["role"], PolicyName=inputs["name"], PolicyDocument=inputs["policy"])
    return f"{inputs['role']}:{inputs['name']}"


def _profile(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    iam = boto.of("iam")
    iam.create_instance_profile(InstanceProfileName=inputs["name"], Tags=_tags(emporion_id))
    iam.add_role_to_instance_profile(InstanceProfileName=inputs["name"], RoleName=inputs["role"])
    return str(inputs["name"])


def _queue(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    made = boto.of("sqs").create_queue(QueueName=inputs["name"], tags={"emporion-id": emporion_id})
    return str(made["QueueUrl"])


def _event_rule(boto: _Boto, emporion_id: str, inputs: Mapping[str, Any]) -> str:
    boto.of("events").put_rule(Name=inputs["name"], EventPattern=inputs["eventPattern"], Tags=_tags(emporion_id))
    return str(inputs["name"])


def _event_target(boto: _Boto, _: str, inputs: Mapping[str, Any]) -> str:
    target = {"Id": inputs["targetId"], "Arn": inputs["arn"]}
    boto.of("events").put_targets(Rule=inputs["rule"], Targets=[target])
    return f"{inputs['rule']}-{inputs['targetId']}"


_MAKERS: Mapping[str, Callable[[_Boto, str, Mapping[str, Any]], str]] = {
    "aws:cloudwatch/eventRule:EventRule": _event_rule,
    "aws:cloudwatch/eventTarget:EventTarget": _event_target,
    "aws:ec2/internetGateway:InternetGateway": _internet,
    "aws:ec2/launchTemplate:LaunchTemplate": _template,
    "aws:ec2/route:Route": _route,
    "aws:ec2/routeTable:RouteTable": _table,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _association,
    "aws:ec2/securityGroup:SecurityGroup": _group,
    "aws:ec2/subnet:Subnet": _subnet,
    "aws:ec2/vpc:Vpc": _vpc,
    "aws:iam/instanceProfile:InstanceProfile": _profile,
    "aws:iam/role:Role": _role,
    "aws:iam/rolePolicy:RolePolicy": _role_policy,
    "aws:s3/bucket:Bucket": _bucket,
    "aws:s3/bucketObjectv2:BucketObjectv2": _object,
    "aws:s3/bucketVersioning:BucketVersioning": _versioning,
    "aws:sqs/queue:Queue": _queue,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule("egress"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule("ingress"),
}


class MotoGround:
    """AWS as moto plays it. Only inside `moto.mock_aws`."""

    account = "123456789012"

    def __init__(self, region: str = "us-east-1") -> None:
        self.region = region
        self.boto = _Boto(region)
        self.api: CloudApi = AwsApi(region, clients=_clients(region))

    def make(self, token: str, emporion_id: str, inputs: Mapping[str, Any]) -> str:
        return _MAKERS[token](self.boto, emporion_id, inputs)

    def remove(self, token: str, found: str) -> None:
        if token == "aws:s3/bucket:Bucket":
            self.boto.of("s3").delete_bucket(Bucket=found)
        elif token == "aws:ec2/launchTemplate:LaunchTemplate":
            self.boto.of("ec2").delete_launch_template(LaunchTemplateId=found)
        else:
            raise KeyError(token)

    def run(self, pool: str, *, stack: str = STACK, market: str = "on_demand") -> str:
        tags = [{"Key": "emporion-stack", "Value": stack}, {"Key": "emporion-pool", "Value": pool}]
        spot = {"InstanceMarketOptions": {"MarketType": "spot"}} if market == "spot" else {}
        made = self.boto.of("ec2").run_instances(
            ImageId="ami-12c6146b",
            InstanceType="p4d.24xlarge",
            MinCount=1,
            MaxCount=1,
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
            **spot,
        )
        return str(made["Instances"][0]["InstanceId"])

    def publish(self, purpose: str, arch: str, name_end: str, at: str) -> str:
        query = IMAGES[purpose, arch]
        name = query.name.rstrip("*?") + name_end
        made = self.boto.of("ec2").register_image(Name=name, Architecture=query.arch)
        image = ec2_backends[self.account][self.region].amis[made["ImageId"]]
        image.owner_id, image.creation_date = query.owner, datetime.fromisoformat(at)
        image.architecture = query.arch  # moto forgets it
        return str(made["ImageId"])

    def throttle(self, calls: int) -> None:
        _THROTTLED.left = calls
        events: Any = _clients(self.region).ec2.meta.events
        events.register_first("before-send.ec2", _THROTTLED.answer, "throttled")


@dataclass(slots=True)
class _Throttled:
    """Answers requests before moto does, as EC2 answers when it throttles."""

    left: int = 0

    def answer(self, request: Any, **_: object) -> AWSResponse | None:
        if not self.left:
            return None
        self.left -= 1
        error = "<Error><Code>RequestLimitExceeded</Code><Message>Request limit exceeded.</Message></Error>"
        body = f"<Response><Errors>{error}</Errors><RequestID>r</RequestID></Response>"
        return AWSResponse(request.url, 503, HTTPHeaders(), MockRawResponse(body))


_THROTTLED = _Throttled()


TRUST = json.dumps(
    {
        "Version": "2012-10-17",
        "Statement": [
            {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": ["sts:AssumeRole"]},
        ],
    }
)
"""A trust policy that every ground accepts."""
