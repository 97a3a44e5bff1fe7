"""Checks A1 to A15: what AWS would refuse, refused before anything is registered."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pytest
from placements import GPU_IMAGE, PLACEMENT, POOL, with_pool, with_storage

from emporion.components.aws import validate
from emporion.components.aws.deployable import not_deployable
from emporion.components.aws.instance_types import instance_types
from emporion.components.aws.nics import Nic
from emporion.components.aws.plan import RULES, addresses_needed, subnets
from emporion.components.aws.validate import check
from emporion.market.errors import UserError
from emporion.market.offer import Market, Offer
from emporion.market.pin import PinnedPlacement

BLOCK = {"market": Market.ON_DEMAND, "capacity_block": True, "reservation": "cr-0123456789abcdef0"}


def texts(found: Iterator[UserError]) -> list[str]:
    return [error.what for error in found]


def test_the_demo_placement_passes() -> None:
    check(PLACEMENT)


@pytest.mark.parametrize("missing", ["self-in", "self-out"])
def test_a1_a_group_without_a_rule_for_itself_is_refused_though_it_is_open_to_the_internet(missing: str) -> None:
    (error,) = validate.efa_rules([rule for rule in RULES if rule.name != missing])
    assert "names the group itself" in error.what


def test_a1_our_rules_pass() -> None:
    assert not list(validate.efa_rules(RULES))


def test_a2_a_public_address_with_several_interfaces_is_refused() -> None:
    layout = [Nic("efa", 0, 0), Nic("efa", 1, 1)]
    assert texts(validate.public_address("gpu-0", layout, public=True)) == [
        "pool gpu-0 asks for a public address with 2 network interfaces"
    ]
    assert not list(validate.public_address("gpu-0", layout, public=False))
    assert not list(validate.public_address("gpu-0", layout[:1], public=True))


def test_a3_a_layout_with_the_wrong_card_is_refused() -> None:
    kind = instance_types()["p4d.24xlarge"]
    assert texts(validate.interfaces(kind, [Nic("efa", 0, 0), Nic("efa", 7, 1)])) == ["p4d.24xlarge: card 7 of 4"]


@pytest.mark.parametrize(
    ("placement", "code", "what"),
    [
        pytest.param(
            with_pool(instance_type="g6.xlarge", gpus_per_node=1), "E-EFA", "g6.xlarge has no EFA", id="A4 no efa"
        ),
        pytest.param(
            with_pool(instance_type="p4x.24xlarge"), "E-TYPE", "p4x.24xlarge are not known", id="unknown type"
        ),
        pytest.param(with_pool(count=0), "E-TYPE", "has 0 nodes", id="no nodes"),
        pytest.param(
            with_pool(image=replace(GPU_IMAGE, arch="arm64")),
            "E-TYPE",
            "is for arm64, and p4d.24xlarge is x86_64",
            id="arch",
        ),
        pytest.param(
            replace(PLACEMENT, pools=(POOL, replace(POOL, name="gpu-1", zone="use1-az4"))),
            "E-ZONE",
            "in 2 zones (use1-az2, use1-az4), and EFA does not leave one",
            id="A5 two zones",
        ),
        pytest.param(
            with_pool(market=Market.ON_DEMAND, capacity_block=True),
            "E-RESERVATION",
            "its id is not given",
            id="A6 no id",
        ),
        pytest.param(
            with_pool(**BLOCK, instance_type="g6.48xlarge"),
            "E-RESERVATION",
            "not sold in capacity blocks",
            id="A6 type",
        ),
        pytest.param(
            with_pool(market=Market.ON_DEMAND, reservation="i-0123"), "E-RESERVATION", "is not the id", id="A7 id shape"
        ),
        pytest.param(
            with_pool(reservation="cr-0123456789abcdef0"),
            "E-RESERVATION",
            "only one of them can hold",
            id="spot reserved",
        ),
        pytest.param(
            replace(
                PLACEMENT,
                pools=tuple(
                    replace(
                        POOL,
                        name=f"gpu-{n}",
                        instance_type=kind,
                        market=Market.RESERVED,
                        reservation="cr-0123456789abcdef0",
                    )
                    for n, kind in enumerate(("p4d.24xlarge", "p5.48xlarge"))
                ),
            ),
            "E-RESERVATION",
            "asked for p4d.24xlarge in use1-az2 and p5.48xlarge in use1-az2",
            id="A7 two types",
        ),
        pytest.param(with_storage(file_system="lustre", file_system_gib=1000), "E-LUSTRE", "1000 GiB", id="A8 size"),
        pytest.param(with_storage(file_system="lustre"), "E-LUSTRE", "? GiB", id="A8 no size"),
        pytest.param(
            with_storage(file_system="lustre", file_system_gib=1200, file_system_mbps_per_tib=200),
            "E-LUSTRE",
            "200 MB/s per TiB",
            id="A8 speed",
        ),
        pytest.param(with_pool(count=2100), "E-ADDRESSES", "do not fit", id="A15"),
        pytest.param(
            with_storage(checkpoint_path="gs://bucket/x"), "E-BUCKET", "not an s3://bucket/prefix", id="bucket"
        ),
        pytest.param(replace(PLACEMENT, tags=(("aws:x", "1"),)), "E-TAG", "cannot be the key of a tag", id="tag key"),
        pytest.param(replace(PLACEMENT, tags=(("team", "a|b"),)), "E-TAG", "value of tag 'team'", id="tag value"),
        pytest.param(
            replace(PLACEMENT, tags=tuple((f"k{n}", "v") for n in range(47))), "E-TAG", "47 tags", id="too many tags"
        ),
        pytest.param(
            replace(PLACEMENT, nat=False, pools=(replace(POOL, zone="use1-atl2-az1"),)),
            "E-ZONE",
            "no interface endpoints",
            id="local zone without a way out",
        ),
        pytest.param(
            replace(
                with_storage(file_system="lustre", file_system_gib=1200), pools=(replace(POOL, zone="usw2-lax1-az1"),)
            ),
            "E-ZONE",
            "FSx for Lustre is not offered",
            id="local zone with lustre",
        ),
    ],
)
def test_a_placement_that_aws_would_refuse(placement: PinnedPlacement, code: str, what: str) -> None:
    with pytest.raises(UserError) as caught:
        check(placement)
    problems = caught.value.problems()
    assert [problem.code for problem in problems] == [code]
    assert what in problems[0].what
    assert problems[0].fix


def test_all_problems_are_told_at_once() -> None:
    placement = replace(
        with_storage(file_system="lustre", file_system_gib=7, checkpoint_path="x"), tags=(("aws:", "x"),)
    )
    with pytest.raises(UserError) as caught:
        check(placement)
    assert [problem.code for problem in caught.value.problems()] == ["E-LUSTRE", "E-BUCKET", "E-TAG"]


@pytest.mark.parametrize(
    ("deployment", "metadata", "refused"),
    [
        ("PERSISTENT_2", True, False),
        ("PERSISTENT_2", False, True),
        ("PERSISTENT_1", True, True),
        ("SCRATCH_2", True, True),
    ],
)
def test_a9_efa_to_a_file_system_that_would_drop_it_is_refused(
    deployment: str, *, metadata: bool, refused: bool
) -> None:
    assert bool(list(validate.lustre_efa(deployment, efa=True, metadata_configuration=metadata))) is refused
    assert not list(validate.lustre_efa(deployment, efa=False, metadata_configuration=metadata))


def test_a15_a_subnet_has_room_for_every_address_twice_and_for_the_rest() -> None:
    # 5 kept by AWS, 2 nodes x 4 addresses x 2, and the controller at host 10.
    assert addresses_needed(PLACEMENT, "use1-az2") == 5 + 16 + 11
    without = replace(PLACEMENT, controller=None, scheduler="none", nat=False)
    assert addresses_needed(without, "use1-az2") == 5 + 16 + 6


def test_a15_a_large_cluster_gets_a_larger_subnet_and_the_edge_fits() -> None:
    assert subnets(PLACEMENT) == {"use1-az2": "10.0.0.0/20"}
    assert subnets(with_pool(count=510)) == {"use1-az2": "10.0.0.0/20"}
    assert subnets(with_pool(count=511)) == {"use1-az2": "10.0.0.0/18"}
    with pytest.raises(ValueError, match="do not fit"):
        subnets(with_pool(count=5000))


def offer(instance_type: str, zone: str | None = "use1-az1") -> Offer:
    return Offer(
        id=f"aws/us-east-1/{instance_type}/spot", provider="aws", region="us-east-1", zone=zone,
        instance_type=instance_type,
        market=Market.SPOT, usd_per_hour=Decimal(1), gpu=None, gpu_count=8, gpu_vram_gb=None, vcpus=None, ram_gb=None,
        source="test", as_of=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("instance_type", "zone", "reason"),
    [
        ("p4d.24xlarge", "use1-az1", None),
        ("p5e.48xlarge", None, None),
        ("p6e-gb200.36xlarge", "use1-az1", "network interfaces of p6e-gb200.36xlarge are not known"),
        ("p3.16xlarge", "use1-az1", "driver does not support V100"),
        ("p3dn.24xlarge", "use1-az1", "driver does not support V100"),
        ("p5.48xlarge", "use1-atl2-az1", "is an AWS Local Zone"),
    ],
)
def test_why_an_offer_cannot_be_stood_up(instance_type: str, zone: str | None, reason: str | None) -> None:
    found = not_deployable(offer(instance_type, zone))
    assert found is None if reason is None else reason in (found or "")
