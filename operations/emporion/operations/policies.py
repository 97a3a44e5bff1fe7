"""Policy packs in the life of a stack: which run, how they are configured, what they found."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

from emporion.market.cost_lines import HOURS_PER_MONTH
from emporion.market.errors import ExitCode, UserError
from emporion.market.files import write_whole
from emporion.market.pin import PinnedPlacement
from emporion.operations.project import Project
from emporion.operations.pulumi import Outcome
from emporion.policies.judge import Verdict
from emporion.policies.packs import ALL, PACKS, PROFILES, pack_folder
from emporion.policies.report import Told, from_event
from emporion.policies.rule import Level
from emporion.policies.settings import LEVEL, read_settings

__all__ = ["CONFIG_NAME", "pack_arguments", "policy_problem", "read_config", "told", "with_placement", "write_config"]

CONFIG_NAME = "policies.json"
"""The file of a project, beside its Pulumi.yaml; `pulumi preview --policy-pack-config` takes the same."""
RENEW = "spot-auto-renew"


def read_config(project: Project | None, given: Path | None = None) -> dict[str, Any]:
    """Return the configuration of the rules: of a file that is `given`, else the project's, if there is one.

    Raises: UserError E-POLICY-CONFIG: when it is no JSON or not what the rules take.
    """
    path = given or (project.directory / CONFIG_NAME if project is not None else None)
    if path is None:
        return {}
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if given is None:
            return {}
        raise UserError("E-POLICY-CONFIG", f"{path} does not exist", str(path), "name an existing file") from None
    except (OSError, ValueError) as error:
        raise UserError(
            "E-POLICY-CONFIG",
            f"{path.name} is no JSON: {error}",
            str(path),
            "mend it; emporion policy list shows rules",
        ) from error
    read_settings(document, PACKS[ALL], profiles=PROFILES, where=str(path))
    return dict(document)


def write_config(project: Project, config: Mapping[str, Any]) -> None:
    """Write the project's configuration of the rules, whole or not at all."""
    path = project.directory / CONFIG_NAME
    try:
        write_whole(path, json.dumps(config, indent=2, ensure_ascii=False) + "\n")
    except OSError as error:
        raise UserError(
            "E-WRITE", f"{path.name} cannot be written: {error.strerror}", str(path), "free space or mend permissions"
        ) from error


def with_placement(config: Mapping[str, Any], placement: PinnedPlacement) -> dict[str, Any]:
    """Return a configuration that knows what the pinned intent allows by itself: a spot fallback within its budget."""
    allowed: dict[str, Any] = {"spot_fallback": placement.spot_fallback == "true"}
    budget = _hourly_budget(placement)
    if budget is not None:
        allowed["max_usd_per_hour"] = format(budget, "f")
    own = config.get(RENEW, {})
    own = own if isinstance(own, Mapping) else {LEVEL: own}
    return {**config, RENEW: {**allowed, **own}}


def _hourly_budget(placement: PinnedPlacement) -> Decimal | None:
    """Return the tightest of the intent's budgets per span, as USD an hour; None: it has none."""
    budget = placement.intent.get("budget") or {}
    gpus = sum(pool.count * pool.gpus_per_node for pool in placement.pools)
    found = []
    for key, hours in (("max_hourly", 1), ("max_daily", 24), ("max_monthly", HOURS_PER_MONTH)):
        for name, times in ((f"{key}_usd", 1), (f"{key}_usd_per_gpu", gpus)):
            if budget.get(name) is not None:
                found.append(Decimal(budget[name]) * times / hours)
    return min(found, default=None)


@contextmanager
def pack_arguments(config: Mapping[str, Any], pack: str = ALL) -> Iterator[Sequence[str]]:
    """Give the arguments with which `pulumi preview` and `up` run a pack."""
    with tempfile.TemporaryDirectory(prefix="emporion-") as folder:
        path = Path(folder) / CONFIG_NAME
        rules = {rule.name for rule in PACKS[pack]}
        mine = {name: setting for name, setting in config.items() if name in rules or name == "all"}
        path.write_text(json.dumps(mine), encoding="utf-8")
        yield ("--policy-pack", str(pack_folder(pack)), "--policy-pack-config", str(path))


def told(outcome: Outcome, config: Mapping[str, Any], profiles: Sequence[str] = ()) -> list[Told]:
    """Return what the packs found in an operation, what stops it first."""
    settings = read_settings(config, PACKS[ALL], profiles=profiles)
    levels: dict[str, Level] = {name: setting.level for name, setting in settings.items()}
    found = {from_event(event, levels) for event in outcome.policies}
    return sorted(found, key=lambda one: one.order)


def policy_problem(found: Sequence[Told], stack: str, operation: str) -> UserError | None:
    """Return why the packs stop an operation; None: they do not."""
    stopping = [one for one in found if one.stops and one.verdict is not Verdict.UNKNOWN]
    if not stopping:
        return None
    first = stopping[0]
    more = f", and {len(stopping) - 1} more" if len(stopping) > 1 else ""
    made = (
        f"; what was made before stands: emporion down {stack} rolls it back, emporion up {stack} goes on"
        if operation == "up"
        else ""
    )
    return UserError(
        "E-POLICY",
        f"{first.rule}: {first.message}{more}",
        first.urn.split("::", 2)[-1] or stack,
        f"{first.fix}{made}; emporion policy explain {first.rule} tells how to configure or exempt it",
        ExitCode.INFEASIBLE,
    )
