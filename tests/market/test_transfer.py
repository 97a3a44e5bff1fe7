"""Traffic: what it costs to bring data to a cluster and to take data out, each line with the stage that causes it."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.cost_lines import CostLine
from emporion.market.errors import UserError
from emporion.market.intent import Intent
from emporion.market.intent.model import DataSet, Gpus, Lifecycle, Memory, Model, Resources, Stage
from emporion.market.offers import load_bundled
from emporion.market.plan.places import place_problems
from emporion.market.prices import price_book
from emporion.market.sites import regions
from emporion.market.transfer import dataset_place, moving_usd, transfer_lines

AWS, GCP = ("aws", "us-east-1"), ("gcp", "us-central1")
CLOUDS = sorted(pair for pair in regions() if pair[0] in {"aws", "gcp", "azure"})


def gb(size: float) -> Memory:
    return Memory(round(size * 10**9), binary=False)


def wish(*data: DataSet, hours: int | None = 1, stages: tuple[Stage, ...] = (), path: str | None = None) -> Intent:
    model = Model(hours=None if hours is None else Decimal(hours), parameters=10**9)
    lifecycle = Lifecycle(checkpoint_interval_s=3600)
    return Intent(
        "x",
        Resources(Gpus((), (), 8, 8)),
        lifecycle=lifecycle,
        data=data,
        model=model,
        stages=stages,
        checkpoint_path=path,
    )


def lines(intent: Intent, site: tuple[str, str]) -> list[CostLine]:
    return list(transfer_lines(intent, *site))


def amounts(intent: Intent, site: tuple[str, str]) -> list[Decimal | None]:
    return [line.usd_per_hour for line in lines(intent, site)]


# Case 28


def test_case_28_an_explicit_0_is_a_line_of_0_dollars() -> None:
    (line,) = lines(wish(DataSet(egress=gb(0))), AWS)
    assert (line.item, line.quantity, line.usd_per_hour, line.upper_usd_per_hour) == (
        "data out", Decimal(0), Decimal(0), Decimal(0),
    )  # fmt: skip


def test_case_28_without_data_it_is_not_estimated() -> None:
    (line,) = lines(wish(), AWS)
    assert (line.usd_per_hour, line.source) == (None, "not estimated: the intent names no data")


@pytest.mark.parametrize(
    ("site", "to", "usd"),
    [(GCP, None, "45.00"), (("aws", "eu-west-1"), ("aws", "eu-west-1"), "10.00"), (AWS, AWS, "0")],
    ids=["another cloud pays the internet rate", "another region pays the rate between regions", "there it is free"],
)
def test_case_28_500_gb_pay_the_rate_of_their_way(site: tuple[str, str], to: tuple[str, str] | None, usd: str) -> None:
    (line,) = lines(wish(DataSet("s3://b/us-east-1", gb(500))), site)
    assert line.usd_per_hour == Decimal(usd)
    rate = price_book().egress(*AWS, to)
    if site != AWS:
        assert rate is not None
        assert line.usd_per_hour == rate.first_usd_per_gb * 500


def test_case_28_each_line_names_the_stage_that_causes_it() -> None:
    stage = Stage("tokenise", data_in=(DataSet("s3://b/us-east-1", gb(500)),), data_out=(DataSet(egress=gb(10)),))
    found = lines(wish(DataSet("gs://c/us-central1", gb(1)), stages=(stage,)), GCP)
    assert [(line.item, line.stage) for line in found] == [
        ("data from gs://c/us-central1", None), ("data from s3://b/us-east-1", "tokenise"), ("data out", "tokenise"),
    ]  # fmt: skip


# Where data lie


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (DataSet("s3://b/us-east-1/x"), ("aws", "us-east-1")),
        (DataSet("gs://b/us-central1"), ("gcp", "us-central1")),
        (DataSet("az://b/westeurope/x"), ("azure", "westeurope")),
        (DataSet("s3://b/x", region="us-west-2"), ("aws", "us-west-2")),
        (DataSet("s3://b/us-east-1", region="us-west-2"), ("aws", "us-west-2")),
        (DataSet("https://b.s3.eu-west-1.amazonaws.com/x"), ("aws", "eu-west-1")),
        (DataSet("https://storage.googleapis.com/b/x"), ("gcp", None)),
        (DataSet("s3://b/not-us-east-1-really"), ("aws", None)),
        (DataSet("https://example.org/us-east-1"), None),
        (DataSet("hf://org/name"), None),
        (DataSet(), None),
    ],
)
def test_a_dataset_lies_where_it_says(data: DataSet, place: tuple[str, str | None] | None) -> None:
    assert dataset_place(data) == place


def test_several_sources_each_have_their_line() -> None:
    data = (
        DataSet("s3://b/us-east-1", gb(10)), DataSet("gs://c/us-central1", gb(10)), DataSet("az://d/eastus", gb(10)),
        DataSet("https://example.org/x", gb(10)), DataSet("nfs://server/export", gb(10)), DataSet(egress=gb(10)),
    )  # fmt: skip
    assert amounts(wish(*data), AWS) == [0, Decimal("1.2"), Decimal("0.87"), None, None, Decimal("0.9")]


def test_a_bucket_of_an_unknown_region_is_bounded_by_the_dearest_of_the_provider() -> None:
    (line,) = lines(wish(DataSet("s3://b/x", gb(100))), GCP)
    dearest = max(
        rate.cost(Decimal(100))
        for provider, region in CLOUDS
        if provider == "aws" and (rate := price_book().egress(provider, region, None)) is not None
    )
    assert (line.usd_per_hour, line.upper_usd_per_hour) == (None, dearest)
    assert moving_usd(Decimal(100), ("aws", None), GCP) == (dearest, False)


def test_a_region_that_the_store_does_not_have_is_an_error_with_the_nearest() -> None:
    intent = wish(DataSet("s3://b", gb(1), region="us-esat-1"), stages=(
        Stage("a", data_in=(DataSet("gs://b", gb(1), region="us-east-1"),)),
    ))  # fmt: skip
    problems = place_problems(intent, load_bundled())
    assert [(each.code, each.what) for each in problems] == [
        ("E-REGION", "no region of aws is called 'us-esat-1'"), ("E-REGION", "no region of gcp is called 'us-east-1'"),
    ]  # fmt: skip
    assert problems[0].fix == "did you mean us-east-1"
    assert all(isinstance(each, UserError) for each in problems)
    assert place_problems(wish(DataSet("hf://x/y", gb(1), region="anywhere")), load_bundled()) == []


# Bands


def test_data_that_go_the_same_way_share_its_bands() -> None:
    tb = 9_000
    together = amounts(wish(DataSet("s3://b/us-east-1", gb(2 * tb))), GCP)
    apart = amounts(wish(DataSet("s3://b/us-east-1", gb(tb)), DataSet("s3://c/us-east-1", gb(tb))), GCP)
    assert sum(filter(None, apart)) == sum(filter(None, together))
    assert apart[1] is not None
    assert apart[0] is not None
    assert apart[1] < apart[0]
    elsewhere = amounts(wish(DataSet("s3://b/us-east-1", gb(tb)), DataSet("s3://c/us-east-2", gb(tb))), GCP)
    assert elsewhere[0] == elsewhere[1]


PLACES = st.sampled_from(CLOUDS)
SIZES = st.floats(0.001, 300_000).map(lambda size: round(size, 3))


@given(start=PLACES, site=PLACES, sizes=st.lists(SIZES, min_size=2, max_size=4), hours=st.integers(1, 2000))
def test_traffic_is_never_negative_and_never_falls_with_the_volume(
    start: tuple[str, str], site: tuple[str, str], sizes: list[float], hours: int
) -> None:
    scheme = {"aws": "s3", "gcp": "gs", "azure": "az"}[start[0]]
    sums: list[Decimal] = []
    for count in range(1, len(sizes) + 1):
        data = [DataSet(f"{scheme}://b{number}", gb(sizes[number]), region=start[1]) for number in range(count)]
        found = lines(wish(*data, hours=hours), site)
        known = [line.usd_per_hour for line in found if line.usd_per_hour is not None]
        assert len(known) in (0, count)
        assert all(usd >= 0 for usd in known)
        for line in found:
            if line.usd_per_hour is not None:
                assert line.upper_usd_per_hour is not None
                assert line.upper_usd_per_hour >= line.usd_per_hour
        sums.append(sum(known, Decimal(0)))
    assert sums == sorted(sums)


@given(start=PLACES, site=PLACES, size=SIZES)
def test_data_of_a_said_region_never_cost_more_than_the_bound_of_an_unsaid_one(
    start: tuple[str, str], site: tuple[str, str], size: float
) -> None:
    exact, sure = moving_usd(Decimal(str(size)), start, site)
    most, _ = moving_usd(Decimal(str(size)), (start[0], None), site)
    assert sure
    if exact is not None and most is not None:
        assert exact <= most


# Checkpoints in the user's own store


def test_checkpoints_in_the_clusters_own_region_cause_no_traffic() -> None:
    assert [line.item for line in lines(wish(path="s3://b/us-east-1/ckpt"), AWS)] == ["data transfer"]


def test_checkpoints_in_another_region_pay_the_rate_between_regions() -> None:
    line = lines(wish(path="s3://b/us-west-2/ckpt"), AWS)[-1]
    assert (line.item, line.quantity, line.unit_price) == ("checkpoint traffic", Decimal(14), Decimal("0.02"))
    assert line.usd_per_hour == 14 * Decimal("0.02")
    assert "aws us-east-1 to aws us-west-2" in line.source


def test_checkpoints_in_a_bucket_of_an_unsaid_region_are_bounded() -> None:
    line = lines(wish(path="s3://b/ckpt"), AWS)[-1]
    assert (line.item, line.usd_per_hour) == ("checkpoint traffic", None)
    assert line.upper_usd_per_hour is not None
    assert line.upper_usd_per_hour >= 14 * Decimal("0.02")
