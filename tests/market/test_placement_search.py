"""The search against a naive enumeration of the stated search space, on random small markets."""

from __future__ import annotations

from decimal import Decimal
from itertools import combinations, product
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from emporion.market.graph import Kind, ResourceGraph, Site, link
from emporion.market.offer import Fabric, Market, Nvlink, Offer
from emporion.market.performance import Workload
from emporion.market.placement.candidates import Candidate, Found, Tariff, full_chain, joint_of, rounded
from emporion.market.placement.demand import Demand
from emporion.market.placement.front import Front, Vector, dominates
from emporion.market.placement.search import Search
from emporion.market.stability import Recovering

NANO = 10**9
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
)


def offer(number: int, machine: int, place: int, market: Market, price: int) -> Offer:
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
        vcpus=None,
        ram_gb=None,
        source="test",
        as_of=None,
        nvlink=nvlink,
        nvlink_gb_s_per_gpu=None if nvlink_gb_s is None else Decimal(nvlink_gb_s),
        fabric=fabric,
        fabric_gbps=None if gbps is None else Decimal(gbps),
    )


offers = st.lists(
    st.builds(
        lambda machine, place, market, price: (machine, place, market, price),
        st.integers(0, len(MACHINES) - 1),
        st.integers(0, len(PLACES) - 1),
        st.sampled_from([Market.SPOT, Market.ON_DEMAND]),
        # near prices make ties of rounded costs, equal ones ties of everything
        st.one_of(st.integers(100_000, 100_012), st.integers(50_000, 900_000)),
    ),
    max_size=7,
)


def demands(max_pools: int = 2) -> st.SearchStrategy[Demand]:
    def build(low: int, more: int, *, partial: bool, fabric: bool, latency: float | None, nodes: int | None) -> Demand:
        return Demand(
            low=low,
            high=low + more,
            partial=partial,
            gpus=True,
            nodes_min=None,
            nodes_max=nodes,
            max_pools=max_pools,
            total_vram_bytes=0,
            latency_ms=latency,
            bandwidth_gbps=None,
            fabric=fabric,
        )

    return st.builds(
        build,
        st.integers(1, 17),
        st.sampled_from([0, 0, 1, 4]),
        partial=st.sampled_from([False, False, True]),
        fabric=st.sampled_from([False, False, True]),
        latency=st.sampled_from([None, None, 0.1, 2.0, 60.0]),
        nodes=st.sampled_from([None, None, 3]),
    )


def search_of(found: list[Offer], demand: Demand, ceiling: int | None = None) -> Search:
    graph = ResourceGraph(tuple(found))
    candidates = [
        Candidate(price, each.id, number, graph.kind_list[kind], graph.site_list[site], each.gpu_count)
        for number, (each, price, kind, site) in enumerate(
            zip(graph.offers, graph.prices, graph.kinds, graph.sites, strict=True)
        )
    ]
    tariff = Tariff(_overhead, lambda _gpus: ceiling)
    return Search(demand, tariff, WORK, RECOVERY, candidates=candidates)


def _overhead(provider: str, region: str, nodes: int) -> tuple[int, int | None]:
    fixed = len(provider + region) * NANO // 100 + nodes * NANO // 50
    return fixed, None if provider == "nowhere" else fixed + NANO // 10


def naive_front(search: Search) -> dict[Vector, tuple[str, ...]]:
    """Enumerate every multiset of machines, judge each by itself, and compare all with all."""
    demand = search.demand
    best: dict[Vector, tuple[str, ...]] = {}
    for pools in range(1, demand.max_pools + 1):
        for chosen in combinations(sorted(search.candidates, key=lambda each: each.id), pools):
            limits = [range(1, demand.low + 1) for _ in chosen]
            for counts in product(*limits):
                vector = _judge(search, chosen, counts)
                if vector is not None:
                    key = tuple(each.id for each, count in zip(chosen, counts, strict=True) for _ in range(count))
                    best[vector] = min(best.get(vector, key), key)
    return {one: key for one, key in best.items() if not any(dominates(other, one) for other in best)}


def _serves(demand: Demand, chosen: tuple[Candidate, ...], counts: tuple[int, ...]) -> bool:
    gpus = sum(each.size * count for each, count in zip(chosen, counts, strict=True))
    nodes, kinds = sum(counts), [each.kind for each in chosen]
    sites = sorted({each.site for each in chosen}, key=str)
    alone = nodes == 1
    return (
        gpus >= demand.low
        and (gpus <= demand.high or demand.partial)
        and not any(gpus - each.size >= demand.low for each in chosen)  # no node is removable
        and (demand.nodes_max is None or nodes <= demand.nodes_max)
        and (alone or not demand.fabric or _one_fabric(kinds, sites))
        and (alone or demand.latency_ms is None or _near(kinds, sites, demand.latency_ms))
    )


