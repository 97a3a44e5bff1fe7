"""A pack as the engine starts it: reads what the engine put into its environment, and the day."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from typing import Any

from emporion.market.clouds import fact_sources
from emporion.policies.packs import PACKS, PROFILES
from emporion.policies.review import Review
from emporion.policies.rule import Rule
from emporion.policies.server import Servicer, serve
from emporion.policies.settings import read_settings

__all__ = ["run", "run_rules", "stack_profiles"]

COMPLIANCE = "emporion:compliance"
"""The stack's configuration key that chooses a profile."""


CHOSEN = "EMPORION_COMPLIANCE"
"""The variable by which `emporion policy check --profile` chooses one."""


def run(pack: str, environ: Mapping[str, str], today: date) -> None:
    """Serve a bundled pack to the engine until it ends the process."""
    run_rules(f"emporion-{pack}", PACKS[pack], environ, today)


def run_rules(name: str, rules: Sequence[Rule], environ: Mapping[str, str], today: date) -> None:
    """Serve a pack of rules to the engine until it ends the process."""
    profiles = stack_profiles(environ)
    sources = tuple(fact_sources().values())

    def open_review(configuration: Mapping[str, Any]) -> Review:
        settings = read_settings(configuration, rules, profiles=profiles, where="--policy-pack-config")
        return Review(rules, settings, sources, today=today)

    serve(Servicer(name, version("emporion"), rules, open_review))


def stack_profiles(environ: Mapping[str, str]) -> frozenset[str]:
    """Return the compliance profiles that the stack's configuration, or who started it, chooses."""
    config = json.loads(environ.get("PULUMI_CONFIG") or "{}") or {}
    chosen = f"{config.get(COMPLIANCE, '')} {environ.get(CHOSEN, '')}".replace(",", " ").split()
    return frozenset(chosen) & frozenset(PROFILES)
