"""What a placement's speed, links and stability rest on that nobody published or measured."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from emporion.market.errors import did_you_mean
from emporion.market.figures import figure
from emporion.market.intent.model import Intent
from emporion.market.observed import Observed
from emporion.market.offer import Market, Offer
from emporion.market.performance import gpu_speed
from emporion.market.placement.model import Placement
from emporion.market.sites import regions
from emporion.market.stability import hazard

__all__ = ["assumed_warnings", "unplaced_warnings"]

_BILLION = 1e9


def assumed_warnings(placement: Placement, intent: Intent, observed: Observed) -> list[str]:
    """Return one sentence for every assumed figure that a placement was judged by, and for what was not judged by."""
    offers = [pool.offer for pool in placement.pools]
    return [
        *_model(placement, intent),
        *(text for offer in offers for text in _interruptions(offer, observed)),
        *(text for offer in offers for text in _score(offer, observed)),
        *(text for gpu in dict.fromkeys(offer.gpu for offer in offers if offer.gpu_count) for text in _speed(gpu)),
        *_network(placement),
        *_links(placement),
    ]


def unplaced_warnings(observed: Observed, sites: Iterable[tuple[str, str]]) -> list[str]:
    """Return a sentence when measurements name regions that are neither among `sites` (on offer) nor in the table."""
    named = {place[:2] for place in observed.places}
    unknown = sorted(named - set(sites) - set(regions())) if named else []
    if not unknown:
        return []
    provider, region = unknown[0]
    near = did_you_mean(region, {name for owner, name in {*sites, *regions()} if owner == provider})
    more = f" and {len(unknown) - 1} more" if len(unknown) > 1 else ""
    hint = f": did you mean {near}" if near else ""
    return [f"measurements at {provider} {region}{more} are of no use, no such region is known{hint}"]


def _model(placement: Placement, intent: Intent) -> Iterator[str]:
    if intent.model.parameters is None and intent.resources.gpus is not None and placement.nodes > 1:
        billions = figure("parameters_default") / _BILLION
        yield f"model.parameters is not set: speed and lost time assume {billions:g} billion"


def _interruptions(offer: Offer, observed: Observed) -> Iterator[str]:
    if offer.market is not Market.SPOT:
        return
    rate = hazard(offer, observed.spot_events)
    if not rate.assumed:
        return
    exposure = observed.spot_events.exposure(offer)
    basis = "no interruption rate is published"
    if exposure is not None:
        basis += f" and only {exposure.up_hours:g} h were observed"
    yield f"{offer.id}: {basis}: {rate.per_day:.3g} a day is assumed"


def _score(offer: Offer, observed: Observed) -> Iterator[str]:
    reading = observed.reading(offer)
    if offer.market is Market.SPOT and reading is not None and reading.spot_placement_score is not None:
        score = f"{reading.spot_placement_score} of 10 ({reading.source}, {reading.as_of})"
        yield f"{offer.id}: its spot placement score is {score}; no rate is made of it"


def _speed(gpu: str | None) -> Iterator[str]:
    if gpu is None:
        yield "images/s: the model of the GPU is not known, it counts as the slowest"
    elif gpu_speed(gpu).derived:
        yield f"images/s: none are published for {gpu}, they are derived from its memory bandwidth and TFLOPS"


def _network(placement: Placement) -> Iterator[str]:
    if placement.nodes == 1:
        return
    for pool in placement.pools:
        offer = pool.offer
        if offer.between_gbps is None and offer.gpu_count:
            gbps = figure("network_gbps_unknown")
            yield f"{offer.id}: its network is not known: {gbps:g} Gb/s between nodes are assumed"


def _links(placement: Placement) -> Iterator[str]:
    for link in placement.links:
        if len(link.ends) == 1:
            continue
        ends = " and ".join(map(str, link.ends))
        if link.latency_ms is None:
            ms = figure("regions_latency_ms_unknown")
            yield f"between {ends}: the place of a region is not known: {ms:g} ms are assumed"
        elif link.modelled:
            yield f"between {ends}: {link.latency_ms:g} ms are modelled by distance, not measured"
        if link.bandwidth_modelled and link.bandwidth_gbps is not None:
            yield f"between {ends}: {link.bandwidth_gbps:g} Gb/s are assumed, not measured"
