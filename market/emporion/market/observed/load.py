"""Finding the files of measurements."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from emporion.market.observed.links import MeasuredLink, read_links
from emporion.market.observed.nodes import NodeReading, read_nodes
from emporion.market.observed.spot import SpotEvents, SpotRecord, read_spot_events
from emporion.market.offer import Offer

__all__ = ["NOTHING", "Observed", "load_observed"]


@dataclass(frozen=True, eq=False)
class Observed:
    """Everything that was seen instead of modelled; empty: the models alone."""

    links: tuple[MeasuredLink, ...] = ()
    spot: tuple[SpotRecord, ...] = ()
    nodes: tuple[NodeReading, ...] = ()

    @cached_property
    def spot_events(self) -> SpotEvents:
        """The observed interruptions by pool."""
        return SpotEvents(self.spot)

    def reading(self, offer: Offer) -> NodeReading | None:
        """Return what was read of an offer's machine type at its place, the zone's own before the region's."""
        key = (offer.provider, offer.region, offer.instance_type)
        return self._readings.get((*key, offer.zone)) or self._readings.get((*key, None))

    @cached_property
    def places(self) -> frozenset[tuple[str, str, str | None]]:
        """Every (provider, region, zone) that a line names; zone None: anywhere in the region."""
        found = [end for each in self.links for end in each.ends]
        found += [(each.provider, each.region, each.zone) for each in self.spot]
        found += [(each.provider, each.region, each.zone) for each in self.nodes]
        return frozenset(found)

    @cached_property
    def _readings(self) -> Mapping[tuple[str, str, str, str | None], NodeReading]:
        return {(each.provider, each.region, each.instance_type, each.zone): each for each in self.nodes}


NOTHING = Observed()


def load_observed(home: Path | None, links: Path | None = None) -> Observed:
    """Return what lies in EMPORION_HOME (None: nothing); `links` takes the place of its links.csv and must exist.

    Raises: UserError E-OBSERVED: with every problem of the first file that has one.
    """
    measured = read_links(links) if links is not None else ()
    if home is None:
        return Observed(links=measured) if measured else NOTHING
    own, spot, nodes = home / "links.csv", home / "observed" / "spot_events.csv", home / "observed" / "nodes.csv"
    found = Observed(
        links=read_links(own) if links is None and own.exists() else measured,
        spot=read_spot_events(spot) if spot.exists() else (),
        nodes=read_nodes(nodes) if nodes.exists() else (),
    )
    return found if found.links or found.spot or found.nodes else NOTHING
