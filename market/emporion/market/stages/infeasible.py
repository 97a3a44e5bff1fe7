"""What to tell when nothing serves an intent with several stages: which stage, where, and the smallest changes."""

from __future__ import annotations

from collections.abc import Sequence

from emporion.market.cost_lines import plain_usd
from emporion.market.errors import ExitCode, UserError
from emporion.market.intent.model import Budget
from emporion.market.placement.candidates import usd
from emporion.market.placement.infeasible import code_of, wish_text
from emporion.market.placement.model import Relaxation
from emporion.market.stages.graph import StageGraph

__all__ = ["graph_error"]


def graph_error(graph: StageGraph, relaxations: Sequence[Relaxation]) -> UserError:
    """Return the error of an infeasible graph of stages."""
    alone = [number for number in range(len(graph.views)) if not graph.serves(number)]
    key = _key(graph, alone, relaxations)
    if alone:
        told = [f"nothing serves stage {graph.names[number]}: {wish_text(graph.views[number])}" for number in alone]
    else:
        told = [f"nothing serves the {len(graph.views)} stages {', '.join(graph.names)} together"]
        told += _cheapest_left(graph)
    hints = [f"{each.change}: {each.after} (${plain_usd(each.total_usd_per_hour)}/hr)" for each in relaxations[:4]]
    return UserError(
        code_of(key.partition("].")[2] or key),
        "; ".join(told),
        graph.intent.where(key),
        "; or ".join(hints) or "ask for another GPU model or number: emporion offers list shows what there is",
        ExitCode.INFEASIBLE,
    )


def _key(graph: StageGraph, alone: Sequence[int], relaxations: Sequence[Relaxation]) -> str:
    """Return the key to blame: the budget where only that keeps all out, else what gives way most cheaply."""
    keys = [key for each in relaxations for key in each.change.split(" + ")]
    if not alone:
        budget = [key for key in keys if key.startswith("cost_control")]
        return next(iter([*budget, *keys]), "constraints.max_carbon" if graph.carbon else "stages")
    own = [key for key in keys if not key.startswith("cost_control")]
    return next(iter(own), f"stages[{alone[0]}].resources")


def _cheapest_left(graph: StageGraph) -> list[str]:
    points = graph.front(by_cost=True, budget=Budget()).points
    if not points:
        return []
    cheapest = min(points, key=lambda each: each.vector.cost)
    return [f"the cheapest left is {plain_usd(usd(cheapest.vector.cost))} USD an hour"]
