"""The permissions that SECURITY.md promises, against AWS's own service models, the finders and the cluster's types."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import botocore.session
import pytest
from grounds import MotoGround, pending
from moto import mock_aws

from emporion.components import aws as aws_room
from emporion.components.aws import permissions
from emporion.components.aws.api import AwsApi
from emporion.components.aws.api.session import Clients

REPO = Path(__file__).parents[2]
SERVICES = {"servicequotas": "service-quotas", "tag": "resourcegroupstaggingapi"}
NOT_CALLS = {
    # Actions that are no operation of their service (AWS service authorization reference, 2026-11).
    "iam:PassRole",
    "s3:DeleteObjectVersion",
    "s3:GetAccelerateConfiguration",
    "s3:GetBucketCORS",
    "s3:GetBucketObjectLockConfiguration",
    "s3:GetBucketPublicAccessBlock",
    "s3:GetEncryptionConfiguration",
    "s3:GetLifecycleConfiguration",
    "s3:GetReplicationConfiguration",
    "s3:ListBucket",
    "s3:ListBucketVersions",
    "s3:PutBucketObjectLockConfiguration",
    "s3:PutBucketPublicAccessBlock",
    "s3:PutEncryptionConfiguration",
    "s3:PutLifecycleConfiguration",
}
ACTION_OF = {
    # Operation -> the action that allows it, where the names differ.
    "s3:GetBucketEncryption": "s3:GetEncryptionConfiguration",
    "s3:GetBucketLifecycleConfiguration": "s3:GetLifecycleConfiguration",
    "s3:GetObjectLockConfiguration": "s3:GetBucketObjectLockConfiguration",
    "s3:GetPublicAccessBlock": "s3:GetBucketPublicAccessBlock",
    "s3:HeadBucket": "s3:ListBucket",
    "s3:HeadObject": "s3:GetObject",
}
EVERY = sorted({action for actions in permissions.COMMANDS.values() for action in actions})


@pytest.fixture(scope="module")
def operations() -> dict[str, frozenset[str]]:
    session = botocore.session.get_session()
    services = {action.partition(":")[0] for action in EVERY}
    return {
        service: frozenset(session.get_service_model(SERVICES.get(service, service)).operation_names)
        for service in services
    }


def test_every_action_exists_and_none_has_a_wildcard(operations: dict[str, frozenset[str]]) -> None:
    for action in EVERY:
        service, _, name = action.partition(":")
        assert re.fullmatch(r"[a-z0-9]+:[A-Za-z]+", action)
        assert (action in NOT_CALLS) != (name in operations[service]), action


def test_every_type_that_the_cluster_makes_has_its_rights() -> None:
    calls = re.compile(r"aws\.(\w+)\.([A-Z]\w+)\(")
    made: set[str] = set()
    for path in Path(aws_room.__file__).parent.glob("*.py"):
        for module, name in calls.findall(path.read_text(encoding="utf-8")):
            if not name.endswith("Args"):
                made.add(f"aws:{module}/{name[0].lower()}{name[1:]}:{name}")
    assert len(made) > 20
    assert made - set(permissions.RIGHTS) == set()


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[AwsApi, set[str], MotoGround]]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    clients = Clients("us-east-1", attempts=1)
    seen: set[str] = set()
    prefixes = {service: prefix for prefix, service in SERVICES.items()}

    def note(model: botocore.model.OperationModel, **_: object) -> None:
        service = model.service_model.service_name
        operation = f"{prefixes.get(service, service)}:{model.name}"
        seen.add(ACTION_OF.get(operation, operation))

    clients.session.events.register("before-call", note)
    with mock_aws():
        yield AwsApi("us-east-1", clients=clients), seen, MotoGround()


def test_the_api_calls_nothing_that_is_not_in_the_table(called: tuple[AwsApi, set[str], MotoGround]) -> None:
    api, seen, ground = called
    node = ground.run("gpu-0")
    ground.publish("gpu", "x86_64", "20261102", "2026-11-02T00:00:00.000Z")
    calls: dict[str, Callable[[], object]] = {
        "account": api.account,
        "zones": api.zones,
        "nodes": lambda: api.nodes("emporion", "conformance"),
        "quota": lambda: api.quota("p4d.24xlarge", "spot"),
        "image": lambda: api.image("gpu", "x86_64"),
        "notices": lambda: api.notices(node),
        "terminate": lambda: api.terminate(node),
    }
    assert set(calls) == set(permissions.LOOKS)
    for method, call in calls.items():
        seen.clear()
        call()
        assert seen, method
        assert seen <= set(permissions.LOOKS[method]), method


@pytest.mark.parametrize(
    ("token", "inputs"),
    [
        ("aws:autoscaling/group:Group", {"name": "g"}),
        ("aws:autoscaling/lifecycleHook:LifecycleHook", {"autoscalingGroupName": "g", "name": "h"}),
        ("aws:cloudwatch/eventRule:EventRule", {"name": "r"}),
        ("aws:cloudwatch/eventTarget:EventTarget", {"rule": "r", "arn": "a"}),
        ("aws:cloudwatch/logGroup:LogGroup", {"name": "/l"}),
        ("aws:ec2/routeTableAssociation:RouteTableAssociation", {"routeTableId": "rtb-1", "subnetId": "subnet-1"}),
        ("aws:ec2/vpc:Vpc", {}),
        ("aws:fsx/lustreFileSystem:LustreFileSystem", {}),
        ("aws:iam/policy:Policy", {"name": "p"}),
        ("aws:iam/rolePolicyAttachment:RolePolicyAttachment", {"role": "r", "policyArn": "a" * 20}),
        ("aws:kms/alias:Alias", {"name": "alias/k"}),
        ("aws:kms/key:Key", {}),
        ("aws:s3/bucket:Bucket", {"bucket": "bucket-1"}),
        ("aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration", {"bucket": "bucket-1"}),
        ("aws:s3/bucketObjectv2:BucketObjectv2", {"bucket": "bucket-1", "key": "k"}),
        ("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock", {"bucket": "bucket-1"}),
        ("aws:sqs/queue:Queue", {"name": "q"}),
        ("aws:ssm/parameter:Parameter", {"name": "/p"}),
    ],
)
def test_a_finder_calls_nothing_that_is_not_in_the_table(
    called: tuple[AwsApi, set[str], MotoGround], token: str, inputs: dict[str, str]
) -> None:
    api, seen, _ = called
    assert api.find(pending(token, "0" * 20, inputs)) is None
    assert seen
    assert seen <= {action for actions in permissions.FINDS.values() for action in actions}


def test_commands_that_only_look_change_nothing() -> None:
    changing = {
        action
        for rights in permissions.RIGHTS.values()
        for action in (*rights.change, *rights.remove)
        if not re.match(r"\w+:(Describe|Get|List)", action)
    }
    for command in ("offers refresh", "plan", "preview", "refresh", "recover", "status"):
        assert set(permissions.actions(command)) & changing == set(), command


def test_security_md_lists_the_actions_of_each_command() -> None:
    text = (REPO / "SECURITY.md").read_text(encoding="utf-8")
    for command in permissions.COMMANDS:
        section = text.split(f"\n### `{command}` on AWS\n", 1)[1].split("\n#", 1)[0]
        lines = re.findall(r"^- ([a-z0-9]+): (.+)$", section, re.MULTILINE)
        listed = {f"{service}:{name}" for service, names in lines for name in names.split(", ")}
        assert listed == set(permissions.actions(command)), command


def test_the_table_is_only_data() -> None:
    tree = ast.parse(Path(permissions.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules == {"__future__", "collections.abc", "dataclasses", "itertools"}
