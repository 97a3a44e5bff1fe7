"""Stand-in rules of EventBridge, SQS and CloudWatch Logs. Shapes: facts/clusters.md section 5.1, with its sources."""

from __future__ import annotations

from collections.abc import Mapping

from emporion.components.aws import stand_in_checks as checks
from emporion.market.stand_in import InUse, Making, Reference, Refusal, TypeRule

__all__ = ["EVENTS"]

_RULE, _TARGET = "aws:cloudwatch/eventRule:EventRule", "aws:cloudwatch/eventTarget:EventTarget"
_LOGS, _QUEUE, _QUEUE_POLICY = (
    "aws:cloudwatch/logGroup:LogGroup",
    "aws:sqs/queue:Queue",
    "aws:sqs/queuePolicy:QueuePolicy",
)


def _event_rule_id(making: Making) -> str:
    bus = making.inputs.get("eventBusName") or "default"
    return str(making.inputs["name"]) if bus == "default" else f"{bus}/{making.inputs['name']}"


EVENTS: Mapping[str, TypeRule] = {
    _RULE: TypeRule(
        "EventBridge Rule",
        "EventBridge:Rule",
        _event_rule_id,
        named="name",
        name_limit=64,
        prefix="namePrefix",
        put=True,
        outputs={"arn": "arn:aws:events:{region}:{account}:rule/{name}"},
        defaults={"eventBusName": "default", "forceDestroy": False, "state": "ENABLED"},
        replace=frozenset({"name", "namePrefix", "eventBusName"}),
        validate=(checks.name_length("name", 64),),
        in_use=(
            InUse(
                _TARGET,
                "rule",
                "ValidationException",
                "Rule can't be deleted since it has targets.",
                key="name",
                unless="forceDestroy",
            ),
        ),
    ),
    _TARGET: TypeRule(
        "EventBridge Target",
        "EventBridge:Targets",
        "{rule}-{targetId}",
        named="targetId",
        name_limit=64,
        put=True,
        defaults={"eventBusName": "default", "forceDestroy": False},
        replace=frozenset({"rule", "targetId", "eventBusName"}),
        references=(
            Reference(
                "rule",
                (_RULE,),
                "ResourceNotFoundException",
                "Rule {value} does not exist on EventBus default.",
                key="name",
            ),
        ),
        import_id="{rule}/{targetId}",
    ),
    _LOGS: TypeRule(
        "CloudWatch Logs Log Group",
        "CloudWatch Logs:LogGroup",
        "{name}",
        named="name",
        name_limit=512,
        prefix="namePrefix",
        outputs={"arn": "arn:aws:logs:{region}:{account}:log-group:{name}"},
        defaults={"retentionInDays": 0, "skipDestroy": False},
        fills={"logGroupClass": "STANDARD"},
        replace=frozenset({"name", "namePrefix", "logGroupClass"}),
        exists=Refusal("ResourceAlreadyExistsException", "The specified log group already exists"),
    ),
    _QUEUE: TypeRule(
        "SQS Queue",
        "SQS:Queue",
        "https://sqs.{region}.amazonaws.com/{account}/{name}",
        named="name",
        name_limit=80,
        prefix="namePrefix",
        outputs={"arn": "arn:aws:sqs:{region}:{account}:{name}", "url": "{id}"},
        defaults={
            "delaySeconds": 0,
            "fifoQueue": False,
            "maxMessageSize": 262144,
            "messageRetentionSeconds": 345600,
            "receiveWaitTimeSeconds": 0,
            "visibilityTimeoutSeconds": 30,
        },
        fills={"sqsManagedSseEnabled": True},
        replace=frozenset({"name", "namePrefix", "fifoQueue"}),
        validate=(checks.name_length("name", 80, "InvalidParameterValue"),),
        exists=Refusal(
            "QueueAlreadyExists", "A queue already exists with the same name and a different value for attribute"
        ),
        gone_with=((_QUEUE_POLICY, "queueUrl"),),
    ),
    _QUEUE_POLICY: TypeRule(
        "SQS Queue Policy",
        "SQS:QueueAttributes",
        "{queueUrl}",
        put=True,
        replace=frozenset({"queueUrl"}),
        references=(
            Reference(
                "queueUrl", (_QUEUE,), "AWS.SimpleQueueService.NonExistentQueue", "The specified queue does not exist."
            ),
        ),
        validate=(checks.policy_document("policy", "InvalidAttributeValue"),),
    ),
}
