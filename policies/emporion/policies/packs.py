"""The packs: one module of rules each, and all of them together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType, ModuleType

from emporion.policies import compliance, cost, security, spot
from emporion.policies.rule import Rule

__all__ = ["ALL", "PACKS", "PROFILES", "RULES", "pack_folder", "pack_of"]

ALL = "all"


def _rules(module: ModuleType) -> tuple[Rule, ...]:
    """Return the rules that a module defines, in the order in which they stand."""
    return tuple(value for value in vars(module).values() if isinstance(value, Rule))


_MODULES = {module.__name__.rpartition(".")[2]: _rules(module) for module in (cost, spot, security, compliance)}
PACKS: Mapping[str, tuple[Rule, ...]] = MappingProxyType(
    {**_MODULES, ALL: tuple(rule for rules in _MODULES.values() for rule in rules)}
)
"""Name -> its rules."""
RULES: Mapping[str, Rule] = MappingProxyType({rule.name: rule for rule in PACKS[ALL]})
PROFILES = tuple(sorted({rule.profile for rule in PACKS[ALL] if rule.profile is not None}))
"""Compliance profiles that can be chosen."""


def pack_folder(name: str) -> Path:
    """Return the folder of a pack, as `pulumi preview --policy-pack` takes it."""
    return Path(__file__).with_name("templates") / "packs" / name


def pack_of(rule: Rule) -> str:
    """Return the name of the pack that a rule belongs to."""
    return next(name for name, rules in _MODULES.items() if rule in rules)
