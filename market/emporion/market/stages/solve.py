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
  `Core` goes through all partitions: state by state of (stages done, groups of those that others still wait for), and
  of each state keeps the front.
- *Leaving out.* A label goes only for another that is no worse in everything (`labels.py`), or that stays no worse even
  with the most that its place may cost beside another's least (`useful`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from emporion.market.stages.bundle import Bundle, ends_of
from emporion.market.stages.clusters import Core
from emporion.market.stages.fold import Fold, Fronts
from emporion.market.stages.labels import Labels, Merger
from emporion.market.stages.tolls import Edge, Tolls

__all__ = ["Fronts", "solve"]


def solve(
    stages: Sequence[Fronts], edges: Iterable[Edge], tolls: Tolls, merger: Merger, where: str = "stages"
) -> Labels:
    """Return the front over all choices of a place and an option for every stage; `where` is for the error.

    Raises: UserError E-STAGES: when the stages branch and join in more ways than can be gone through.
    """
    graph = Fold(list(stages), [edge for edge in edges if not tolls.idle(edge)], tolls, merger, where)
    graph.prune()
    graph.fold()
    whole: Labels | None = None
    for part in graph.components():
        front = graph.alone(part[0]) if len(part) == 1 else _core(graph, part)
        whole = front if whole is None else merger.together(whole, front)
    return whole or []


def _core(graph: Fold, part: Sequence[int]) -> Labels:
    """Return the front over connected stages each of which has two neighbours or more."""
    ends = ends_of(graph.neighbours(part))
    if ends is not None and len(part) >= _MANY + len(ends):
        return Bundle(graph, *ends, [stage for stage in part if stage not in ends]).front()
    return Core(graph, part).front()


_MANY = 5
"""So many stages between the same two are solved as a bundle."""
