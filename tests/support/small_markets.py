"""Random small markets, demands on them, and what a naive enumeration of the stated search space finds there.

The enumeration judges each placement by itself, in its own words: sums, ceilings, quotas and comparison are written
again here, only the two models (throughput, loss) are the product's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations, product

from hypothesis import strategies as st

from emporion.market.graph import Kind, ResourceGraph, Site, link
from emporion.market.offer import Fabric, Market, Nvlink, Offer
from emporion.market.performance import Workload
from emporion.market.placement.candidates import Candidate, Found, Tariff, joint_of
from emporion.market.placement.demand import Demand
from emporion.market.placement.front import Front, Vector
from emporion.market.placement.quotas import Quota, Unit, limits_of
from emporion.market.placement.search import Search
from emporion.market.stability import Recovering

__all__ = [
    "MACHINES",
    "NANO",
    "PLACES",
    "Row",
    "Setting",
    "dear",
    "demands",
    "feasible",
    "front_of",
    "judged",
    "made",
    "naive_front",
    "offers",
    "overhead",
    "plain_demand",
    "search_of",
    "settings_of",
]

NANO = 10**9
STEP = NANO // 10_000
DAY_S = 86_400
WORK = Workload(7e9, 2)
RECOVERY = Recovering(98.0, None)
PLACES = (
    ("aws", "us-east-1", "use1-az1"),
    ("aws", "us-east-1", "use1-az2"),
    ("aws", "eu-west-1", "euw1-az1"),
    ("azure", "eastus", None),
    ("nowhere", "unknown", None),
)
MACHINES = (
    ("small", "a100-40gb", 1, Nvlink.NONE, None, Fabric.ETHERNET, 10),
    ("half", "a100-40gb", 4, Nvlink.NVSWITCH, 600, Fabric.ETHERNET, 50),
    ("whole", "a100-40gb", 8, Nvlink.NVSWITCH, 600, Fabric.EFA, 400),
    ("other", "h100-80gb-sxm", 8, Nvlink.NVSWITCH, 900, Fabric.INFINIBAND, 3200),
    ("odd", "a100-80gb", 3, None, None, None, None),
    ("slow", "t4-16gb", 1, Nvlink.NONE, None, Fabric.ETHERNET, 25),
)
GRAMS = (37, 410, 250, 333, 928)
"""Of a machine with one GPU, by place; others emit in proportion, so that ties are common."""
Row = tuple[int, int, Market, int]
RDMA = {"efa", "infiniband", "roce", "tcpx"}


def dear(number: int, row: Row) -> Offer:
    """Return the offer of a row (machine, place, market, price in 1e-5 USD), with a name of its own."""
    machine, place, market, price = row
    provider, region, zone = PLACES[place]
    name, gpu, count, nvlink, nvlink_gb_s, fabric, gbps = MACHINES[machine]
    return Offer(
        id=f"{provider}/{region}/{zone}/{name}-{number}/{market}",
        provider=provider,
        region=region,
        zone=zone,
        instance_type=name,
        market=market,
        usd_per_hour=Decimal(price) / 100_000,
        gpu=gpu,
        gpu_count=count,
        gpu_vram_gb=Decimal(40),
        vcpus=None if name == "odd" else Decimal(12 * count),
        ram_gb=None,
        source="test",
        as_of=None,
        nvlink=nvlink,
        nvlink_gb_s_per_gpu=None if nvlink_gb_s is None else Decimal(nvlink_gb_s),
        fabric=fabric,
        fabric_gbps=None if gbps is None else Decimal(gbps),
    )


def made(rows: Sequence[Row]) -> list[Offer]:
    """Return the offers of rows."""
    return [dear(number, row) for number, row in enumerate(rows)]


def offers(most: int = 7) -> st.SearchStrategy[list[Row]]:
    """Draw the rows of a market."""
    row = st.tuples(
        st.integers(0, len(MACHINES) - 1),
        st.integers(0, len(PLACES) - 1),
        st.sampled_from([Market.SPOT, Market.ON_DEMAND]),
        # near prices make ties of rounded costs, equal ones ties of everything
        st.one_of(st.integers(100_000, 100_012), st.integers(50_000, 900_000)),
    )
    return st.lists(row, max_size=most)


def plain_demand(low: int, high: int | None = None, *, max_pools: int = 2) -> Demand:
    """Return a demand on a number of GPUs and nothing else."""
    return Demand(
        low=low,
        high=low if high is None else high,
        partial=False,
        gpus=True,
        nodes_min=None,
        nodes_max=None,
        max_pools=max_pools,
        total_vram_bytes=0,
        latency_ms=None,
        bandwidth_gbps=None,
        fabric=False,
    )


def demands(max_pools: int = 2) -> st.SearchStrategy[Demand]:
    """Draw a demand."""
    return st.builds(
        lambda low, more, **rest: Demand(low=low, high=low + more, gpus=True, max_pools=max_pools, **rest),
        st.integers(1, 17),
        st.sampled_from([0, 0, 1, 4]),
        partial=st.sampled_from([False, False, True]),
        nodes_min=st.sampled_from([None, None, None, 2, 3]),
        nodes_max=st.sampled_from([None, None, 3]),
        total_vram_bytes=st.sampled_from([0, 0, 0, 320 * 10**9]),
        latency_ms=st.sampled_from([None, None, 0.1, 2.0, 60.0]),
        bandwidth_gbps=st.sampled_from([None, None, None, 25.0]),
        fabric=st.sampled_from([False, False, True]),
    )


@dataclass(frozen=True)
class Setting:
    """What a placement must keep beside the demand, and whether carbon is compared."""

    usd: int | None = None
    """A ceiling on the judged cost per hour."""
    carbon: bool = False
    grams: int | None = None
    """A ceiling on the emission per hour."""
    quotas: tuple[Quota, ...] = ()


def settings_of(*, carbon: bool = True, quotas: bool = True) -> st.SearchStrategy[Setting]:
    """Draw a setting."""
    quota = st.builds(
        Quota,
        st.sampled_from(["aws", "azure", "nowhere"]),
        st.sampled_from(["*", "us-*", "eu-west-1"]),
        st.sampled_from(["*", "small*", "h*", "whole"]),
        st.sampled_from([None, Market.SPOT]),
        st.integers(0, 40),
        st.sampled_from(list(Unit)),
    )
    return st.builds(
        Setting,
        st.one_of(st.none(), st.none(), st.integers(1, 60)),
        st.booleans() if carbon else st.just(value=False),
        st.one_of(st.none(), st.none(), st.integers(1, 4000)) if carbon else st.none(),
        st.lists(quota, max_size=3).map(tuple) if quotas else st.just(()),
    )


def search_of(found: Sequence[Offer], demand: Demand, setting: Setting = Setting()) -> Search:
    """Return the product's search in a market."""
    graph = ResourceGraph(tuple(found))
    counted = setting.carbon or setting.grams is not None
    candidates = [
        Candidate(
            price,
            each.id,
            number,
            graph.kind_list[kind],
            graph.site_list[site],
            each.gpu_count,
            _milligrams(each) if counted else 0,
            limits_of(each, setting.quotas),
        )
        for number, (each, price, kind, site) in enumerate(
            zip(graph.offers, graph.prices, graph.kinds, graph.sites, strict=True)
        )
    ]
    tariff = Tariff(
        overhead,
        lambda _gpus: None if setting.usd is None else setting.usd * NANO,
        None if setting.grams is None else setting.grams * 1000,
        tuple(quota.limit for quota in setting.quotas),
    )
    return Search(demand, tariff, WORK, RECOVERY, candidates=candidates)


