"""Plans for tests: of the bundled market, or of a few rows of a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from emporion.market.clouds import Cloud
from emporion.market.intent import intent_from_flags
from emporion.market.offer import Offer
from emporion.market.offers import Catalogue, load_csv
from emporion.market.plan import Plan, make_plan

__all__ = ["AWS", "INTENTS", "NOW", "cheapest_type", "cloud", "plan_of", "plan_with", "written"]

NOW = datetime(2026, 12, 1, tzinfo=UTC)
INTENTS = Path(__file__).parents[2] / "stacks" / "intents"
_HEAD = (
    "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr,source"
    ",as_of"
)


def cloud(name: str, problem: Callable[[Offer], str | None] = lambda _offer: None) -> Cloud:
    return Cloud(
        name=name,
        plugin=name,
        sdk=name,
        extra=name,
        default_region="",
        cluster="",
        api="",
        stand_in="",
        errors={},
        not_deployable=problem,
        shell_command=lambda _region, _node: (),
    )


AWS = {"aws": cloud("aws")}


def plan_of(catalogue: Catalogue, **flags: object) -> Plan:
    return plan_with(AWS, catalogue, flags)


def plan_with(clouds: Mapping[str, Cloud], catalogue: Catalogue, flags: Mapping[str, object]) -> Plan:
    return make_plan(intent_from_flags(**flags), catalogue, clouds=clouds, now=NOW)


def cheapest_type(plan: Plan) -> str:
    """Return the instance type of the cheapest solution."""
    return plan.solutions[0].pools[0].offer.instance_type


def written(folder: Path, rows: tuple[str, ...], more: str = "") -> Catalogue:
    path = folder / "offers.csv"
    path.write_text("\n".join([_HEAD + more, *rows]) + "\n")
    return load_csv(path)
