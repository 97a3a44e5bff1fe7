"""Checks Z1 to Z10: what Azure would refuse, refused before anything is registered."""

from __future__ import annotations

import ipaddress
from dataclasses import replace
from decimal import Decimal

import pytest
from azure_placements import AZURE, AZURE_POOL, GPU_IMAGE, azure_pool, azure_storage
from hypothesis import given
from hypothesis import strategies as st

from emporion.components.azure import validate
from emporion.components.azure.deployable import not_deployable
from emporion.components.azure.images import ImageReference, image_queries
from emporion.components.azure.plan import (
    BASTION_CIDR,
    INFINIBAND_RANGE,
    LUSTRE_SPACE,
    VNET_CIDR,
    assignment_name,
    lustre_cidr,
    lustre_sku,
    lustre_tib,
    max_price,
    nodes_cidr,
    storage_account_name,
    wants_proximity_group,
)
from emporion.components.azure.sizes import sizes
from emporion.components.azure.validate import check
from emporion.market.clouds import Cloud
from emporion.market.errors import UserError
from emporion.market.offer import Market
from emporion.market.offers import load_bundled
from emporion.market.pin import PinnedPlacement

GROUP = "subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/capacityReservationGroups/mine"
PLAIN = {"instance_type": "Standard_NC24ads_A100_v4", "gpus_per_node": 1, "rdma": False, "fabric": None}


def test_the_demo_placement_passes() -> None:
    check(AZURE)


@pytest.mark.parametrize(
    "placement",
    [
        pytest.param(azure_pool(count=100), id="as many as one placement group takes"),
        pytest.param(azure_pool(**PLAIN, count=101), id="more without InfiniBand"),
        pytest.param(azure_pool(**PLAIN, market=Market.RESERVED), id="a reservation without InfiniBand"),
        pytest.param(azure_pool(**PLAIN, market=Market.ON_DEMAND, reservation=GROUP), id="the user's reservation"),
        pytest.param(azure_pool(spot_max_price_usd_per_hour=Decimal("9.50")), id="a ceiling"),
        pytest.param(replace(AZURE, spot_fallback="true", on_interruption="replace_pool"), id="whole pools fall back"),
        pytest.param(
            replace(azure_pool(**PLAIN), spot_fallback="true", on_interruption="replace_node"), id="no set binds them"
        ),
        pytest.param(azure_storage(object_lock_days=30), id="immutable"),
        pytest.param(azure_storage(file_system="lustre", file_system_gib=2400), id="lustre, rounded up"),
        pytest.param(replace(AZURE, tags=(("cost centre", "4711: ä/b"),)), id="tags"),
    ],
)
def test_what_azure_takes_passes(placement: PinnedPlacement) -> None:
    check(placement)