def overhead(provider: str, region: str, nodes: int) -> tuple[int, int | None]:
    """Return what a site costs beside its machines, and its bound: every region another."""
    fixed = len(provider + region) * NANO // 100 + nodes * NANO // 50
    return fixed, None if provider == "nowhere" else fixed + NANO // 10


def _milligrams(offer: Offer) -> int:
    place = next(number for number, each in enumerate(PLACES) if each == (offer.provider, offer.region, offer.zone))
    return GRAMS[place] * offer.gpu_count * 1000 + offer.gpu_count


def front_of(front: Front[Found]) -> dict[Vector, tuple[str, ...]]:
    """Return what a front holds: the ids of all nodes by vector."""
    return {vector: key for vector, key, _ in front.points}


# The naive enumeration


def naive_front(
    search: Search,
    found: Sequence[Offer],
    setting: Setting = Setting(),
) -> dict[Vector, tuple[str, ...]]:
    """Enumerate every multiset of machines, judge each by itself, and compare all with all."""
    best: dict[Vector, tuple[str, ...]] = {}
    for chosen, counts in _multisets(search):
        vector = judged(search, found, setting, chosen, counts)
        if vector is not None:
            key = tuple(each.id for each, count in zip(chosen, counts, strict=True) for _ in range(count))
            best[vector] = min(best.get(vector, key), key)
    return {one: key for one, key in best.items() if not any(_better(other, one) for other in best)}


def _better(one: Vector, other: Vector) -> bool:
    no_worse = (one[0] <= other[0], one[1] >= other[1], one[2] <= other[2], one[3] <= other[3])
    return all(no_worse) and one != other


