"""The resource graph of a plan as one looks at it: the regions in question on the map, and what lies between them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations
from typing import Any

from emporion.market.cost_lines import plain_usd
from emporion.market.graph import Site
from emporion.market.graph_view import link_view
from emporion.market.offer import Offer
from emporion.market.placement.model import Placement
from emporion.market.plan.planning import Plan
from emporion.market.sites import region_info

__all__ = ["picture_json"]

_LINKED = 14
"""Regions between which every link is shown; of more, the first in the order of their roles."""
_ROLES = ("recommended", "solution", "not deployable", "candidate")


def picture_json(plan: Plan) -> dict[str, Any]:
    """Return the regions of every offer that passed the constraints, and the links between those of the front.

    `regions`: provider, region, location, lat and lon (null: not known where), zones, `offers` that passed, the
    cheapest price of one machine, `role` and the ranks of the placements there. `links`: two indexes into `regions`,
    one-way latency, bandwidth, traffic price per GB, and whether they are modelled. Equal plans give equal pictures.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    choices = (plan.choice,) if plan.stages is None else plan.stages.graph.choices
    passed = {
        offer.id: offer
        for choice in choices
        for offer in (choice.graph.offers[candidate.number] for candidate in choice.candidates)
    }
    for offer in passed.values():
        _note(found, offer, "candidate")
    for role, placements in (("not deployable", plan.not_deployable), ("solution", plan.solutions)):
        for rank, placement in enumerate(placements, 1):
            for pool in placement.pools:
                told = _note(found, pool.offer, _role(plan, placement, role), counted=False)
                ranks = told["ranks" if role == "solution" else "other_ranks"]
                if rank not in ranks:
                    ranks.append(rank)
    regions = sorted(found.values(), key=lambda one: (_ROLES.index(one["role"]), one["provider"], one["region"]))
    for one in regions:
        one["zones"] = sorted(one["zones"])
        one["cheapest_usd_per_hour"] = plain_usd(one["cheapest_usd_per_hour"])
    front = [number for number, one in enumerate(regions) if one["role"] != "candidate"][:_LINKED]
    return {"regions": regions, "links": list(_links(plan, regions, front))}


def _role(plan: Plan, placement: Placement, role: str) -> str:
    return "recommended" if placement is plan.recommended else role


def _note(
    found: dict[tuple[str, str], dict[str, Any]], offer: Offer, role: str, *, counted: bool = True
) -> dict[str, Any]:
    """Return what is told of an offer's region, with the offer added to it."""
    one = found.get((offer.provider, offer.region))
    if one is None:
        info = region_info(offer.provider, offer.region)
        known = info is not None and info.lat is not None and info.lon is not None
        one = found[offer.provider, offer.region] = {
            "provider": offer.provider,
            "region": offer.region,
            "location": info.location if info else None,
            "lat": float(info.lat) if info and info.lat is not None and known else None,
            "lon": float(info.lon) if info and info.lon is not None and known else None,
            "zones": set(),
            "offers": 0,
            "cheapest_usd_per_hour": offer.usd_per_hour,
            "role": role,
            "ranks": [],
            "other_ranks": [],
        }
    one["offers"] += counted
    one["cheapest_usd_per_hour"] = min(one["cheapest_usd_per_hour"], offer.usd_per_hour)
    one["role"] = min(one["role"], role, key=_ROLES.index)
    if offer.zone is not None:
        one["zones"].add(offer.zone)
    return one


def _links(plan: Plan, regions: list[dict[str, Any]], front: list[int]) -> Iterable[dict[str, Any]]:
    table = plan.choice.graph.link_table
    for one, other in combinations(front, 2):
        here, there = (Site(regions[end]["provider"], regions[end]["region"], None) for end in (one, other))
        view = link_view(here, there, table)
        yield {
            "ends": [one, other],
            "latency_ms": view.latency_ms,
            "bandwidth_gbps": view.bandwidth_gbps,
            "usd_per_gb": plain_usd(view.usd_per_gb),
            "usd_per_gb_back": plain_usd(view.usd_per_gb_back),
            "modelled": view.modelled,
            "bandwidth_modelled": view.bandwidth_modelled,
            "source": view.source,
            "as_of": view.as_of,
        }
