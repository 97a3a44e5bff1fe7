"""Compliance rules over facts that pass, with one thing changed; the HIPAA profile is off until it is chosen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emporion.market.facts import AuditLog, Bucket, Disk, Fact, FileSystem, FlowLog, LogGroup, Node, Purchase
from emporion.policies import compliance
from emporion.policies.packs import PACKS, RULES
from emporion.policies.rule import Level, Rule
from emporion.policies.settings import read_settings
from emporion.policies.stack import Stack

CASES: list[tuple[Rule, type[Fact], dict[str, Any], dict[str, Any], list[str]]] = [
    (compliance.approved_regions, Purchase, {}, {"regions": ("eu-west-1",)},
     ["one stands in us-east-1, allowed: eu-west-1"]),
    (compliance.approved_regions, Purchase, {}, {"regions": ("us-east-1",)}, []),
    (compliance.approved_regions, Purchase, {}, {}, []),
    (compliance.approved_providers, Purchase, {}, {"providers": ("gcp",)}, ["one is at aws, allowed: gcp"]),
    (compliance.approved_providers, Purchase, {}, {}, []),
    (compliance.hipaa_disk_own_key, Disk, {"own_key": False}, {}, ["one is not encrypted with a key of your own"]),
    (compliance.hipaa_file_system_own_key, FileSystem, {"own_key": False}, {},
     ["one is not encrypted with a key of your own"]),
    (compliance.hipaa_bucket_own_key, Bucket, {"own_key": False}, {}, ["one is not encrypted with a key of your own"]),
    (compliance.hipaa_log_own_key, LogGroup, {"own_key": False}, {}, ["one is not encrypted with a key of your own"]),
    (compliance.hipaa_bucket_versioned, Bucket, {"versioned": False}, {}, ["one keeps no earlier versions"]),
    (compliance.hipaa_log_retention, LogGroup, {"kept_days": 30}, {}, ["one keeps logs for 30 days, at least: 2190"]),
    (compliance.hipaa_log_retention, LogGroup, {"kept_days": None}, {}, []),
    (compliance.hipaa_no_public_address, Node, {"public_ip": True, "gpus": 0}, {}, ["one has a public address"]),
    (compliance.hipaa_isolated, Node, {"dedicated": False}, {"wanted": True},
     ["one shares its host with other customers"]),
    (compliance.hipaa_isolated, Node, {"dedicated": False}, {}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "kind", "change", "setting", "problems"), CASES, ids=[f"{c[0].name}-{n}" for n, c in enumerate(CASES)]
)
def test_one_change_breaks_or_keeps_a_rule(
    rule: Rule,
    kind: type[Fact],
    change: dict[str, Any],
    setting: dict[str, Any],
    problems: list[str],
    good: Callable[..., Any],
) -> None:
    assert rule(good(kind, **change), **setting) == problems


def test_the_stack_keeps_records_and_names_its_regions(good: Callable[..., Any]) -> None:
    log = good(AuditLog, complete=False, tamper_evident=False)
    assert compliance.hipaa_audit_log(Stack()) == ["the stack has no audit log"]
    assert len(compliance.hipaa_audit_log(Stack((), [log]))) == 2
    assert compliance.hipaa_audit_log(Stack((), [good(AuditLog, complete=True, tamper_evident=True)])) == []
    assert compliance.hipaa_flow_logs(Stack()) == ["the stack records no traffic of its network"]
    assert compliance.hipaa_flow_logs(Stack((), [good(FlowLog)])) == []
    stack = Stack((), [good(Bucket)])
    assert compliance.hipaa_regions_listed(stack) == ["no regions are approved for patient data"]
    assert compliance.hipaa_regions_listed(stack, regions=("us-east-1",)) == []
    assert compliance.hipaa_regions_listed(stack, regions=("eu-west-1",)) == [
        "one lies in us-east-1, approved: eu-west-1"
    ]


def test_every_rule_of_the_pack_is_broken_here() -> None:
    stack_rules = {"hipaa-audit-log", "hipaa-flow-logs", "hipaa-regions-listed"}
    assert {case[0].name for case in CASES if case[4]} | stack_rules == {rule.name for rule in PACKS["compliance"]}


def test_the_profile_is_off_until_it_is_chosen_and_then_mandatory() -> None:
    off, on = read_settings({}, RULES.values()), read_settings({}, RULES.values(), profiles=["hipaa"])
    names = [rule.name for rule in RULES.values() if rule.profile == "hipaa"]
    assert len(names) > 10
    assert {off[name].level for name in names} == {Level.DISABLED}
    assert {on[name].level for name in names} == {Level.MANDATORY}
