"""A scenario: what a world is to be like, as a YAML file, checked as a whole before any of it is applied."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emporion.localcloud.capacity import set_capacity, set_quota
from emporion.localcloud.fault_reading import fault_kind, read_fault
from emporion.localcloud.faults import add_fault
from emporion.localcloud.model_kinds import MODELS
from emporion.localcloud.models import set_model
from emporion.localcloud.places import check_region, check_zone, plugin_of
from emporion.localcloud.prices import load_history
from emporion.localcloud.scenario_keys import ROOT
from emporion.localcloud.time_control import move_to, set_rate
from emporion.localcloud.world import World
from emporion.market.errors import UserError, UserErrors
from emporion.market.intent.document import DocumentKind, read_document
from emporion.market.intent.read import Reading
from emporion.market.intent.schema import section_schema
from emporion.market.intent.tree import Problems

__all__ = ["Scenario", "apply", "load_scenario", "scenario_schema"]

_KIND = DocumentKind("a scenario", "faults: [{kind: region-outage, provider: aws, region: us-east-1}]")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that can be applied to any world."""

    name: str
    seed: str | None
    """What chance follows from; None: the world's own name."""
    moment_s: float | None
    rate: float | None
    models: Mapping[str, str]
    """What the world models, by name."""
    price_history: Path | None
    capacity: tuple[Mapping[str, Any], ...]
    quotas: tuple[Mapping[str, Any], ...]
    faults: tuple[Mapping[str, Any], ...]


def scenario_schema() -> dict[str, Any]:
    """Return the JSON Schema (2020-12) of a scenario file, every key with its description."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "emporion scenario",
        **section_schema(ROOT),
    }


def load_scenario(path: Path) -> Scenario:
    """Return the scenario of a YAML file.

    Raises: UserError E-FILE, E-YAML: when it cannot be read; else every problem of it at once, with its line.
    """
    problems = Problems(str(path))
    reading = Reading(problems, root=ROOT)
    values = reading.section(read_document(path, problems, _KIND), ROOT)
    places = _read_list(reading, values, "capacity", _place)
    quotas = _read_list(reading, values, "quotas", _place)
    faults = _read_list(reading, values, "faults", _fault)
    if problems.found:
        raise UserErrors.of(sorted(problems.found, key=lambda error: _line(error, str(path))))
    clock = values.get("clock", {})
    return Scenario(
        values.get("name", path.stem),
        values.get("seed"),
        clock.get("now"),
        clock.get("rate"),
        {name: values[name] for name in MODELS if name in values},
        path.parent / values["price_history"] if "price_history" in values else None,
        tuple(places),
        tuple(quotas),
        tuple(faults),
    )


def apply(world: World, scenario: Scenario) -> None:
    """Make a world as a scenario says: all of it or, when it cannot be, none. What it does not name stays.

    Raises: UserError E-CLOCK: when its moment is past in this world; E-PRICES: when its prices cannot be read.
    """
    with world.transaction():
        if scenario.seed is not None:
            world.set_seed(scenario.seed)
        if scenario.moment_s is not None:
            move_to(world, scenario.moment_s)
        if scenario.rate is not None:
            set_rate(world, scenario.rate)
        for name, value in scenario.models.items():
            set_model(world, name, value)
        if scenario.price_history is not None:
            load_history(world, scenario.price_history)
        for row in scenario.capacity:
            set_capacity(world, row["provider"], row["region"], row["instance_type"], row["machines"], zone=row["zone"])
        for row in scenario.quotas:
            set_quota(
                world, row["provider"], row["region"], row["instance_type"], row["machines"], market=row["market"]
            )
        for row in scenario.faults:
            add_fault(world, **row)


def _read_list(
    reading: Reading, values: Mapping[str, Any], name: str, read: Callable[[Mapping[str, Any]], dict[str, Any]]
) -> Iterable[dict[str, Any]]:
    """Return the items of a list as the world takes them; what is wrong with one is noted with its line."""
    found = []
    for index, item in enumerate(values.get(name, ())):
        written = (place for place in reading.places if place.startswith(f"{name}[{index}]."))
        if any(place.rpartition(".")[2] not in item for place in written):
            continue  # a value of it could not be read, which is said already
        try:
            found.append(read(item))
        except UserError as error:
            for one in error.problems():
                reading.fail(one, f"{name}[{index}]")
    return found


def _place(item: Mapping[str, Any]) -> dict[str, Any]:
    if "machines" not in item:
        raise UserError("E-MISSING", "how many machines there are is missing", None, "write machines: 4, or none")
    row = {"provider": "*", "region": "*", "zone": "*", "instance_type": "*", "market": "*", **item}
    plugin = plugin_of(row["provider"])
    check_region(row["provider"], row["region"])
    check_zone(row["provider"], row["region"], row["zone"])
    return {**row, "provider": plugin}


def _fault(item: Mapping[str, Any]) -> dict[str, Any]:
    if "kind" not in item:
        raise UserError("E-MISSING", "the kind of the fault is missing", None, "write kind: throttle")
    said = {name: value for name, value in item.items() if name != "kind"}
    return read_fault(fault_kind(item["kind"]), said)


def _line(error: UserError, source: str) -> int:
    match = re.match(r":([0-9]+)", (error.where or "").removeprefix(source))
    return int(match[1]) if match else 0
