"""The stability model against the formulas and their published examples."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emporion.market.ages import age_s
from emporion.market.intent import intent_from_flags
from emporion.market.offer import Market, Offer
from emporion.market.offers import Catalogue
from emporion.market.stability import Hazard, Recovering, checkpoint_interval_s, hazard, recovering, stability

RECOVERY = Recovering(100.0, None)


def offer_of(catalogue: Catalogue, offer_id: str) -> Offer:
    return next(offer for offer in catalogue.offers if offer.id == offer_id)


def test_a_bucket_of_the_spot_advisor_becomes_a_rate_per_day(bundled: Catalogue) -> None:
    found = hazard(offer_of(bundled, "aws/us-east-1/use1-az2/p4d.24xlarge/spot"))  # bucket 2: 10-15 % a month
    assert found.per_day == pytest.approx(-math.log(1 - 0.15) / 730 * 24)
    assert not found.assumed


def test_a_pool_without_a_published_rate_gets_the_prior_and_is_marked(bundled: Catalogue) -> None:
    spot = [offer for offer in bundled.offers if offer.market is Market.SPOT and offer.provider == "gcp"]
    assert {hazard(offer) for offer in spot} == {Hazard(1.0, assumed=True)}
    assert hazard(spot[0]).per_day > max(hazard(offer).per_day for offer in bundled.offers if not hazard(offer).assumed)


def test_on_demand_machines_are_only_lost_to_hardware(bundled: Catalogue) -> None:
    on_demand = offer_of(bundled, "aws/us-east-1/use1-az2/p4d.24xlarge/on_demand")
    assert hazard(on_demand) == Hazard(0.0, assumed=False)
    found = stability((hazard(on_demand),), 16, 2, RECOVERY)
    assert found.interruptions_per_day == pytest.approx(16 * 24 / 51_000)


def test_a_pool_is_interrupted_as_one_however_many_nodes_it_has() -> None:
    pool = Hazard(0.5, assumed=False)
    few, many = (stability((pool,), 0, nodes, RECOVERY) for nodes in (1, 8))
    assert few.interruptions_per_day == many.interruptions_per_day == 0.5
    assert stability((pool, pool), 0, 2, RECOVERY).interruptions_per_day == 1.0


@pytest.mark.parametrize(
    ("write_s", "between_s", "minutes"), [(60, 4 * 3600, 21.2), (60, 24 * 3600, 53.0), (120, 3600, 14.2)]
)
def test_the_interval_is_dalys(write_s: float, between_s: float, minutes: float) -> None:
    assert checkpoint_interval_s(write_s, between_s) / 60 == pytest.approx(minutes, abs=0.1)


def test_a_checkpoint_longer_than_the_time_between_interruptions_is_taken_once_in_between() -> None:
    assert checkpoint_interval_s(8000, 3600) == 3600


def test_mean_recovery_is_boot_restore_and_half_an_interval() -> None:
    found = stability((Hazard(1.0, assumed=False),), 0, 2, Recovering(100.0, 1800))
    assert found.mean_recovery_s == pytest.approx(180 + 120 + 100 / 2.5 + 900)
    assert found.loss_s_per_day == pytest.approx(found.mean_recovery_s)


def test_a_shorter_interval_of_the_intent_loses_less() -> None:
    often, seldom = (stability((Hazard(1.0, assumed=False),), 8, 1, Recovering(100.0, each)) for each in (600, 3600))
    assert often.loss_s_per_day < seldom.loss_s_per_day


def test_the_checkpoint_has_fourteen_bytes_per_parameter() -> None:
    intent = intent_from_flags(gpus="a100:8", parameters="13b", checkpoint_interval="30m")
    assert recovering(intent).checkpoint_gb == pytest.approx(182.0)
    assert recovering(intent).interval_s == 1800


@given(
    st.floats(0, 50), st.floats(0, 50), st.integers(1, 512), st.integers(1, 64), st.integers(1, 64), st.floats(1, 5000)
)
def test_more_interruptions_or_fewer_nodes_never_lose_less(
    rate: float, more: float, gpus: int, nodes: int, extra: int, size_gb: float
) -> None:
    recovery = Recovering(size_gb, None)
    base = stability((Hazard(rate, assumed=False),), gpus, nodes, recovery).loss_s_per_day
    worse = stability((Hazard(rate + more, assumed=False),), gpus, nodes, recovery).loss_s_per_day
    wider = stability((Hazard(rate, assumed=False),), gpus, nodes + extra, recovery).loss_s_per_day
    assert worse >= base * (1 - 1e-9)
    assert wider <= base * (1 + 1e-9)
    assert base <= 86_400


@pytest.mark.parametrize(
    ("as_of", "days"), [("2026-11-30", 1.0), ("2026-11", 30.0), ("2026", 334.0), ("2026-11-30T12:00:00+00:00", 0.5)]
)
def test_a_price_is_as_old_as_the_first_instant_of_its_date(as_of: str, days: float) -> None:
    assert age_s(as_of, datetime(2026, 12, 1, tzinfo=UTC)) == days * 86_400
    assert age_s(None, datetime(2026, 12, 1, tzinfo=UTC)) == math.inf
