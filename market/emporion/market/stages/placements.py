"""Points of a front over stages as placements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from emporion.market.cost_lines import Cost
from emporion.market.graph import Site
from emporion.market.performance import Performance
from emporion.market.placement.candidates import rounded
from emporion.market.placement.front import Vector
from emporion.market.placement.joins import site_links
from emporion.market.placement.model import Placement, SiteLink, StagePart
from emporion.market.stability import Stability
from emporion.market.stages.cost import GraphCost, graph_cost
from emporion.market.stages.graph import Picked, StageGraph
from emporion.market.stages.options import Option
from emporion.market.stages.views import Place

__all__ = ["Placements", "whole_cost"]


@dataclass
class Placements:
    """Makes placements of one graph; what a stage comes to by itself is made once."""

    graph: StageGraph
    _parts: dict[tuple[int, tuple[str, ...]], Placement] = field(default_factory=dict)

    def placement(self, picked: Picked) -> Placement:
        """Return a point of the front as a placement."""
        graph = self.graph
        own = [self._part(stage, option) for stage, option in enumerate(picked.options)]
        gpus = sum(each.gpus for each, view in zip(own, graph.views, strict=True) if view.resources.gpus is not None)
        cost = whole_cost(graph, [each.cost for each in own], [option.place for option in picked.options])
        return Placement(
            pools=tuple(
                replace(pool, stage=name) for name, each in zip(graph.names, own, strict=True) for pool in each.pools
            ),
            vector=picked.vector,
            cost=cost,
            performance=self._slowest(own),
            stability=_together(own),
            gpus=gpus,
            surplus=sum(each.surplus for each in own),
            links=self._links(own),
            deploy_problem=_problem(graph, own),
            stages=tuple(
                StagePart(stage.name, stage.needs, graph.hours[number], each)
                for number, (stage, each) in enumerate(zip(graph.intent.stages, own, strict=True))
            ),
        )

    def _part(self, stage: int, option: Option) -> Placement:
        key = (stage, option.ids)
        if key not in self._parts:
            cost, speed, loss_s = option.label[:3]
            carbon = option.label[3] if self.graph.carbon else 0
            vector = Vector(rounded(cost), 0.0 if speed == float("-inf") else -speed, loss_s, carbon)
            self._parts[key] = self.graph.choices[stage].placement(vector, option.found)
        return self._parts[key]

    def _slowest(self, own: Sequence[Placement]) -> Performance:
        """Return the speed of the slowest stage with GPUs; without any, that of the first stage."""
        with_gpus = [each for each, view in zip(own, self.graph.views, strict=True) if view.resources.gpus is not None]
        return min(with_gpus or own[:1], key=lambda each: each.vector.throughput).performance

    def _links(self, own: Sequence[Placement]) -> tuple[SiteLink, ...]:
        """Return what joins the nodes of each stage, and the sites between which data go."""
        found = [link for each in own for link in each.links]
        for edge in self.graph.edges:
            ends = sorted({own[edge.producer].sites[0], own[edge.consumer].sites[0]}, key=str)
            if len(ends) > 1:
                found += _between(ends, own[edge.producer], own[edge.consumer], self.graph)
        return tuple(dict.fromkeys(found))


def whole_cost(graph: StageGraph, own: Sequence[Cost], places: Sequence[Place]) -> GraphCost:
    """Return the full chain of all stages from the own cost and the place of each, in the order of the stages."""
    between = [edge.line(places[edge.producer], places[edge.consumer]) for edge in graph.edges]
    reads = {need.consumer for need in graph.needs}
    return graph_cost(
        [(name, graph.hours[stage], own[stage], stage in reads) for stage, name in enumerate(graph.names)],
        between,
        sum(each.gpus for each in own),
    )


def _between(ends: Sequence[Site], one: Placement, other: Placement, graph: StageGraph) -> Iterable[SiteLink]:
    """Return the link between two sites alone."""
    offers = [one.pools[0].offer, other.pools[0].offer]
    sites = [one.sites[0], other.sites[0]]
    return [
        link
        for link in site_links(offers, [1, 1], sites, graph.choices[0].graph.link_table)
        if len(link.ends) == len(ends)
    ]


def _together(own: Sequence[Placement]) -> Stability:
    """Return the interruptions of all stages: their rates added, the mean recovery weighted by them."""
    per_day = sum(each.stability.interruptions_per_day for each in own)
    lost = sum(each.stability.interruptions_per_day * each.stability.mean_recovery_s for each in own)
    return Stability(
        per_day,
        lost / per_day if per_day else max(each.stability.mean_recovery_s for each in own),
        min(each.stability.checkpoint_interval_s for each in own),
        any(each.stability.assumed for each in own),
    )


def _problem(graph: StageGraph, own: Sequence[Placement]) -> str | None:
    """Return which stages cannot be stood up and why; None: each has a cluster of its own."""
    problems = [
        f"{name}: {each.deploy_problem}"
        for name, each in zip(graph.names, own, strict=True)
        if each.deploy_problem is not None
    ]
    return "; ".join(problems) or None
