"""The front over connected stages of which each has two neighbours or more: clusters at one place, one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from emporion.market.errors import ExitCode, UserError
from emporion.market.stages.fold import Fold, Fronts
from emporion.market.stages.labels import Label, Labels, front_of, moved, useful

__all__ = ["Core"]

_MOST_CLUSTERS = 2000


ByGroup = dict[int, Labels]


class _State(NamedTuple):
    """Stages that are placed, and what they come to."""

    done: int
    """The stages, a bit each."""
    at: dict[int, int]
    """The group of each that another stage still waits for."""
    labels: Labels


class Core:
    """The front over connected stages each of which has two neighbours or more."""

    def __init__(self, graph: Fold, stages: Sequence[int]) -> None:
        self._graph, self._tolls, self._merger = graph, graph.tolls, graph.merger
        self._stages = _order(graph.neighbours(stages))
        number = {stage: index for index, stage in enumerate(self._stages)}
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
        by_first: dict[int, list[tuple[int, ByGroup]]] = {}
        for members, fronts in clusters.items():
            by_first.setdefault(_lowest(members), []).append((members, fronts))
        whole = (1 << len(self._stages)) - 1
        states: dict[int, dict[tuple[int, ...], Labels]] = {0: {(): [self._tolls.nothing]}}
        for done in sorted(range(whole), key=lambda mask: (mask.bit_count(), mask)):
            if done not in states:
                continue
            waiting = self._waiting(done)
            for groups, labels in self._kept(done, states.pop(done)).items():
                state = _State(done, dict(zip(waiting, groups, strict=True)), labels)
                for members, fronts in by_first.get(_lowest(~done), ()):
                    if not members & done:
                        self._add(states.setdefault(done | members, {}), state, members, fronts)
        return self._merger.front(states[whole][()]) if whole in states else []

    def _waiting(self, done: int) -> list[int]:
        """Return the stages done that a stage not done has to do with."""
        return [one for one in range(len(self._stages)) if done >> one & 1 and self._beside[one] & ~done]

    def _add(self, states: dict[tuple[int, ...], Labels], state: _State, members: int, fronts: ByGroup) -> None:
        """Add a cluster in each group to a state, into `states`."""
        at = state.at
        crossing = [
            (edge, one, other)
            for edge, one, other in self._edges
            if (one in at and members >> other & 1) or (other in at and members >> one & 1)
        ]
        waiting = self._waiting(state.done | members)
        for group, front in fronts.items():
            toll: Label | None = self._tolls.nothing
            for edge, one, other in crossing:
                each = self._tolls.between(edge, at.get(one, group), at.get(other, group))
                toll = None if toll is None or each is None else moved([toll], each)[0]
            if toll is not None:
                key = tuple(at.get(one, group) for one in waiting)
                states.setdefault(key, []).extend(self._merger.together(state.labels, moved(front, toll)))

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

        bar = front_of([one for groups, labels in found.items() for one in moved(labels, ahead(tolls.most, groups))])
        kept: dict[tuple[int, ...], Labels] = {}
        for groups, labels in found.items():
            of_key = {one[-1]: one for one in labels}
            raised = useful(moved(labels, ahead(tolls.least, groups)), bar)
            if raised:
                kept[groups] = [of_key[one[-1]] for one in raised]
        return kept

    # Clusters

    def _clusters(self) -> dict[int, ByGroup]:
        """Return for each connected set of stages the front at one place by group, without what parting betters."""
        raw: dict[int, Fronts] = {}
        found: dict[int, ByGroup] = {}
        for members, (rest, last) in self._grown.items():
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
                if (labels := self._unparted(front, group, members, found) if rest else front)
            }
        return {members: self._undisplaced(fronts, members) for members, fronts in found.items()}

    def _undisplaced(self, fronts: ByGroup, members: int) -> ByGroup:
        """Return a cluster's fronts without what stays behind the cluster in another group, wherever all others are."""
        crossing = [
            (edge, bool(members >> one & 1))
            for edge, one, other in self._edges
            if (members >> one & 1) != (members >> other & 1)
        ]
        found: ByGroup = {}
        for group, labels in fronts.items():
            bar: Labels = []
            for instead, front in fronts.items():
                if instead != group:
                    more = self._tolls.nothing
                    for edge, begins in crossing:
                        more = moved([more], self._tolls.more(edge, group, instead, begins=begins))[0]
                    bar += moved(front, more)
            kept = useful(labels, front_of(bar))
            if kept:
                found[group] = kept
        return found

    def _unparted(self, front: Labels, group: int, members: int, found: dict[int, ByGroup]) -> Labels:
        """Return the labels of a cluster that are better than its last stage elsewhere in the same group."""
        rest, last = self._grown[members]
        toll: Label | None = self._tolls.nothing
        for edge, one, other in self._edges:
            if members >> one & 1 and members >> other & 1 and last in {one, other}:
                each = self._tolls.between(edge, group, group)
                toll = None if toll is None or each is None else moved([toll], each)[0]
        if toll is None:
            return front
        parted = self._merger.together(found[rest].get(group, []), found[1 << last].get(group, []))
        return useful(front, moved(front_of(parted), toll))

    @cached_property
    def _grown(self) -> dict[int, tuple[int, int]]:
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
                    self._graph.where,
                    "plan parts of the pipeline by themselves, or leave out data sizes that cost next to nothing",
                    ExitCode.BAD_INPUT,
                )
            layer = list(more)
        return found


def _order(beside: Mapping[int, set[int]]) -> list[int]:
    """Return stages so that few of those before any point have to do with those after it: greedily from each start."""

    def walk(first: int) -> tuple[int, int, list[int]]:
        way, widths = [first], [1]
        while len(way) < len(beside):
            left = [stage for stage in beside if stage not in way]
            width, _, following = min(
                (_width([*way, each], beside), -len(beside[each] & {*way}), each) for each in left
            )
            way.append(following)
            widths.append(width)
        return max(widths), sum(widths), way

    return min(walk(first) for first in beside)[2]


def _width(done: Sequence[int], beside: Mapping[int, set[int]]) -> int:
    """Return how many of the stages done have to do with others."""
    return sum(1 for stage in done if beside[stage] - {*done})


def _lowest(mask: int) -> int:
    """Return the number of the lowest bit that is set."""
    return (mask & -mask).bit_length() - 1
