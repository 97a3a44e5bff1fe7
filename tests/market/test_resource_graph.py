"""The resource graph as one looks at it."""

from __future__ import annotations

from decimal import Decimal

import pytest

from emporion.market.graph import GraphLink, GraphNode, ResourceGraph, Site
from emporion.market.observed import MeasuredLink, NodeReading, Observed
from emporion.market.offers import Catalogue

P4D = "aws/us-east-1/use1-az2/p4d.24xlarge/spot"
EAST = ("aws", "us-east-1", None)


@pytest.fixture(scope="module")
def nodes(bundled: Catalogue) -> dict[str, GraphNode]:
    return {node.offer: node for node in ResourceGraph(bundled.offers).nodes()}


def graph_of(bundled: Catalogue, *sites: Site, observed: Observed | None = None) -> ResourceGraph:
    offers = [each for each in bundled.offers if Site(each.provider, each.region, each.zone) in sites]
    return ResourceGraph(offers, observed) if observed is not None else ResourceGraph(offers)


def test_every_offer_is_a_node(bundled: Catalogue, nodes: dict[str, GraphNode]) -> None:
    assert list(nodes) == [offer.id for offer in bundled.offers]


def test_a_node_has_type_memory_topology_power_place_and_labels(nodes: dict[str, GraphNode]) -> None:
    node = nodes[P4D]
    assert (node.provider, node.region, node.zone, node.area) == ("aws", "us-east-1", "use1-az2", "us-east")
    assert (node.instance_type, node.gpu, node.gpus, node.vram_gb) == ("p4d.24xlarge", "a100-40gb", 8, Decimal(40))
    assert (node.nvlink, node.nvlink_gb_s) == ("nvswitch", Decimal(600))
    assert (node.fabric, node.fabric_gbps) == ("efa", Decimal(400))
    assert node.power_w == 8 * 400
    assert node.labels >= {"a100-40gb", "a100", "nvlink", "efa", "rdma", "x86_64"}
    assert node.site == Site("aws", "us-east-1", "use1-az2")
    assert str(node.lat) == "39.0288"


def test_what_is_not_known_is_none(nodes: dict[str, GraphNode]) -> None:
    node = nodes[P4D]
    assert (node.storage_iops, node.temperature_c, node.spot_placement_score) == (None, None, None)
    runpod = next(node for node in nodes.values() if node.provider == "runpod")
    assert (runpod.lat, runpod.grid_gco2_kwh, runpod.fabric, runpod.nvlink) == (None, None, None, None)
    assert "rdma" not in runpod.labels


def test_a_reading_fills_in_storage_temperature_and_score_of_its_place_alone(bundled: Catalogue) -> None:
    ours = NodeReading("aws", "us-east-1", "use1-az2", "p4d.24xlarge", 180_000.0, 61.0, 7, "fio", "2026-11-30")
    region = NodeReading("aws", "us-east-1", None, "p4d.24xlarge", 90_000.0, None, None, "fio", "2026-11-30")
    graph = ResourceGraph(bundled.offers, Observed(nodes=(region, ours)))
    iops = {
        node.zone: node.storage_iops
        for node in graph.nodes()
        if node.instance_type == "p4d.24xlarge" and node.region == "us-east-1"
    }
    assert iops["use1-az2"] == 180_000
    assert {value for zone, value in iops.items() if zone != "use1-az2"} == {90_000}
    assert {node.storage_iops for node in graph.nodes() if node.region != "us-east-1"} == {None}
    (score,) = {node.spot_placement_score for node in graph.nodes() if node.offer == P4D}
    assert score == 7


SITES = (
    Site("aws", "us-east-1", "use1-az1"),
    Site("aws", "us-east-1", "use1-az2"),
    Site("aws", "eu-west-1", "euw1-az1"),
    Site("gcp", "us-central1", "us-central1-a"),
    Site("runpod", "global", None),
)


