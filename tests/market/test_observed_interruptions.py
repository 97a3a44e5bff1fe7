"""Observed interruptions pull the published or assumed rate of a pool, and nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plans import AWS, NOW

from emporion.market.figures import figure
from emporion.market.intent import intent_from_flags
from emporion.market.observed import NodeReading, Observed, SpotRecord
from emporion.market.observed.spot import SpotEvents
from emporion.market.offer import Market, Offer
from emporion.market.offers import Catalogue
from emporion.market.plan import Plan, make_plan
from emporion.market.stability import Hazard, Recovering, hazard, observed_hazard, stability

P4D = "aws/us-east-1/use1-az2/p4d.24xlarge/spot"

priors = st.one_of(
    st.builds(Hazard, st.floats(0.001, 5), st.just(value=False)),
    st.builds(Hazard, st.floats(0.01, 5), st.just(value=True)),
)
hours = st.floats(0.001, 100_000)
counts = st.integers(0, 10_000)


def offer_of(bundled: Catalogue, offer_id: str = P4D) -> Offer:
    return next(offer for offer in bundled.offers if offer.id == offer_id)


def seen(up_hours: float, interruptions: int, zone: str | None = "use1-az2", region: str = "us-east-1") -> SpotRecord:
    return SpotRecord("aws", region, zone, "p4d.24xlarge", up_hours, interruptions, "guard", "2026-11-30")


def test_no_observation_is_the_prior_exactly(bundled: Catalogue) -> None:
    elsewhere = SpotEvents([seen(1000, 50, region="us-west-2"), seen(1000, 50, zone="use1-az1")])
    for offer in bundled.offers:
        if (offer.region, offer.instance_type) != ("us-west-2", "p4d.24xlarge") and offer.zone != "use1-az1":
            assert hazard(offer, elsewhere) is hazard(offer)


def test_the_rate_is_that_of_the_gamma_poisson_rule(bundled: Catalogue) -> None:
    prior = hazard(offer_of(bundled))
    found = hazard(offer_of(bundled), SpotEvents([seen(810, 3)]))
    assert found.per_day == pytest.approx((prior.per_day / 24 * 2190 + 3) / (2190 + 810) * 24)
    assert not found.assumed


def test_records_of_a_zone_and_of_its_region_add_up(bundled: Catalogue) -> None:
    events = SpotEvents([seen(500, 1), seen(400, 1, zone=None), seen(300, 9, zone="use1-az9"), seen(100, 1)])
    assert events.exposure(offer_of(bundled)) == (1000, 3)
    assert events.exposure(replace(offer_of(bundled), zone=None)) == (1300, 12)


def test_on_demand_machines_are_not_touched(bundled: Catalogue) -> None:
    on_demand = replace(offer_of(bundled), market=Market.ON_DEMAND)
    assert hazard(on_demand, SpotEvents([seen(100, 50)])) == Hazard(0.0, assumed=False)


@given(priors, hours, counts)
def test_the_rate_lies_between_the_prior_and_what_was_observed(prior: Hazard, up: float, count: int) -> None:
    observed = count / up * 24
    found = observed_hazard(prior, up, count).per_day
    assert min(prior.per_day, observed) * (1 - 1e-9) <= found <= max(prior.per_day, observed) * (1 + 1e-9)


@given(priors, hours, counts, st.integers(1, 100), st.floats(0.001, 10_000))
def test_more_interruptions_raise_the_rate_and_more_quiet_hours_lower_it(
    prior: Hazard, up: float, count: int, more: int, longer: float
) -> None:
    base = observed_hazard(prior, up, count).per_day
    assert observed_hazard(prior, up, count + more).per_day > base
    assert observed_hazard(prior, up + longer, count).per_day < base


@given(priors, hours, counts, st.floats(1, 100))
def test_the_same_rate_seen_for_longer_pulls_further(prior: Hazard, up: float, count: int, times: float) -> None:
    observed = count / up * 24
    shorter = abs(observed_hazard(prior, up, count).per_day - observed)
    longer_hours = up * times
    trusted = figure("spot_unknown_trust_hours" if prior.assumed else "spot_published_trust_hours")
    longer = abs((prior.per_day * trusted + observed * longer_hours) / (trusted + longer_hours) - observed)
    assert longer <= shorter * (1 + 1e-6) + 1e-9


@given(priors, st.floats(0.001, 8))
def test_a_few_quiet_hours_hardly_move_it(prior: Hazard, up: float) -> None:
    assert observed_hazard(prior, up, 0).per_day >= prior.per_day * 0.95


@given(priors, counts, st.floats(0.001, 2000))
def test_an_assumed_rate_stays_marked_until_it_was_watched_for_a_week(prior: Hazard, count: int, up: float) -> None:
    assert observed_hazard(prior, up, count).assumed is (prior.assumed and up < 168)


@given(st.floats(0, 40), st.floats(0.01, 10), st.sampled_from([None, 600, 3600]), st.floats(1, 3000))
def test_the_loss_rises_with_the_rate_of_interruptions(
    rate: float, more: float, interval: int | None, gb: float
) -> None:
    recovery = Recovering(gb, interval)
    less, greater = (stability((Hazard(each, assumed=False),), 8, 1, recovery) for each in (rate, rate + more))
    assert less.loss_s_per_day < greater.loss_s_per_day or greater.loss_s_per_day == 86_400
    assert 0 < greater.checkpoint_interval_s <= 86_400
    assert interval is None or greater.checkpoint_interval_s == interval


def plan_of(bundled: Catalogue, *records: SpotRecord, **flags: object) -> Plan:
    intent = intent_from_flags(gpus="a100-40gb:8", **flags)
    return make_plan(intent, bundled, clouds=AWS, now=NOW, observed=Observed(spot=records))


def test_a_pool_seen_to_be_lost_ten_times_an_hour_is_no_longer_recommended(bundled: Catalogue) -> None:
    before = plan_of(bundled).recommended
    assert before is not None
    pool = before.pools[0].offer
    assert pool.market is Market.SPOT
    lost = SpotRecord("aws", pool.region, pool.zone, pool.instance_type, 5000, 50_000, "guard", "2026-11-30")
    after = plan_of(bundled, lost).recommended
    assert after is not None
    assert after.pools[0].offer.id != pool.id


def test_what_was_observed_elsewhere_changes_no_placement(bundled: Catalogue) -> None:
    elsewhere = SpotRecord("aws", "us-east-1", "use1-az2", "g5.xlarge", 5000, 3, "guard", "2026-11-30")
    assert plan_of(bundled, elsewhere).solutions == plan_of(bundled).solutions


def test_a_region_that_nobody_knows_is_told_with_the_nearest(bundled: Catalogue) -> None:
    (told,) = [each for each in plan_of(bundled, seen(9, 1, region="us-esat-1")).warnings if "measurements" in each]
    assert told == ("measurements at aws us-esat-1 are of no use, no such region is known: did you mean us-east-1")
    assert not [each for each in plan_of(bundled, seen(9, 1)).warnings if "measurements" in each]


def test_a_placement_score_is_shown_and_changes_nothing(bundled: Catalogue) -> None:
    reading = NodeReading("aws", "us-east-1", None, "p4d.24xlarge", None, None, 3, "aws ec2", "2026-11-30")
    plan = make_plan(
        intent_from_flags(gpus="a100-40gb:8"), bundled, clouds=AWS, now=NOW, observed=Observed(nodes=(reading,))
    )
    plain = plan_of(bundled)
    assert plan.solutions == plain.solutions
    (told,) = set(plan.warnings) - set(plain.warnings)
    assert told == f"{P4D}: its spot placement score is 3 of 10 (aws ec2, 2026-11-30); no rate is made of it"


@pytest.mark.parametrize(("market", "markets"), [("spot", {"spot"}), ("on_demand", {"on_demand"})])
def test_the_market_asked_for_stays_the_market(bundled: Catalogue, market: str, markets: set[str]) -> None:
    plan = plan_of(bundled, seen(500, 500), market=market)
    assert {pool.offer.market.value for each in plan.solutions for pool in each.pools} == markets


def test_an_assumed_rate_is_told_for_the_recommended_placement_alone(bundled: Catalogue) -> None:
    def told(*records: SpotRecord) -> list[str]:
        flags: dict[str, object] = {"providers": ("aws",), "market": "spot", "regions": ("ca-central-1",)}
        intent = intent_from_flags(gpus="a100-40gb:8", scheduler="none", **flags)
        plan = make_plan(intent, bundled, clouds=AWS, now=NOW, observed=Observed(spot=records))
        assert plan.recommended is not None
        return [warning for warning in plan.warnings if "interruption" in warning]

    (alone,) = told()
    assert "no interruption rate is published: 1 a day is assumed" in alone
    some = SpotRecord("aws", "ca-central-1", None, "p4d.24xlarge", 24, 0, "guard", "2026-11-30")
    (little,) = told(some)
    assert "only 24 h were observed: 0.875 a day is assumed" in little
    assert told(replace(some, up_hours=200)) == []
