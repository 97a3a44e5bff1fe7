"""The exact front over a graph of stages: leaves are folded into their neighbours, what is left is cut into clusters.

Why it is exact
---------------
Where a stage stands matters to a stage beside it in two ways only: whether both stand at the same place (then nothing
is charged), and else from which group of places to which group the data goes (`tolls.py`).

- *Folding.* A stage with one neighbour is either at its neighbour's place or anywhere. For each place of the neighbour
  the front of the leaf is that of its options there, together with that of its options anywhere with the toll between
  the groups. Where both happen to meet, the toll counted is too high and the first has the true one.
- *Clusters.* Take any choice of places. Stages that are connected through needs within one place form a cluster; it is
  a connected set of stages, and between clusters tolls go by group alone. So every choice is a partition of the stages
  into connected clusters, with a place for each; and every such partition costs at least what its places really cost.
  `_Core` goes through all partitions: state by state of (stages done, groups of those that others still wait for), and
  of each state keeps the front.
- *Leaving out.* A label goes only for another that is no worse in everything (`labels.py`), or that stays no worse even
  with the most that its place may cost beside another's least (`useful`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from emporion.market.errors import ExitCode, UserError
from emporion.market.stages.labels import Label, Labels, Merger, moved, useful
from emporion.market.stages.tolls import Edge, Tolls
from emporion.market.stages.views import Place

__all__ = ["Fronts", "solve"]

Fronts = dict[Place, Labels]
"""The front of one stage by place."""
_MOST_CLUSTERS = 2000


def solve(stages: Sequence[Fronts], edges: Iterable[Edge], tolls: Tolls, merger: Merger) -> Labels:
    """Return the front over all choices of a place and an option for every stage.

    Raises: UserError E-STAGES: when the stages branch and join in more ways than can be gone through.
    """
    graph = _Graph(list(stages), [edge for edge in edges if not tolls.idle(edge)], tolls, merger)
    graph.prune()
    graph.fold()
    whole: Labels | None = None
    for part in graph.components():
        front = graph.alone(part[0]) if len(part) == 1 else _Core(graph, part).front()
        whole = front if whole is None else merger.together(whole, front)
    return whole or []


@dataclass
class _Graph:
    """Stages that are left, with their fronts by place, and the edges between them."""

    fronts: list[Fronts]
    edges: list[Edge]
    tolls: Tolls
    merger: Merger
    left: set[int] = field(init=False)

    def __post_init__(self) -> None:
        self.left = set(range(len(self.fronts)))

    def edges_of(self, stage: int) -> list[Edge]:
        """Return the edges of a stage."""
        return [edge for edge in self.edges if stage in {edge.producer, edge.consumer}]

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
        bar = self.merger.front(bar)
        kept = {place: useful(labels, bar) for place, labels in fronts.items()}
        return {place: labels for place, labels in kept.items() if labels}


class _Core:
    """The front over connected stages each of which has two neighbours or more."""

    def __init__(self, graph: _Graph, stages: Sequence[int]) -> None:
        self._graph, self._tolls, self._merger = graph, graph.tolls, graph.merger
        self._stages = list(stages)
        number = {stage: index for index, stage in enumerate(stages)}
        self._edges = [
            (edge, number[edge.producer], number[edge.consumer]) for edge in graph.edges if edge.producer in number
        ]
        self._beside = [0] * len(stages)
        for _, one, other in self._edges:
            self._beside[one] |= 1 << other
            self._beside[other] |= 1 << one

    def front(self) -> Labels:
        """Return the front."""
        clusters = self._clusters()
        by_first: dict[int, list[tuple[int, dict[int, Labels]]]] = {}
        for members, fronts in clusters.items():
            by_first.setdefault(_lowest(members), []).append((members, fronts))
        whole = (1 << len(self._stages)) - 1
        states: dict[int, dict[tuple[int, ...], Labels]] = {0: {(): [self._tolls.nothing]}}
        for done in sorted(range(whole), key=lambda mask: (mask.bit_count(), mask)):
            if done not in states:
                continue
            waiting = self._waiting(done)
            for groups, labels in self._kept(done, states.pop(done)).items():
                at = dict(zip(waiting, groups, strict=True))
                for members, fronts in by_first.get(_lowest(~done), ()):
                    if not members & done:
                        self._add(states, done | members, at, labels, members, fronts)
        return self._merger.front(states[whole][()]) if whole in states else []

    def _waiting(self, done: int) -> list[int]:
        """Return the stages done that a stage not done has to do with."""
        return [one for one in range(len(self._stages)) if done >> one & 1 and self._beside[one] & ~done]

    def _add(
        self,
        states: dict[int, dict[tuple[int, ...], Labels]],
        done: int,
        at: dict[int, int],
        labels: Labels,
        members: int,
        fronts: dict[int, Labels],
    ) -> None:
        """Add a cluster in each group to the labels of a state."""
        crossing = [
            (edge, one, other)
            for edge, one, other in self._edges
            if (one in at and members >> other & 1) or (other in at and members >> one & 1)
        ]
        waiting = self._waiting(done)
        for group, front in fronts.items():
            toll: Label | None = self._tolls.nothing
            for edge, one, other in crossing:
                each = self._tolls.between(edge, at.get(one, group), at.get(other, group))
                toll = None if toll is None or each is None else moved([toll], each)[0]
            if toll is not None:
                key = tuple(at.get(one, group) for one in waiting)
                states.setdefault(done, {}).setdefault(key, []).extend(
                    self._merger.together(labels, moved(front, toll))
                )

    def _kept(self, done: int, states: dict[tuple[int, ...], Labels]) -> dict[tuple[int, ...], Labels]:
        """Return the front of each state, without what stays behind another state whatever follows."""
        merger, tolls = self._merger, self._tolls
        found = {groups: merger.front(labels) for groups, labels in states.items()}
        if len(found) == 1:
            return found
        waiting = self._waiting(done)
        open_edges = [
            (edge, waiting.index(one if done >> one & 1 else other), bool(done >> one & 1))
            for edge, one, other in self._edges
            if (done >> one & 1) != (done >> other & 1)
        ]

        def ahead(pick: Callable[..., Label], groups: tuple[int, ...]) -> Label:
            whole = tolls.nothing
            for edge, at, begins in open_edges:
                toll = pick(edge, start=groups[at]) if begins else pick(edge, to=groups[at])
                whole = moved([whole], toll)[0]
            return whole

        bar = merger.front(
            [one for groups, labels in found.items() for one in moved(labels, ahead(tolls.most, groups))]
        )
        kept: dict[tuple[int, ...], Labels] = {}
        for groups, labels in found.items():
            of_key = {one[-1]: one for one in labels}
            raised = useful(moved(labels, ahead(tolls.least, groups)), bar)
            if raised:
                kept[groups] = [of_key[one[-1]] for one in raised]
        return kept

    # Clusters

    def _clusters(self) -> dict[int, dict[int, Labels]]:
        """Return for each connected set of stages the front at one place by group, without what parting betters."""
        grown = self._connected()
        raw: dict[int, Fronts] = {}
        found: dict[int, dict[int, Labels]] = {}
        for members, (rest, last) in grown.items():
            own = self._graph.fronts[self._stages[last]]
            if rest:
                joined = {
                    place: self._merger.front(self._merger.together(labels, own[place]))
                    for place, labels in raw[rest].items()
                    if place in own
                }
            else:
                joined = own
            leaving = [
                (edge, bool(members >> one & 1))
                for edge, one, other in self._edges
                if (members >> one & 1) != (members >> other & 1)
            ]
            raw[members] = self._graph.useful_at(joined, leaving) if rest else joined
            fronts = self._graph.by_group(raw[members])
            found[members] = {
                group: labels
                for group, front in fronts.items()
                if (labels := self._unparted(front, group, members, rest, last, found))
            }
        return {members: self._undisplaced(fronts, members) for members, fronts in found.items()}

    def _undisplaced(self, fronts: dict[int, Labels], members: int) -> dict[int, Labels]:
        """Return a cluster's fronts without what stays behind the cluster in another group, wherever all others are."""
        crossing = [
            (edge, bool(members >> one & 1))
            for edge, one, other in self._edges
            if (members >> one & 1) != (members >> other & 1)
        ]
        found: dict[int, Labels] = {}
        for group, labels in fronts.items():
            bar: Labels = []
            for instead, front in fronts.items():
                if instead != group:
                    more = self._tolls.nothing
                    for edge, begins in crossing:
                        more = moved([more], self._tolls.more(edge, group, instead, begins=begins))[0]
                    bar += moved(front, more)
            kept = useful(labels, self._merger.front(bar))
            if kept:
                found[group] = kept
        return found

    def _unparted(
        self, front: Labels, group: int, members: int, rest: int, last: int, found: dict[int, dict[int, Labels]]
    ) -> Labels:
        """Return the labels of a cluster that are better than its last stage elsewhere in the same group."""
        if not rest:
            return front
        toll: Label | None = self._tolls.nothing
        for edge, one, other in self._edges:
            if members >> one & 1 and members >> other & 1 and last in {one, other}:
                each = self._tolls.between(edge, group, group)
                toll = None if toll is None or each is None else moved([toll], each)[0]
        if toll is None:
            return front
        parted = self._merger.together(found[rest].get(group, []), found[1 << last].get(group, []))
        return useful(front, moved(self._merger.front(parted), toll))

    def _connected(self) -> dict[int, tuple[int, int]]:
        """Return every connected set of stages, smaller ones first, each with a connected rest and its last stage."""
        found: dict[int, tuple[int, int]] = {1 << one: (0, one) for one in range(len(self._stages))}
        layer = list(found)
        while layer:
            more: dict[int, tuple[int, int]] = {}
            for members in layer:
                near = 0
                for one in range(len(self._stages)):
                    if members >> one & 1:
                        near |= self._beside[one]
                for one in range(len(self._stages)):
                    if near >> one & 1 and not members >> one & 1:
                        more.setdefault(members | 1 << one, (members, one))
            found |= more
            if len(found) > _MOST_CLUSTERS:
                raise UserError(
                    "E-STAGES",
                    f"{len(self._stages)} stages branch and join in more than {_MOST_CLUSTERS} ways",
                    "stages",
                    "plan parts of the pipeline by themselves, or leave out data sizes that cost next to nothing",
                    ExitCode.BAD_INPUT,
                )
            layer = list(more)
        return found


def _lowest(mask: int) -> int:
    """Return the number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1
