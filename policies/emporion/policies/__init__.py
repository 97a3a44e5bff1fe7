"""Policy packs: rules over neutral facts that hold at `pulumi preview` and `up`, and in CI."""

from __future__ import annotations

from emporion.policies.judge import Finding, Verdict, judge
from emporion.policies.rule import Level, Rule, Severity, rule
from emporion.policies.settings import Setting, read_settings
from emporion.policies.stack import Stack

__all__ = ["Finding", "Level", "Rule", "Setting", "Severity", "Stack", "Verdict", "judge", "read_settings", "rule"]