@pytest.mark.parametrize(
    ("placement", "code", "what"),
    [
        pytest.param(
            replace(AZURE, pools=(AZURE_POOL, replace(AZURE_POOL, name="gpu-1"))),
            "E-INFINIBAND", "pools gpu-0, gpu-1 ask for RDMA", id="Z1 two sets",
        ),
        pytest.param(azure_pool(count=101), "E-INFINIBAND", "InfiniBand joins 100 at most", id="Z2 101 nodes"),
        pytest.param(
            azure_pool(market=Market.ON_DEMAND, reservation=GROUP), "E-RESERVATION",
            "does not take with a capacity reservation", id="Z4 the user's reservation",
        ),
        pytest.param(
            azure_pool(market=Market.RESERVED), "E-RESERVATION", "does not take with a capacity reservation",
            id="Z4 a reservation of ours",
        ),
        pytest.param(
            azure_pool(**PLAIN, market=Market.ON_DEMAND, reservation="cr-0123456789abcdef0"),
            "E-RESERVATION", "is not the id of a capacity reservation group", id="a reservation of another cloud",
        ),
        pytest.param(
            azure_pool(**PLAIN, reservation=GROUP), "E-RESERVATION", "only one of them can hold", id="spot reserved"
        ),
        pytest.param(azure_pool(capacity_block=True), "E-RESERVATION", "Azure does not sell", id="capacity block"),
        pytest.param(
            azure_pool(market=Market.ON_DEMAND, spot_max_price_usd_per_hour=Decimal(3)),
            "E-SPOT", "is not spot and has a spot ceiling", id="Z5 ceiling without spot",
        ),
        pytest.param(
            azure_pool(spot_max_price_usd_per_hour=Decimal(0)), "E-SPOT", "which Azure does not take", id="Z5 zero"
        ),
        pytest.param(
            azure_pool(spot_max_price_usd_per_hour=Decimal("1.234567")), "E-SPOT", "takes five decimals",
            id="Z5 six decimals",
        ),
        pytest.param(
            replace(AZURE, spot_fallback="true", on_interruption="replace_node"), "E-INFINIBAND",
            "InfiniBand does not leave a scale set", id="a node of another priority",
        ),
        pytest.param(
            azure_pool(instance_type="Standard_NC24ads_A100_v4"), "E-INFINIBAND", "has no InfiniBand", id="no fabric"
        ),
        pytest.param(azure_pool(instance_type="Standard_ND96asr_v9"), "E-TYPE", "not known to this", id="unknown"),
        pytest.param(
            azure_pool(instance_type="Standard_ND40rs_v2"), "E-TYPE", "does not support V100", id="no driver"
        ),
        pytest.param(azure_pool(count=0), "E-TYPE", "has 0 nodes", id="no nodes"),
        pytest.param(
            azure_pool(image=replace(GPU_IMAGE, arch="arm64")), "E-TYPE", "is for arm64, and", id="architecture"
        ),
        pytest.param(
            azure_pool(image=replace(GPU_IMAGE, id="microsoft-dsvm:ubuntu-hpc:2404:latest")), "E-IMAGE",
            "is neither publisher:offer:sku:version", id="a version that moves",
        ),
        pytest.param(azure_pool(name="gpu-"), "E-NAME", "cannot be the name of a machine", id="machine name"),
        pytest.param(azure_pool(name="g" * 65), "E-NAME", "cannot be the name of a machine", id="long machine name"),
        pytest.param(
            azure_storage(checkpoint_path="s3://bucket/x"), "E-BUCKET", "s3://bucket/x is not a store", id="own store"
        ),
        pytest.param(azure_storage(object_lock_days=146_001), "E-BUCKET", "146001 days", id="too long kept"),
        pytest.param(
            azure_storage(file_system="lustre", file_system_gib=2400, file_system_mbps_per_tib=1000), "E-LUSTRE",
            "of 1000 MB/s per TiB", id="lustre speed",
        ),
        pytest.param(azure_storage(file_system="lustre"), "E-LUSTRE", "of ? GiB", id="lustre without a size"),
        pytest.param(
            azure_storage(file_system="lustre", file_system_gib=500_000), "E-LUSTRE", "of 500000 GiB", id="lustre size"
        ),
        pytest.param(azure_pool(**PLAIN, count=20_000), "E-ADDRESSES", "do not fit", id="addresses"),
        pytest.param(replace(AZURE, tags=(("a/b", "c"),)), "E-TAG", "'a/b' cannot be the key", id="tag key"),
        pytest.param(replace(AZURE, tags=(("Azure-x", "c"),)), "E-TAG", "cannot be the key", id="reserved tag key"),
        pytest.param(replace(AZURE, tags=(("a", "c" * 257),)), "E-TAG", "longer than Azure takes", id="tag value"),
        pytest.param(
            replace(AZURE, tags=tuple((f"t{n}", "") for n in range(47))), "E-TAG", "47 tags", id="too many tags"
        ),
    ],
)  # fmt: skip
def test_what_azure_would_refuse_is_refused_first(placement: PinnedPlacement, code: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        check(placement)
    assert what in str(caught.value)
    assert code in str(caught.value)


def test_z3_the_networks_range_is_not_that_of_infiniband() -> None:
    assert not list(validate.network(VNET_CIDR))
    assert [error.code for error in validate.network(ipaddress.IPv4Network("172.16.0.0/12"))] == ["E-INFINIBAND"]
    assert str(INFINIBAND_RANGE) == "172.16.0.0/16"


def test_all_problems_are_told_at_once() -> None:
    placement = replace(azure_pool(count=101, spot_max_price_usd_per_hour=Decimal(0)), tags=(("a/b", ""),))
    with pytest.raises(UserError) as caught:
        check(placement)
    for code in ("E-INFINIBAND", "E-SPOT", "E-TAG"):
        assert code in str(caught.value)


def test_the_ranges_of_subnets_lie_in_the_network_and_apart() -> None:
    ranges = [ipaddress.ip_network(each) for each in (nodes_cidr(AZURE), BASTION_CIDR, str(LUSTRE_SPACE))]
    assert all(each.subnet_of(VNET_CIDR) for each in ranges)  # type: ignore[arg-type]
    assert not any(a.overlaps(b) for a in ranges for b in ranges if a is not b)
    big = ipaddress.ip_network(nodes_cidr(azure_pool(**PLAIN, count=10_000)))
    assert big.prefixlen == 18
    assert not big.overlaps(LUSTRE_SPACE)


@given(st.text(max_size=80))
def test_an_accounts_name_is_one_that_azure_takes(emporion_id: str) -> None:
    name = storage_account_name("0123456789abcdef0123")
    assert not list(validate.account_name(name))
    told = list(validate.account_name(emporion_id))
    ascii_name = emporion_id.isascii() and emporion_id.isalnum() and emporion_id == emporion_id.lower()
    assert bool(told) != (ascii_name and 3 <= len(emporion_id) <= 24)


def test_a_role_assignments_name_is_a_guid_that_follows_from_the_resource() -> None:
    assert assignment_name("a") == assignment_name("a") != assignment_name("b")
    assert len(assignment_name("a")) == 36


def test_spot_without_a_ceiling_is_never_evicted_for_its_price() -> None:
    assert max_price(AZURE_POOL) == -1.0
    assert max_price(replace(AZURE_POOL, spot_max_price_usd_per_hour=Decimal("9.5"))) == 9.5


def test_nodes_without_infiniband_are_kept_close_by_a_proximity_group() -> None:
    assert not wants_proximity_group(AZURE_POOL)
    assert wants_proximity_group(replace(AZURE_POOL, rdma=False))
    assert not wants_proximity_group(replace(AZURE_POOL, rdma=False, count=1))
    assert not wants_proximity_group(replace(AZURE_POOL, rdma=False, market=Market.RESERVED))


@pytest.mark.parametrize(
    ("gib", "speed", "tib", "sku", "prefix"),
    [
        (1200, 125, 16, "AMLFS-Durable-Premium-125", 27),
        (16384, 125, 16, "AMLFS-Durable-Premium-125", 27),
        (16385, 125, 32, "AMLFS-Durable-Premium-125", 26),
        (1, 500, 4, "AMLFS-Durable-Premium-500", 27),
        (100_000, 40, 144, "AMLFS-Durable-Premium-40", 24),
    ],
)
def test_a_file_system_is_rounded_up_to_what_is_sold(gib: int, speed: int, tib: int, sku: str, prefix: int) -> None:
    storage = azure_storage(file_system="lustre", file_system_gib=gib, file_system_mbps_per_tib=speed).storage
    assert (lustre_tib(storage), lustre_sku(storage)) == (tib, sku)
    assert ipaddress.ip_network(lustre_cidr(storage)).prefixlen == prefix


def test_every_bundled_offer_of_azure_is_in_the_table_and_the_table_agrees_with_it() -> None:
    offers = [offer for offer in load_bundled().offers if offer.provider == "azure"]
    known = sizes()
    assert {offer.instance_type for offer in offers} <= set(known)
    for offer in offers:
        size = known[offer.instance_type]
        assert (size.gpus, size.arch) == (offer.gpu_count, offer.arch)
        assert size.infiniband == bool(offer.fabric and offer.fabric.rdma)
    refused = {offer.instance_type for offer in offers if not_deployable(offer)}
    assert refused == {
        "Standard_NV36ads_A10_v5", "Standard_NV36adms_A10_v5", "Standard_NV72ads_A10_v5", "Standard_ND96isr_MI300X_v5",
    }  # fmt: skip


def test_an_unknown_size_is_not_deployable() -> None:
    offer = next(offer for offer in load_bundled().offers if offer.provider == "azure")
    assert "is not known to this version" in (not_deployable(replace(offer, instance_type="Standard_X")) or "")


def test_images_are_read_in_both_spellings() -> None:
    urn = image_queries()["gpu", "x86_64"].urn("24.04.2026110101")
    assert urn == "microsoft-dsvm:ubuntu-hpc:2404:24.04.2026110101"
    assert ImageReference.parse(urn).plan is False
    assert ImageReference.parse("p:o:s:1.0.0#plan").plan is True
    own = ImageReference.parse("subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/mine")
    assert own.id == "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/mine"


def test_a_shell_goes_through_the_bastion_of_the_machines_own_group() -> None:
    from emporion.components.azure import CLOUD  # noqa: PLC0415 - the record, as the core sees it

    assert isinstance(CLOUD, Cloud)
    node = "/subscriptions/s/resourceGroups/emporion-dev-1/providers/Microsoft.Compute/virtualMachines/controller"
    argv = list(CLOUD.shell_command("eastus", node))
    assert argv[:4] == ["az", "network", "bastion", "ssh"]
    assert argv[argv.index("--resource-group") + 1] == "emporion-dev-1"
    assert argv[argv.index("--target-resource-id") + 1] == node
