"""The full chain of a graph of stages: every line names the stage that causes it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal

from emporion.market.cost_lines import Cost, CostLine

__all__ = ["GraphCost", "graph_cost"]


@dataclass(frozen=True, slots=True)
class GraphCost(Cost):
    """The full chain of all stages at once; the run pays each stage for its own hours."""

    stage_hours: tuple[tuple[str, Decimal | None], ...] = ()

    @property
    def judged(self) -> Decimal:
        """What a budget is tested against: of each stage and each need the upper total where there is one."""
        return sum((part.judged for _, part in self._parts()), Decimal(0))

    @property
    def run_total(self) -> Decimal | None:
        """The exact sum of what each stage, and the data it reads, costs over its hours; None when some are unknown."""
        return self._over_hours((hours, part.total) for hours, part in self._parts())

    @property
    def run_judged(self) -> Decimal | None:
        """What a budget for the run is tested against; None when some hours are unknown."""
        return self._over_hours((hours, part.judged) for hours, part in self._parts())

    def _over_hours(self, parts: Iterable[tuple[Decimal | None, Decimal]]) -> Decimal | None:
        if any(hours is None for _, hours in self.stage_hours):
            return None
        return sum((usd * (hours or 0) for hours, usd in parts), Decimal(0))

    def _parts(self) -> list[tuple[Decimal | None, Cost]]:
        """Return the hours and the lines of each stage, and of each need by itself."""
        hours = dict(self.stage_hours)
        between = {f"data from {name}" for name in hours}
        lines: dict[tuple[str | None, str], list[CostLine]] = {}
        for line in self.lines:
            apart = line.item if line.part == "transfer" and line.item in between else ""
            lines.setdefault((line.stage, apart), []).append(line)
        return [(hours.get(stage or ""), Cost(tuple(each), 0, None)) for (stage, _), each in lines.items()]


def graph_cost(
    stages: Iterable[tuple[str, Decimal | None, Cost, bool]], between: Iterable[CostLine], gpus: int
) -> GraphCost:
    """Return the cost of stages (name, hours, own cost, whether it reads another stage's data) and what is between."""
    lines: list[CostLine] = []
    hours: list[tuple[str, Decimal | None]] = []
    moved = list(between)
    for name, length, cost, reads in stages:
        hours.append((name, length))
        own = [replace(line, stage=name) for line in cost.lines if not (reads and _names_no_data(line))]
        lines += own
        lines += [line for line in moved if line.stage == name]
    known = [length for _, length in hours if length is not None]
    whole = sum(known, Decimal(0)) if len(known) == len(hours) else None
    return GraphCost(tuple(lines), gpus, whole, tuple(hours))


def _names_no_data(line: CostLine) -> bool:
    """Return whether a line says that the intent names no data: a stage that reads another's has some."""
    return line.part == "transfer" and line.item == "data transfer" and line.usd_per_hour is None
