"""Known quotas: over the whole placement, never guessed, and read from a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plans import AWS, NOW, written

from emporion.market.errors import UserError
from emporion.market.intent import intent_from_flags
from emporion.market.offer import Market
from emporion.market.offers import Catalogue
from emporion.market.placement.quota_file import load_quotas
from emporion.market.placement.quotas import Quota, Unit
from emporion.market.plan import Plan, make_plan

LARGE = "aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,30,,test,2026-11-30"
WEST = "aws,us-west-2,usw2-az1,p4d.24xlarge,a100-40gb,8,40,96,1152,40,,test,2026-11-30"
UNSIZED = "aws,us-east-1,use1-az1,p4d.24xlarge,a100-40gb,8,40,,1152,30,,test,2026-11-30"
ROW = {"provider": "aws", "region": "us-east-1", "type": "p4*", "market": "on_demand", "limit": "96", "unit": "vcpus"}
EAST = Quota("aws", "us-east-1", "p4*", Market.ON_DEMAND, 96, Unit.VCPUS)


def plan(catalogue: Catalogue, gpus: str, *quotas: Quota) -> Plan:
    return make_plan(intent_from_flags(gpus=gpus), catalogue, clouds=AWS, now=NOW, quotas=quotas, max_pools=1)


def regions(made: Plan) -> list[list[tuple[str, int]]]:
    return [[(pool.offer.region, pool.count) for pool in each.pools] for each in made.solutions]


def test_a_placement_above_a_known_quota_is_refused_with_the_numbers(tmp_path: Path) -> None:
    market = written(tmp_path, (LARGE, WEST))
    assert regions(plan(market, "a100:16")) == [[("us-east-1", 2)]]
    made = plan(market, "a100:16", EAST)
    assert regions(made) == [[("us-west-2", 2)]]
    reasons = {each.reason for each in made.rejected}
    assert "quota: aws us-east-1 p4* on_demand allows 96 vCPUs, 192 needed" in reasons


def test_a_quota_that_suffices_changes_nothing(tmp_path: Path) -> None:
    market = written(tmp_path, (LARGE, WEST))
    assert regions(plan(market, "a100:8", EAST)) == regions(plan(market, "a100:8"))


@pytest.mark.parametrize(
    "quota",
    [
        Quota("aws", "us-east-1", "p4*", Market.SPOT, 0, Unit.MACHINES),
        Quota("aws", "us-east-1", "p5*", None, 0, Unit.MACHINES),
        Quota("gcp", "*", "*", None, 0, Unit.GPUS),
    ],
    ids=["another market", "another family", "another provider"],
)
def test_a_quota_of_something_else_limits_nothing(tmp_path: Path, quota: Quota) -> None:
    market = written(tmp_path, (LARGE,))
    assert regions(plan(market, "a100:8", quota)) == [[("us-east-1", 1)]]


def test_a_quota_in_vcpus_does_not_limit_machines_whose_vcpus_are_not_known(tmp_path: Path) -> None:
    assert plan(written(tmp_path, (UNSIZED,)), "a100:16", EAST).feasible


def test_machines_of_several_regions_count_together_where_the_quota_says_so(tmp_path: Path) -> None:
    market = written(tmp_path, (LARGE, WEST))
    intent = intent_from_flags(gpus="a100:16")
    for limit, mixed in ((16, True), (15, False)):
        quotas = (Quota("aws", "*", "*", None, limit, Unit.GPUS),)
        made = make_plan(intent, market, clouds={}, now=NOW, quotas=quotas)
        assert made.feasible is mixed
    east = (Quota("aws", "us-east-1", "*", None, 8, Unit.GPUS),)
    made = make_plan(intent, market, clouds={}, now=NOW, quotas=east)
    assert [("us-east-1", 1), ("us-west-2", 1)] in regions(made)


def test_quotas_are_never_relaxed_and_the_error_names_the_one_to_raise(tmp_path: Path) -> None:
    made = plan(written(tmp_path, (LARGE,)), "a100:16", EAST)
    assert not made.feasible
    assert made.relaxations == ()
    assert made.error is not None
    assert made.error.fix is not None
    assert "ask for more quota: aws us-east-1 p4* on_demand allows 96 vCPUs, 192 needed" in made.error.fix


# The file


def as_csv(folder: Path, text: str) -> Path:
    path = folder / "quotas.csv"
    path.write_text(text)
    return path


def test_csv_and_yaml_say_the_same(tmp_path: Path) -> None:
    table = as_csv(tmp_path, ",".join(ROW) + "\n" + ",".join(ROW.values()) + "\naws,,,,4,machines\n")
    document = tmp_path / "quotas.yaml"
    document.write_text(
        "quotas:\n- {provider: aws, region: us-east-1, type: p4*, market: on-demand, limit: 96, unit: vcpus}\n"
        "- {provider: aws, limit: 4, unit: machines}\n"
    )
    expected = (EAST, Quota("aws", "*", "*", None, 4, Unit.MACHINES))
    assert load_quotas(table) == load_quotas(document) == expected


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"limit": "many"}, "'many' is no limit"),
        ({"limit": "-1"}, "'-1' is no limit"),
        ({"limit": ""}, "no limit"),
        ({"provider": ""}, "no provider"),
        ({"unit": "cores"}, "no unit is called 'cores'"),
        ({"market": "spto"}, "did you mean spot"),
        ({"family": "p4"}, "unknown key 'family'"),
        ({"regoin": "us"}, "did you mean region"),
    ],
    ids=str,
)
def test_a_wrong_row_is_told_with_its_line(tmp_path: Path, change: dict[str, str], said: str) -> None:
    row = {**ROW, **change}
    path = as_csv(tmp_path, ",".join(row) + "\n" + ",".join(row.values()) + "\n")
    with pytest.raises(UserError) as caught:
        load_quotas(path)
    assert caught.value.code == "E-QUOTA"
    assert said in str(caught.value)
    assert f"{path}:2" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "E-YAML"),
        ("quotas: many\n", "E-QUOTA"),
        ("limits: []\n", "E-QUOTA"),
        ("quotas: [1]\n", "E-QUOTA"),
        ("quotas: [{provider: [aws], limit: 1, unit: gpus}]\n", "E-QUOTA"),
        ("quotas: [{provider: aws\n", "E-YAML"),
    ],
)
def test_a_document_that_is_no_list_of_quotas_is_refused(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "quotas.yaml"
    path.write_text(text)
    with pytest.raises(UserError) as caught:
        load_quotas(path)
    assert caught.value.code == code


def test_a_file_that_is_not_there_is_one_clear_error(tmp_path: Path) -> None:
    for name in ("quotas.csv", "quotas.yaml"):
        with pytest.raises(UserError) as caught:
            load_quotas(tmp_path / name)
        assert caught.value.code == "E-FILE"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=120))
def test_no_text_brings_a_traceback(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.getbasetemp()
    for name in ("fuzz.csv", "fuzz.yaml"):
        path = folder / name
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        try:
            load_quotas(path)
        except UserError as error:
            assert error.code in {"E-FILE", "E-YAML", "E-QUOTA", "E-KEY"}  # noqa: PT017 - anything else is a traceback
