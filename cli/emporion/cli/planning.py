"""From an intent to a plan: the catalogue is chosen here, the market decides."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from emporion.cli.context import environment, home, now

if TYPE_CHECKING:
    from emporion.market.intent import Intent
    from emporion.market.money import Rate
    from emporion.market.observed import Observed
    from emporion.market.offers import Catalogue
    from emporion.market.placement.quotas import Quota
    from emporion.market.plan import Plan

__all__ = ["catalogue", "exchange", "known_quotas", "observed", "offers_folder", "plan_or_fail"]


def exchange(rates: tuple[str, ...]) -> Mapping[str, Rate]:
    """Return what `--rate` said, by currency.

    Raises: UserError E-CURRENCY and others: as `parse_rates`.
    """
    from emporion.market.money import parse_rates

    return parse_rates(rates, now().date()) if rates else {}


def offers_folder() -> Path:
    """Return the folder of refreshed and registered offers."""
    return home() / "offers"


def catalogue(offers: Path | None, rates: Mapping[str, Rate] | None = None) -> Catalogue:
    """Return the offers to plan over: those of a CSV file, else the bundled, refreshed and registered ones.

    `-` is standard input. Prices in other currencies are converted by `rates`.

    Raises: UserError: when a file cannot be used.
    """
    from emporion.market.offers import cache_folder, load_csv, load_market

    cache = cache_folder(environment())
    if offers is None:
        return load_market(offers_folder(), cache=cache, rates=rates)
    return load_csv(_STDIN if offers == Path("-") else offers, rates=rates, cache=cache)


_STDIN = Path("/dev/stdin")


def known_quotas(path: Path | None) -> tuple[Quota, ...]:
    """Return the quotas of a file, none without one.

    Raises: UserError E-FILE, E-YAML, E-QUOTA: as `load_quotas`.
    """
    if path is None:
        return ()
    from emporion.market.placement.quota_file import load_quotas

    return load_quotas(path)


def observed(links: Path | None = None) -> Observed:
    """Return what was measured and seen (EMPORION_HOME/links.csv or `links`, EMPORION_HOME/observed/).

    Raises: UserError E-OBSERVED: every problem of a file.
    """
    from emporion.market.observed import load_observed

    return load_observed(home(), links)


def plan_or_fail(intent: Intent, at: datetime) -> Plan:
    """Return the plan of an intent over everything on offer, at a time.

    Raises: UserError (exit 3): when nothing satisfies the intent.
    """
    from emporion.market.clouds import installed_clouds
    from emporion.market.plan import make_plan

    plan = make_plan(intent, catalogue(None), clouds=installed_clouds(), now=at, observed=observed())
    if plan.error is not None:
        raise plan.error
    return plan
