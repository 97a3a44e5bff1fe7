"""Warnings of the cloud about the nodes, in a queue of the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from emporion.components.aws.context import Context

__all__ = ["PATTERNS", "build"]

# Detail types as EventBridge sends them (docs.aws.amazon.com/AWSEC2/latest/UserGuide, read 2026-08). An interruption
# warning comes two minutes before the node is taken, one of a capacity block 40 minutes before its end.
PATTERNS: Mapping[str, Mapping[str, list[str]]] = {
    "instances": {
        "source": ["aws.ec2"],
        "detail-type": [
            "EC2 Spot Instance Interruption Warning",
            "EC2 Instance Rebalance Recommendation",
            "EC2 Instance State-change Notification",
            "EC2 Capacity Reservation Instance Interruption Warning",
            "Capacity Block Reservation Delivered",
            "Capacity Block Reservation Expiration Warning",
        ],
    },
    "health": {"source": ["aws.health"], "detail-type": ["AWS Health Event"]},
}
"""Rule -> pattern. They name no instance: EventBridge cannot match by tag, so whoever reads the queue picks its own."""

RETENTION_S = 86_400
"""A day: a warning is worth nothing after the node is gone."""


def build(context: Context) -> aws.sqs.Queue:
    """Make the queue and the rules that fill it."""
    queue = aws.sqs.Queue(
        context.child("events"),
        name=context.physical(aws.sqs.Queue, "events", 80),
        message_retention_seconds=RETENTION_S,
        sqs_managed_sse_enabled=True,
        tags=context.tags(aws.sqs.Queue, "events"),
        opts=context.named(),
    )
    rules = {
        name: aws.cloudwatch.EventRule(
            context.child(f"events-{name}"),
            name=context.physical(aws.cloudwatch.EventRule, f"events-{name}", 64),
            description=f"Emporion: {name} of {context.names.project}/{context.names.stack}",
            event_pattern=json.dumps(pattern),
            tags=context.tags(aws.cloudwatch.EventRule, f"events-{name}"),
            opts=context.named(),
        )
        for name, pattern in PATTERNS.items()
    }
    policy = aws.sqs.QueuePolicy(
        context.child("events-policy"),
        queue_url=queue.url,
        policy=pulumi.Output.all(queue.arn, *(rule.arn for rule in rules.values())).apply(_policy),
        opts=context.options(),
    )
    for name, rule in rules.items():
        aws.cloudwatch.EventTarget(
            context.child(f"events-{name}-target"),
            rule=rule.name,
            arn=queue.arn,
            # Known before it is made, as the cloud's key for it.
            target_id=context.names.id(aws.cloudwatch.EventTarget, context.child(f"events-{name}-target")),
            opts=context.options(depends_on=[policy]),
        )
    return queue


def _policy(arns: list[str]) -> str:
    queue, *rules = arns
    return json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Sid": "Events",
                    "Effect": "Allow",
                    "Principal": {"Service": "events.amazonaws.com"},
                    "Action": ["sqs:SendMessage"],
                    "Resource": [queue],
                    "Condition": {"ArnEquals": {"aws:SourceArn": rules}},
                }
            ],
        }
    )
