"""Finding the rest: groups, file systems, queues, event rules, parameters, log groups, keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from emporion.components.aws.api.find import Finder, only, same_document, tags_of
from emporion.components.aws.api.session import Clients, pages, unless_absent
from emporion.market.clouds import Pending
from emporion.market.errors import ExitCode, UserError

__all__ = ["FINDERS"]


def _group(clients: Clients, pending: Pending) -> str | None:
    name: str = pending.inputs["name"]
    groups = clients.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])["AutoScalingGroups"]
    # A group that is being deleted still shows; only then it has a status (DescribeAutoScalingGroups, 2026-11).
    return name if any("Status" not in group for group in groups) else None


def _hook(clients: Clients, pending: Pending) -> str | None:
    name: str = pending.inputs["name"]
    group = pending.inputs["autoscalingGroupName"]
    answer = unless_absent(
        {"ValidationError"},  # the group does not exist
        lambda: clients.autoscaling.describe_lifecycle_hooks(AutoScalingGroupName=group, LifecycleHookNames=[name]),
    )
    return name if answer and answer["LifecycleHooks"] else None


def _file_system(clients: Clients, pending: Pending) -> str | None:
    systems = pages(clients.fsx, "describe_file_systems", "FileSystems")
    ours = [s for s in systems if _is_ours(s, pending) and s.get("Lifecycle") != "DELETING"]
    return only((_working(system, "FileSystemId", clients, pending) for system in ours), pending, clients.region)


def _link(clients: Clients, pending: Pending) -> str | None:
    system = [{"Name": "file-system-id", "Values": [pending.inputs["fileSystemId"]]}]
    links = unless_absent(
        {"FileSystemNotFound"},
        lambda: list(pages(clients.fsx, "describe_data_repository_associations", "Associations", Filters=system)),
    )
    path = pending.inputs["fileSystemPath"]
    ours = [
        link
        for link in links or ()
        if (_is_ours(link, pending) or link.get("FileSystemPath") == path) and link.get("Lifecycle") != "DELETING"
    ]
    return only((_working(link, "AssociationId", clients, pending) for link in ours), pending, clients.region)


def _is_ours(item: Mapping[str, Any], pending: Pending) -> bool:
    return tags_of(item).get("emporion-id") == pending.emporion_id


def _working(item: Mapping[str, Any], key: str, clients: Clients, pending: Pending) -> str:
    """Return the id of an FSx thing. One whose create failed is neither usable nor gone: it must not be adopted."""
    if item.get("Lifecycle") == "FAILED":
        said = (item.get("FailureDetails") or {}).get("Message", "no reason given")
        raise UserError(
            "E-CLOUD",
            f"{item[key]} could not be made: {said}",
            f"aws {clients.region}  {pending.urn.rpartition('::')[2]}",
            f"delete {item[key]} in the FSx console, then run the command again",
            ExitCode.FAILED,
        )
    found: str = item[key]
    return found


def _queue(clients: Clients, pending: Pending) -> str | None:
    absent = {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"}
    answer = unless_absent(absent, lambda: clients.sqs.get_queue_url(QueueName=pending.inputs["name"]))
    return answer["QueueUrl"] if answer else None


def _queue_policy(clients: Clients, pending: Pending) -> str | None:
    url: str = pending.inputs["queueUrl"]
    absent = {"AWS.SimpleQueueService.NonExistentQueue", "QueueDoesNotExist"}
    answer = unless_absent(
        absent, lambda: clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"]).get("Attributes", {})
    )
    policy = (answer or {}).get("Policy")
    return url if policy and same_document(policy, pending.inputs["policy"]) else None


_DEFAULT_BUS = "default"
_NO_RULE = frozenset({"ResourceNotFoundException"})


def _event_rule(clients: Clients, pending: Pending) -> str | None:
    """Return `RULE`, or `BUS/RULE` on another bus than the default one."""
    name, bus = pending.inputs["name"], pending.inputs.get("eventBusName") or _DEFAULT_BUS
    found = unless_absent(_NO_RULE, lambda: clients.events.describe_rule(Name=name, EventBusName=bus))
    if not found:
        return None
    return str(name) if bus == _DEFAULT_BUS else f"{bus}/{name}"


def _event_target(clients: Clients, pending: Pending) -> str | None:
    """Return `RULE-TARGET`, or `BUS-RULE-TARGET` on another bus than the default one."""
    rule, bus = pending.inputs["rule"], pending.inputs.get("eventBusName") or _DEFAULT_BUS
    targets = unless_absent(
        _NO_RULE, lambda: list(pages(clients.events, "list_targets_by_rule", "Targets", Rule=rule, EventBusName=bus))
    )
    key, wanted = ("Id", pending.inputs["targetId"]) if "targetId" in pending.inputs else ("Arn", pending.inputs["arn"])
    prefix = rule if bus == _DEFAULT_BUS else f"{bus}-{rule}"
    ours = (f"{prefix}-{target['Id']}" for target in targets or () if target[key] == wanted)
    return only(ours, pending, clients.region)


def _parameter(clients: Clients, pending: Pending) -> str | None:
    """Return the parameter's name. Its value, which may be secret, is not read."""
    name: str = pending.inputs["name"]
    by_name = [{"Key": "Name", "Option": "Equals", "Values": [name]}]
    return name if any(pages(clients.ssm, "describe_parameters", "Parameters", ParameterFilters=by_name)) else None


def _log_group(clients: Clients, pending: Pending) -> str | None:
    name: str = pending.inputs["name"]
    groups = pages(clients.logs, "describe_log_groups", "logGroups", logGroupNamePrefix=name)
    return name if any(group["logGroupName"] == name for group in groups) else None


def _key(clients: Clients, pending: Pending) -> str | None:
    tagged = pages(
        clients.tagging,
        "get_resources",
        "ResourceTagMappingList",
        TagFilters=[{"Key": "emporion-id", "Values": [pending.emporion_id]}],
        ResourceTypeFilters=["kms:key"],
    )
    ids = [item["ResourceARN"].rpartition("/")[2] for item in tagged]
    alive = (key for key in ids if _is_usable_key(clients, key))
    return only(alive, pending, clients.region)


def _is_usable_key(clients: Clients, key: str) -> bool:
    answer = unless_absent({"NotFoundException"}, lambda: clients.kms.describe_key(KeyId=key))
    return answer is not None and answer["KeyMetadata"]["KeyState"] != "PendingDeletion"


def _alias(clients: Clients, pending: Pending) -> str | None:
    name: str = pending.inputs["name"]
    return name if any(alias["AliasName"] == name for alias in pages(clients.kms, "list_aliases", "Aliases")) else None


FINDERS: Mapping[str, Finder] = {
    "aws:autoscaling/group:Group": _group,
    "aws:autoscaling/lifecycleHook:LifecycleHook": _hook,
    "aws:cloudwatch/eventRule:EventRule": _event_rule,
    "aws:cloudwatch/eventTarget:EventTarget": _event_target,
    "aws:cloudwatch/logGroup:LogGroup": _log_group,
    "aws:fsx/dataRepositoryAssociation:DataRepositoryAssociation": _link,
    "aws:fsx/lustreFileSystem:LustreFileSystem": _file_system,
    "aws:kms/alias:Alias": _alias,
    "aws:kms/key:Key": _key,
    "aws:sqs/queue:Queue": _queue,
    "aws:sqs/queuePolicy:QueuePolicy": _queue_policy,
    "aws:ssm/parameter:Parameter": _parameter,
}
"""Type token -> how to find it."""
