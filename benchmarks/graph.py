"""The resource graph as arrays beside rustworkx: 10,000 offers at 200 sites, built and asked the same things."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from random import Random
from time import process_time
from typing import TYPE_CHECKING

from emporion.market.graph import ResourceGraph, Site
from emporion.market.offer import Fabric, Market, Nvlink, Offer
from emporion.market.sites import regions
from measure import measure_once
from report import Section

if TYPE_CHECKING:
    from collections.abc import Callable

OFFERS, SITES, LOOKUPS = 10_000, 200, 100_000
BOUND_MS = 20.0
LEAST_S = 1e-4
"""Below this a ratio says nothing."""
WAYS = ("nothing", "arrays", "rustworkx")


def sections() -> list[Section]:
    """Run each way in a process of its own, in one run, and return the table."""
    results = {way: _run(way) for way in WAYS}
    base = results.pop("nothing")
    ours, theirs = results["arrays"], results["rustworkx"]
    different = [key for key in ours if key.endswith("_sum") and ours[key] != theirs[key]]
    if different:
        message = f"the two graphs answer differently: {different}"
        raise RuntimeError(message)
    rows = []
    for name, key, unit in (
        ("build", "build", "ms"),
        (f"{LOOKUPS:,} links looked up", "lookups", "ms"),
        (f"sites within {BOUND_MS:g} ms of each site", "near", "ms"),
        ("offers at each site", "at_site", "ms"),
        ("start-up (import)", "import", "ms"),
    ):
        rows.append(
            [f"{name}, {unit}", *(f"{each[key] * 1000:.1f}" for each in (ours, theirs)), _ratio(theirs, ours, key)]
        )
    even = (theirs["build"] - ours["build"]) / ((ours["lookups"] - theirs["lookups"]) / LOOKUPS)
    memory = {way: each["peak_mib"] - base["peak_mib"] for way, each in results.items()}
    ratio = f"{memory['rustworkx'] / memory['arrays']:.1f}"
    rows.append(["memory, MiB", f"{memory['arrays']:.0f}", f"{memory['rustworkx']:.0f}", ratio])
    return [
        Section(
            "graph",
            "The resource graph",
            f"{OFFERS:,} offers at {SITES} sites, each way in a process of its own; CPU time. Links between sites: "
            f"{SITES * (SITES - 1) // 2:,}. Rustworkx holds each as an edge; the arrays work it out when asked.",
            ["", "arrays", "rustworkx", "rustworkx / arrays"],
            rows,
            (
                "Memory is above a process that has imported the market and made the offers.",
                "Both answer the same: the run compares a checksum of every answer.",
                f"Rustworkx's faster look-ups make up for its build after {even:,.0f} of them.",
                "Decision: docs/adr/0011-graph-is-arrays.md.",
            ),
        )
    ]


def _ratio(theirs: dict[str, float], ours: dict[str, float], key: str) -> str:
    return f"{theirs[key] / ours[key]:.1f}" if ours[key] > LEAST_S else "-"


def _run(way: str) -> dict[str, float]:
    """Return what one way costs: its own times, and its peak memory as the kernel tells it."""
    argv = [sys.executable, str(Path(__file__).resolve()), way]
    told: dict[str, float] = json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
    told["peak_mib"] = measure_once(argv, environ=os.environ).peak_mib
    return told


def offers() -> list[Offer]:
    """Return the same offers each time, spread over regions whose place is known."""
    random = Random(4)  # noqa: S311 - a made-up market, not a secret
    known = sorted((p, r) for (p, r), info in regions().items() if info.lat is not None)
    places = [Site(*known[number % len(known)], f"zone-{number}") for number in range(SITES)]
    kinds = [(f"type-{number}", 2 ** (number % 4), Decimal(10 * (number % 40 + 1))) for number in range(60)]
    made = []
    for number in range(OFFERS):
        site, (name, gpus, gbps) = random.choice(places), random.choice(kinds)
        made.append(
            Offer(
                id=f"{site}/{name}/{number}", provider=site.provider, region=site.region, zone=site.zone,
                instance_type=name, market=Market.ON_DEMAND, usd_per_hour=Decimal(random.randint(100, 9000)) / 100,
                gpu="a100-80gb", gpu_count=gpus, gpu_vram_gb=Decimal(80), vcpus=Decimal(96), ram_gb=Decimal(1152),
                source="benchmark", as_of="2026-12-01", nvlink=Nvlink.NVSWITCH, nvlink_gb_s_per_gpu=Decimal(600),
                fabric=Fabric.EFA, fabric_gbps=gbps,
            )
        )  # fmt: skip
    return made


def _child(way: str) -> dict[str, float]:
    found = offers()
    if way == "nothing":
        return {}
    start = process_time()
    if way == "rustworkx":
        import rustworkx  # noqa: F401, PLC0415 - what it costs to import is part of the measurement
    imported = process_time() - start
    build, link_ms, near, at_site = (_arrays if way == "arrays" else _rustworkx)(found)
    random = Random(7)  # noqa: S311
    numbers = list(range(SITES))
    pairs = [tuple(random.sample(numbers, 2)) for _ in range(LOOKUPS)]
    times = {"import": imported, "build": build}
    for name, ask in (
        ("lookups", lambda: sum(link_ms(*pair) for pair in pairs)),
        ("near", lambda: sum(len(near(number)) for number in numbers)),
        ("at_site", lambda: sum(len(at_site(number)) for number in numbers)),
    ):
        start = process_time()
        times[f"{name}_sum"] = round(ask(), 3)
        times[name] = process_time() - start
    return times


Ways = tuple[float, "Callable[[int, int], float]", "Callable[[int], list[int]]", "Callable[[int], list[int]]"]


def _arrays(found: list[Offer]) -> Ways:
    start = process_time()
    graph = ResourceGraph(found)
    build = process_time() - start
    sites, number_of = graph.site_list, graph.sites
    at: list[list[int]] = [[] for _ in sites]
    for offer, site in enumerate(number_of):
        at[site].append(offer)

    def link_ms(one: int, other: int) -> float:
        return graph.link(sites[one], sites[other]).latency_ms or 0.0

    def near(one: int) -> list[int]:
        return [other for other in range(len(sites)) if other != one and link_ms(one, other) <= BOUND_MS]

    return build, link_ms, near, at.__getitem__


def _rustworkx(found: list[Offer]) -> Ways:
    import rustworkx  # noqa: PLC0415

    start = process_time()
    plain = ResourceGraph(found)  # the numbering of machines and sites that any graph needs
    graph = rustworkx.PyGraph(multigraph=False)
    site_nodes = list(graph.add_nodes_from(plain.site_list))
    offer_nodes = list(graph.add_nodes_from(found))
    graph.add_edges_from(
        [(offer_nodes[offer], site_nodes[site], None) for offer, site in enumerate(plain.sites)]
        + [
            (site_nodes[one], site_nodes[other], plain.link(plain.site_list[one], plain.site_list[other]))
            for one in range(len(site_nodes))
            for other in range(one + 1, len(site_nodes))
        ]
    )
    build = process_time() - start

    def link_ms(one: int, other: int) -> float:
        return graph.get_edge_data(one, other).latency_ms or 0.0

    def near(one: int) -> list[int]:
        around = graph.adj(one)
        return [other for other, link in around.items() if link is not None and link.latency_ms <= BOUND_MS]

    def at_site(one: int) -> list[int]:
        return [other for other, link in graph.adj(one).items() if link is None]

    return build, link_ms, near, at_site


if __name__ == "__main__":
    print(json.dumps(_child(sys.argv[1])))
