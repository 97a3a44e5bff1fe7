"""Stages with their fronts by place: what can be left out of each, and leaves folded into their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from emporion.market.stages.labels import Label, Labels, Merger, front_of, moved, useful
from emporion.market.stages.tolls import Edge, Tolls
from emporion.market.stages.views import Place

__all__ = ["Fold", "Fronts"]

Fronts = dict[Place, Labels]
"""The front of one stage by place."""


@dataclass
class Fold:
    """Stages that are left, with their fronts by place, and the edges between them."""

    fronts: list[Fronts]
    edges: list[Edge]
    tolls: Tolls
    merger: Merger
    where: str = "stages"
    """Where the intent says them, for messages."""
    left: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.left = set(range(len(self.fronts)))

    def edges_of(self, stage: int) -> list[Edge]:
        """Return the edges of a stage."""
        return [edge for edge in self.edges if stage in {edge.producer, edge.consumer}]

    def neighbours(self, part: Sequence[int]) -> dict[int, set[int]]:
        """Return the neighbours of each of some stages."""
        found: dict[int, set[int]] = {stage: set() for stage in part}
        for edge in self.edges:
            if edge.producer in found:
                found[edge.producer].add(edge.consumer)
                found[edge.consumer].add(edge.producer)
        return found

    def fold(self) -> None:
        """Fold every stage with one neighbour into it, until there is none."""
        while True:
            leaf = next((one for one in sorted(self.left) if len(self.edges_of(one)) == 1), None)
            if leaf is None:
                return
            (edge,) = self.edges_of(leaf)
            self._fold(leaf, edge)
            self.edges.remove(edge)
            self.left.discard(leaf)

    def _fold(self, leaf: int, edge: Edge) -> None:
        into = edge.consumer if edge.producer == leaf else edge.producer
        merger, group = self.merger, self.tolls.group
        far = self.by_group(self.fronts[leaf])
        anywhere: dict[int, Labels] = {}
        folded: Fronts = {}
        for place, labels in self.fronts[into].items():
            here = group[place]
            if here not in anywhere:
                reached = []
                for there, front in far.items():
                    ends = (there, here) if edge.producer == leaf else (here, there)
                    toll = self.tolls.between(edge, *ends)
                    if toll is not None:
                        reached += moved(front, toll)
                anywhere[here] = merger.front(reached)
            near = self.fronts[leaf].get(place)
            with_leaf = merger.front([*near, *anywhere[here]]) if near else anywhere[here]
            together = merger.together(labels, with_leaf)
            if together:
                folded[place] = merger.front(together)
        self.fronts[into] = folded
        self._prune(into, [each for each in self.edges_of(into) if each is not edge])

    def by_group(self, fronts: Fronts) -> dict[int, Labels]:
        """Return the front over the places of each group."""
        found: dict[int, Labels] = {}
        for place, labels in fronts.items():
            found.setdefault(self.tolls.group[place], []).extend(labels)
        return {number: self.merger.front(labels) for number, labels in found.items()}

    def alone(self, stage: int) -> Labels:
        """Return the front of a stage over all its places."""
        return self.merger.front([label for labels in self.fronts[stage].values() for label in labels])

    def components(self) -> list[list[int]]:
        """Return the stages that are left by what is connected, each part in the order of the intent."""
        left, found = set(self.left), []
        while left:
            part, waiting = set(), [min(left)]
            while waiting:
                stage = waiting.pop()
                if stage not in part:
                    part.add(stage)
                    waiting += [end for edge in self.edges_of(stage) for end in (edge.producer, edge.consumer)]
            left -= part
            found.append(sorted(part))
        return found

    def prune(self) -> None:
        """Leave out of every stage what no toll could make worth its place."""
        for stage in sorted(self.left):
            self._prune(stage, self.edges_of(stage))

    def _prune(self, stage: int, edges: Sequence[Edge]) -> None:
        self.fronts[stage] = self.useful_at(self.fronts[stage], [(edge, edge.producer == stage) for edge in edges])

    def useful_at(self, fronts: Fronts, edges: Sequence[tuple[Edge, bool]]) -> Fronts:
        """Return what can be of use at its place.

        That is not behind what is best anywhere by the most that `edges` (and whether they begin here) can cost there.
        """
        most: dict[int, Label] = {}
        bar: Labels = []
        for place, labels in fronts.items():
            group = self.tolls.group[place]
            if group not in most:
                most[group] = self.tolls.nothing
                for edge, begins in edges:
                    toll = self.tolls.most(edge, start=group) if begins else self.tolls.most(edge, to=group)
                    most[group] = moved([most[group]], toll)[0]
            bar += moved(labels, most[group])
        bar = front_of(bar)
        kept = {place: useful(labels, bar) for place, labels in fronts.items()}
        return {place: labels for place, labels in kept.items() if labels}