def _judge(search: Search, chosen: tuple[Candidate, ...], counts: tuple[int, ...]) -> Vector | None:
    if not _serves(search.demand, chosen, counts):
        return None
    kinds = [each.kind for each in chosen]
    gpus = sum(each.size * count for each, count in zip(chosen, counts, strict=True))
    loss_s = round(search.stability(kinds, counts).loss_s_per_day)
    regions: dict[tuple[str, str], int] = {}
    for each, count in zip(chosen, counts, strict=True):
        place = (each.site.provider, each.site.region)
        regions[place] = regions.get(place, 0) + count
    overheads = [_overhead(*place, count) for place, count in regions.items()]
    compute = sum(each.price * count for each, count in zip(chosen, counts, strict=True))
    total = full_chain(compute, loss_s, sum(known for known, _ in overheads))
    uppers = [upper for _, upper in overheads if upper is not None]
    bounded = len(uppers) == len(overheads) and len({each.site for each in chosen}) == 1
    judged = full_chain(compute, loss_s, sum(uppers)) if bounded else total
    ceiling = search.tariff.ceiling(gpus)
    if ceiling is not None and judged > ceiling:
        return None
    throughput = search.throughput(kinds, counts, joint_of([each.site for each in chosen], search.links))
    return Vector(rounded(total), throughput, loss_s)


def _one_fabric(kinds: list[Kind], sites: list[Site]) -> bool:
    fabrics = {kind.machine.fabric for kind in kinds}
    return len(sites) == 1 and len(fabrics) == 1 and fabrics <= {"efa", "infiniband", "roce", "tcpx"}


def _near(kinds: list, sites: list[Site], latency_ms: float) -> bool:  # type: ignore[type-arg]
    rdma = {"efa", "infiniband", "roce", "tcpx"}
    hop_ms = max(0.08 if kind.machine.fabric in rdma else 0.25 for kind in kinds)
    links = [link(one, other).latency_ms for one, other in combinations(sites, 2)]
    return hop_ms <= latency_ms and all(each is not None and each <= latency_ms for each in links)


def result(front: Front[Found]) -> dict[Vector, tuple[str, ...]]:
    return {vector: key for vector, key, _ in front.points}


def made(rows: list[tuple[int, int, Market, int]]) -> list[Offer]:
    return [offer(number, *row) for number, row in enumerate(rows)]


@settings(max_examples=1500, deadline=None)
@given(offers, demands(), st.one_of(st.none(), st.integers(1, 60)))
def test_the_front_is_that_of_a_naive_enumeration(
    rows: list[tuple[int, int, Market, int]], demand: Demand, usd: int | None
) -> None:
    search = search_of(made(rows), demand, None if usd is None else usd * NANO)
    assert result(search.front()) == naive_front(search)


@settings(max_examples=150, deadline=None)
@given(offers, demands(max_pools=3))
def test_the_front_with_three_pools_is_that_of_a_naive_enumeration(
    rows: list[tuple[int, int, Market, int]], demand: Demand
) -> None:
    search = search_of(made(rows[:5]), demand)
    assert result(search.front()) == naive_front(search)


@settings(max_examples=200, deadline=None)
@given(offers, demands(), st.randoms(use_true_random=False))
def test_the_order_of_the_offers_changes_nothing(
    rows: list[tuple[int, int, Market, int]], demand: Demand, random: Random
) -> None:
    found = made(rows)
    shuffled = list(found)
    random.shuffle(shuffled)
    assert result(search_of(found, demand).front()) == result(search_of(shuffled, demand).front())


@settings(max_examples=200, deadline=None)
@given(offers.filter(bool), demands())
def test_one_offer_more_never_makes_the_best_dearer_slower_or_less_stable(
    rows: list[tuple[int, int, Market, int]], demand: Demand
) -> None:
    found = made(rows)
    fewer, more = (list(result(search_of(some, demand).front())) for some in (found[:-1], found))
    for vector in fewer:
        assert any(other == vector or dominates(other, vector) for other in more)


@settings(max_examples=200, deadline=None)
@given(offers, demands(), st.sampled_from([10, 1000]))
def test_prices_in_a_larger_unit_choose_the_same_machines(
    rows: list[tuple[int, int, Market, int]], demand: Demand, factor: int
) -> None:
    rows = [(machine, place, market, price * 100) for machine, place, market, price in rows]
    scaled = [(machine, place, market, price * factor) for machine, place, market, price in rows]
    small, large = search_of(made(rows), demand), search_of(made(scaled), demand)
    for search, times in ((small, 1), (large, factor)):
        search.tariff = Tariff(lambda *place, times=times: (_overhead(*place)[0] * times, None), lambda _gpus: None)
    # rounding is to a fixed step, so a scaled market can only tell more placements apart
    assert set(result(small.front()).values()) <= set(result(large.front()).values())


@settings(max_examples=300, deadline=None)
@given(offers, demands(), st.one_of(st.none(), st.integers(1, 60)))
def test_the_search_by_cost_alone_finds_the_cheapest(
    rows: list[tuple[int, int, Market, int]], demand: Demand, usd: int | None
) -> None:
    search = search_of(made(rows), demand, None if usd is None else usd * NANO)
    least = min((vector.cost for vector in result(search.front())), default=None)
    search.by_cost = True
    found = search.front().points
    assert (found[0][0].cost if found else None) == least
