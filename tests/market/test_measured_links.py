"""Measured links: which of them counts where, and that the exact search takes them as it takes modelled ones."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import combinations, product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import AWS, NOW, written

from emporion.market.graph import Links, ResourceGraph, Site, link
from emporion.market.intent import intent_from_flags
from emporion.market.observed import MeasuredLink, Observed
from emporion.market.offer import Fabric, Market, Nvlink, Offer
from emporion.market.performance import Joint, Workload
from emporion.market.placement.candidates import Candidate, Tariff, full_chain, rounded
from emporion.market.placement.demand import Demand
from emporion.market.placement.front import Vector, dominates, four_digits
from emporion.market.placement.search import Search
from emporion.market.plan import make_plan, plan_json
from emporion.market.stability import Recovering

EAST_1, EAST_2 = Site("aws", "us-east-1", "use1-az1"), Site("aws", "us-east-1", "use1-az2")
WEST, GOOGLE = Site("aws", "us-west-2", "usw2-az1"), Site("gcp", "us-east4", "us-east4-a")
SITES = (EAST_1, EAST_2, WEST, GOOGLE)
NANO = 10**9


def measured(
    one: tuple[str, str, str | None],
    other: tuple[str, str, str | None],
    latency_ms: float,
    gbps: float | None = None,
    fabric: str | None = None,
) -> MeasuredLink:
    return MeasuredLink((one, other), latency_ms, gbps, fabric, "probe", "2026-11-30")


def anywhere(site: Site) -> tuple[str, str, None]:
    return (site.provider, site.region, None)


def test_a_measurement_takes_the_place_of_the_model_in_both_directions() -> None:
    table = Links([measured(EAST_1, GOOGLE, 0.9, 20.0)])
    found = table.between(EAST_1, GOOGLE)
    assert found[:4] == (0.9, 20.0, False, False)
    assert (found.source, found.as_of) == ("probe", "2026-11-30")
    assert table.between(GOOGLE, EAST_1) == found
    assert table.between(EAST_2, GOOGLE) == link(EAST_2, GOOGLE)
    assert link(EAST_2, GOOGLE).modelled


def test_the_measurement_that_names_more_zones_counts() -> None:
    table = Links(
        [
            measured(anywhere(EAST_1), anywhere(GOOGLE), 3.0),
            measured(EAST_1, anywhere(GOOGLE), 2.0),
            measured(GOOGLE, EAST_1, 1.0),
        ]
    )
    assert table.between(EAST_1, GOOGLE).latency_ms == 1.0
    assert table.between(EAST_1, Site("gcp", "us-east4", "us-east4-b")).latency_ms == 2.0
    assert table.between(GOOGLE, EAST_2).latency_ms == 3.0


def test_a_bandwidth_that_was_not_measured_stays_the_models() -> None:
    found = Links([measured(EAST_1, WEST, 30.0)]).between(EAST_1, WEST)
    assert (found.modelled, found.bandwidth_modelled) == (False, True)
    assert found.bandwidth_gbps == link(EAST_1, WEST).bandwidth_gbps


def test_a_region_without_zones_named_twice_is_the_link_between_its_zones() -> None:
    table = Links([measured(anywhere(EAST_1), anywhere(EAST_1), 0.4)])
    assert table.between(EAST_1, EAST_2).latency_ms == 0.4
    assert table.within(EAST_1, "efa") is None


def test_a_latency_within_a_site_is_that_of_its_fabric() -> None:
    table = Links(
        [measured(anywhere(EAST_1), anywhere(EAST_1), 0.05, fabric="efa"), measured(EAST_2, EAST_2, 0.02, fabric="efa")]
    )
    assert [each and each.latency_ms for each in (table.within(EAST_1, "efa"), table.within(EAST_2, "efa"))] == [
        0.05,
        0.02,
    ]
    assert table.within(WEST, "efa") is None
    assert table.within(EAST_1, "ethernet") is None
    assert table.measures_within("aws", "us-east-1")
    assert not table.measures_within("aws", "us-west-2")


measurements = st.lists(
    st.builds(
        lambda pair, ms, gbps: measured(pair[0], pair[1], ms, gbps),
        st.sampled_from(list(combinations(SITES, 2))),
        st.floats(0.01, 200),
        st.one_of(st.none(), st.floats(0.1, 900)),
    ),
    max_size=5,
)


@given(measurements)
def test_no_link_is_better_than_the_best(found: list[MeasuredLink]) -> None:
    table = Links(found)
    for one, other in combinations(SITES, 2):
        each, (latency_ms, gbps) = table.between(one, other), table.best(same_region=one[:2] == other[:2])
        assert each.latency_ms is not None
        assert each.latency_ms >= latency_ms
        assert gbps is None or (each.bandwidth_gbps is not None and each.bandwidth_gbps <= gbps)


def offer(number: int, kind: int, site: Site, price: int) -> Offer:
    name, gpus, fabric, gbps = (("half", 4, Fabric.ETHERNET, 50), ("whole", 8, Fabric.EFA, 400))[kind]
    return Offer(
        id=f"{'/'.join(map(str, site))}/{name}-{number}",
        provider=site.provider,
        region=site.region,
        zone=site.zone,
        instance_type=name,
        market=Market.ON_DEMAND,
        usd_per_hour=Decimal(price) / 10,
        gpu="a100-40gb",
        gpu_count=gpus,
        gpu_vram_gb=Decimal(40),
        vcpus=None,
        ram_gb=None,
        source="test",
        as_of=None,
        nvlink=Nvlink.NVSWITCH,
        nvlink_gb_s_per_gpu=Decimal(600),
        fabric=fabric,
        fabric_gbps=Decimal(gbps),
    )


def search_of(offers: list[Offer], demand: Demand, observed: Observed) -> Search:
    graph = ResourceGraph(offers, observed)
    candidates = [
        Candidate(price, each.id, number, graph.kind_list[kind], graph.site_list[site], each.gpu_count)
        for number, (each, price, kind, site) in enumerate(
            zip(graph.offers, graph.prices, graph.kinds, graph.sites, strict=True)
        )
    ]
    tariff = Tariff(lambda _provider, _region, _nodes: (0, 0), lambda _gpus: None)
    return Search(
        demand, tariff, Workload(7e9, 2), Recovering(98.0, None), links=graph.link_table, candidates=candidates
    )


def naive(search: Search) -> set[Vector]:
    """Enumerate one and two pools; judge each pair of sites by its own link."""
    demand, found = search.demand, set()
    chosen = [each for pools in (1, 2) for each in combinations(search.candidates, pools)]
    counted = [(each, counts) for each in chosen for counts in product(range(1, 5), repeat=len(each))]
    for parts, counts in counted:
        gpus = sum(each.size * count for each, count in zip(parts, counts, strict=True))
        if gpus != demand.low:
            continue
        kinds, sites = [each.kind for each in parts], sorted({each.site for each in parts}, key=str)
        joint: Joint | None = None
        if demand.latency_ms is not None and sum(counts) > 1:
            hops = [0.08 if each.machine.fabric == "efa" else 0.25 for each in kinds]
            hops = [
                hop if each.machine.hop_ms is None else each.machine.hop_ms
                for hop, each in zip(hops, kinds, strict=True)
            ]
            if max(hops) > demand.latency_ms:
                continue
        if len(sites) == 2:
            between = search.links.between(*sites)
            assert between.latency_ms is not None
            if demand.latency_ms is not None and between.latency_ms > demand.latency_ms:
                continue
            joint = Joint(between.latency_ms, between.bandwidth_gbps, 2)
        compute = sum(each.price * count for each, count in zip(parts, counts, strict=True))
        loss_s = round(search.stability(kinds, counts).loss_s_per_day)
        speed = four_digits(search.performance(kinds, counts, joint).images_per_second)
        found.add(Vector(rounded(full_chain(compute, loss_s, 0)), speed, loss_s))
    return {one for one in found if not any(dominates(other, one) for other in found)}


fabrics = st.lists(
    st.builds(
        lambda site, ms: measured(site, site, ms, fabric="efa"),
        st.sampled_from([EAST_1, EAST_2, WEST]),
        st.floats(0.01, 3),
    ),
    max_size=2,
)


markets = st.lists(st.tuples(st.integers(0, 1), st.sampled_from(SITES), st.integers(10, 40)), min_size=1, max_size=6)
wishes = st.tuples(st.sampled_from([8, 12, 16]), st.sampled_from([None, 0.1, 1.0, 40.0]))


def compared(
    rows: list[tuple[int, Site, int]], wish: tuple[int, float | None], links: tuple[MeasuredLink, ...]
) -> None:
    gpus, latency_ms = wish
    demand = Demand(gpus, gpus, False, True, None, None, 2, 0, latency_ms, None, False)  # noqa: FBT003 - a record
    search = search_of([offer(number, *row) for number, row in enumerate(rows)], demand, Observed(links=links))
    assert {vector for vector, _, _ in search.front().points} == naive(search)


@settings(max_examples=400, deadline=None)
@given(markets, wishes, measurements, fabrics)
def test_the_front_over_measured_links_is_that_of_a_naive_enumeration(
    rows: list[tuple[int, Site, int]],
    wish: tuple[int, float | None],
    links: list[MeasuredLink],
    within: list[MeasuredLink],
) -> None:
    compared(rows, wish, (*links, *within))


@pytest.mark.soak
@settings(max_examples=30_000, deadline=None)
@given(markets, wishes, measurements, fabrics)
def test_so_are_thirty_thousand_fronts(
    rows: list[tuple[int, Site, int]],
    wish: tuple[int, float | None],
    links: list[MeasuredLink],
    within: list[MeasuredLink],
) -> None:
    compared(rows, wish, (*links, *within))


ROWS = (
    "aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,8,,test,2026-11",
    "acme,east,,x4,a100-40gb,4,40,48,500,10,,test,2026-11",
)


@pytest.fixture
def links_of(tmp_path: Path) -> Callable[[tuple[MeasuredLink, ...]], list[dict[str, object]]]:
    def planned(found: tuple[MeasuredLink, ...]) -> list[dict[str, object]]:
        intent = intent_from_flags(gpus="a100:12", latency="0.5ms", scheduler="none")
        plan = make_plan(intent, written(tmp_path, ROWS), clouds=AWS, now=NOW, observed=Observed(links=found))
        document = plan_json(plan)
        both = [*document["solutions"], *document["not_deployable"]]
        return [link for each in both for link in each["links"] if len(link["sites"]) == 2]

    return planned


def test_a_measured_link_lets_a_latency_bound_hold_and_the_plan_says_who_measured_it(
    links_of: Callable[[tuple[MeasuredLink, ...]], list[dict[str, object]]],
) -> None:
    acme = ("acme", "east", None)
    assert links_of(()) == []  # nobody knows where acme stands
    assert links_of((measured(EAST_1, acme, 0.6),)) == []
    (found,) = links_of((measured(EAST_1, acme, 0.3),))
    assert (found["latency_ms"], found["modelled"]) == (0.3, False)
    assert (found["source"], found["as_of"]) == ("probe", "2026-11-30")