def _multisets(search: Search) -> Iterator[tuple[tuple[Candidate, ...], tuple[int, ...]]]:
    demand = search.demand
    for pools in range(1, demand.max_pools + 1):
        for chosen in combinations(sorted(search.candidates, key=lambda each: each.id), pools):
            for counts in product(*[range(1, -(-demand.low // each.size) + 1) for each in chosen]):
                yield chosen, counts


def judged(
    search: Search, found: Sequence[Offer], setting: Setting, chosen: Sequence[Candidate], counts: Sequence[int]
) -> Vector | None:
    """Return the vector of a placement, None: it is not feasible."""
    if not feasible(search.demand, found, setting, chosen, counts):
        return None
    kinds = [each.kind for each in chosen]
    loss_s = round(search.stability(kinds, counts).loss_s_per_day)
    regions: dict[tuple[str, str], int] = {}
    for each, count in zip(chosen, counts, strict=True):
        place = (each.site.provider, each.site.region)
        regions[place] = regions.get(place, 0) + count
    overheads = [overhead(*place, count) for place, count in regions.items()]
    compute = sum(each.price * count for each, count in zip(chosen, counts, strict=True))
    lost = -(-compute * loss_s // DAY_S)
    total = compute + lost + sum(known for known, _ in overheads)
    uppers = [upper for _, upper in overheads if upper is not None]
    bounded = len(uppers) == len(overheads) and len({each.site for each in chosen}) == 1
    most = compute + lost + sum(uppers) if bounded else total
    if setting.usd is not None and most > setting.usd * NANO:
        return None
    throughput = search.throughput(kinds, counts, joint_of([each.site for each in chosen], search.links))
    emitted = sum(_milligrams(found[each.number]) * count for each, count in zip(chosen, counts, strict=True))
    counted = setting.carbon or setting.grams is not None
    return Vector((total + STEP // 2) // STEP, throughput, loss_s, -(-emitted // 1000) if counted else 0)


def feasible(
    demand: Demand, found: Sequence[Offer], setting: Setting, chosen: Sequence[Candidate], counts: Sequence[int]
) -> bool:
    """Return whether a placement serves a demand and keeps carbon and quotas; the budget apart."""
    gpus = sum(each.size * count for each, count in zip(chosen, counts, strict=True))
    nodes, kinds = sum(counts), [each.kind for each in chosen]
    sites = sorted({each.site for each in chosen}, key=str)
    alone = nodes == 1
    vram = sum(40 * 10**9 * each.size * count for each, count in zip(chosen, counts, strict=True))
    return (
        gpus >= demand.low
        and (gpus <= demand.high or demand.partial)
        and not any(gpus - each.size >= demand.low for each in chosen)  # no node is removable
        and (demand.nodes_min is None or nodes >= demand.nodes_min)
        and (demand.nodes_max is None or nodes <= demand.nodes_max)
        and vram >= demand.total_vram_bytes
        and (alone or not demand.fabric or _one_fabric(kinds, sites))
        and (alone or demand.latency_ms is None or _near(kinds, sites, demand.latency_ms))
        and (alone or demand.bandwidth_gbps is None or _wide(kinds, sites, demand.bandwidth_gbps))
        and _clean([found[each.number] for each in chosen], counts, setting)
    )


def _one_fabric(kinds: list[Kind], sites: list[Site]) -> bool:
    fabrics = {kind.machine.fabric for kind in kinds}
    return len(sites) == 1 and len(fabrics) == 1 and fabrics <= RDMA


def _near(kinds: list[Kind], sites: list[Site], latency_ms: float) -> bool:
    hop_ms = max(0.08 if kind.machine.fabric in RDMA else 0.25 for kind in kinds)
    links = [link(one, other).latency_ms for one, other in combinations(sites, 2)]
    return hop_ms <= latency_ms and all(each is not None and each <= latency_ms for each in links)


def _wide(kinds: list[Kind], sites: list[Site], gbps: float) -> bool:
    own = [kind.machine.network_gbps for kind in kinds]
    links = [link(one, other).bandwidth_gbps for one, other in combinations(sites, 2)]
    return all(each is not None and each >= gbps for each in own) and all(
        each is None or each >= gbps for each in links
    )


def _clean(chosen: Sequence[Offer], counts: Sequence[int], setting: Setting) -> bool:
    emitted = sum(_milligrams(each) * count for each, count in zip(chosen, counts, strict=True))
    if setting.grams is not None and emitted > setting.grams * 1000:
        return False
    for quota in setting.quotas:
        used = sum(
            {Unit.MACHINES: 1, Unit.GPUS: each.gpu_count, Unit.VCPUS: int(each.vcpus or 0)}[quota.unit] * count
            for each, count in zip(chosen, counts, strict=True)
            if quota.covers(each)
        )
        if used > quota.limit:
            return False
    return True