def links_of(graph: ResourceGraph) -> dict[tuple[Site, Site, str | None], GraphLink]:
    return {(*link.ends, link.fabric): link for link in graph.links()}


def test_every_two_sites_have_a_link_and_every_fabric_of_a_site_has_one(bundled: Catalogue) -> None:
    graph = graph_of(bundled, *SITES)
    count = len(graph.site_list)
    assert count == len(SITES)
    links = links_of(graph)
    assert sum(one != other for one, other, _ in links) == count * (count - 1) // 2
    assert (SITES[1], SITES[1], "efa") in links
    assert {link.modelled for link in links.values()} == {True}


def test_a_link_has_latency_bandwidth_and_a_price_per_gb_each_way(bundled: Catalogue) -> None:
    links = links_of(graph_of(bundled, *SITES))
    found = next(each for (one, other, _), each in links.items() if {one, other} == {SITES[0], SITES[2]})
    assert found.latency_ms is not None
    assert 30 < found.latency_ms < 60
    assert (found.bandwidth_gbps, found.bandwidth_modelled, found.source) == (5.0, True, None)
    assert found.usd_per_gb == found.usd_per_gb_back == Decimal("0.02")
    clouds = next(each for (one, other, _), each in links.items() if {one, other} == {SITES[0], SITES[3]})
    out, back = (clouds.usd_per_gb, clouds.usd_per_gb_back)
    assert (out if clouds.ends[0].provider == "aws" else back) == Decimal("0.09")
    assert out != back


def test_a_link_of_an_unknown_place_has_no_latency_and_unknown_prices_are_none(bundled: Catalogue) -> None:
    links = links_of(graph_of(bundled, *SITES))
    found = next(each for (one, other, _), each in links.items() if SITES[4] in {one, other} and one != other)
    assert found.latency_ms is None
    assert None in {found.usd_per_gb, found.usd_per_gb_back}


def test_measured_links_and_fabrics_show_who_measured_them(bundled: Catalogue) -> None:
    between = MeasuredLink((SITES[0], SITES[2]), 34.5, 12.0, None, "iperf3", "2026-11-30")
    within = MeasuredLink((EAST, EAST), 0.02, None, "efa", "probe", "2026-11-29")
    links = links_of(graph_of(bundled, *SITES, observed=Observed(links=(between, within))))
    found = next(each for (one, other, _), each in links.items() if {one, other} == {SITES[0], SITES[2]})
    assert (found.latency_ms, found.bandwidth_gbps) == (34.5, 12.0)
    assert (found.modelled, found.bandwidth_modelled, found.source, found.as_of) == (
        False,
        False,
        "iperf3",
        "2026-11-30",
    )
    fabric = links[SITES[1], SITES[1], "efa"]
    assert (fabric.latency_ms, fabric.modelled, fabric.source) == (0.02, False, "probe")


def test_zones_of_one_region_pay_where_a_figure_is_known(bundled: Catalogue) -> None:
    ours = (Site("gcp", "us-central1", "us-central1-a"), Site("gcp", "us-central1", "us-central1-b"))
    (found,) = [link for link in graph_of(bundled, *ours).links() if link.ends[0] != link.ends[1]]
    assert found.usd_per_gb == Decimal("0.01")
    (aws,) = [link for link in graph_of(bundled, *SITES[:2]).links() if link.ends[0] != link.ends[1]]
    assert aws.usd_per_gb is None


def test_without_observations_all_zones_of_a_region_share_their_kinds(bundled: Catalogue) -> None:
    plain = ResourceGraph(bundled.offers)
    within = MeasuredLink((SITES[1], SITES[1]), 0.02, None, "efa", "probe", "2026-11-29")
    seen = ResourceGraph(bundled.offers, Observed(links=(within,)))
    assert len(plain.kind_list) < len(seen.kind_list) <= len(plain.kind_list) + 20
    assert {kind.machine.hop_ms for kind in seen.kind_list} == {None, 0.02}
