"""Why an offer is in no placement, against every placement with it, tried one by one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plans import plan_of, written

from emporion.market.placement.candidates import Candidate
from emporion.market.placement.choose import Choice
from emporion.market.placement.demand import divisions
from emporion.market.placement.reasons import Reasons

PLACES = ("us-east-1,use1-az1", "us-east-1,use1-az2", "eu-west-1,euw1-az1")
SIZES = (1, 2, 3, 4, 8)
TYPES = ("p4d.24xlarge", "odd", "plain")
ROWS = st.lists(
    st.tuples(st.sampled_from(PLACES), st.sampled_from(TYPES), st.sampled_from(SIZES), st.integers(60, 200)),
    min_size=1,
    max_size=6,
)
WISHES = st.fixed_dictionaries(
    {"gpus": st.sampled_from(["a100:4", "a100:8", "a100:5..7"])},
    optional={
        "max_cost": st.sampled_from(["$5/hr", "$9/hr", "$1/gpu/hr"]),
        "latency": st.sampled_from(["0.1ms", "2ms", "60ms"]),
        "bandwidth": st.sampled_from(["25gbps"]),
        "nodes": st.sampled_from(["2..3"]),
    },
)


def placements(choice: Choice, candidate: Candidate) -> Iterator[bool]:
    """Yield for every placement with an offer whether it is within the budget."""
    search, demand = choice.search(choice.candidates), choice.demand
    alone: list[tuple[Candidate, ...]] = [(candidate,)]
    for chosen in [*alone, *((candidate, other) for other in choice.candidates if other is not candidate)]:
        kinds = tuple(each.kind for each in chosen)
        sites = list(dict.fromkeys(each.site for each in chosen))
        if len(sites) > 1 and not demand.accepts_link(choice.graph.link(*sites)):
            continue
        for counts in divisions(demand, [each.size for each in chosen]):
            if demand.node_problem(sum(counts)) is None and search.serves(kinds, counts):
                loss_s = round(search.stability(kinds, counts).loss_s_per_day)
                _, judged = search.costs(list(zip(chosen, counts, strict=True)), loss_s)
                gpus = sum(each.size * count for each, count in zip(chosen, counts, strict=True))
                yield search.affordable(judged, gpus)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, wish=WISHES)
def test_a_reason_is_true_of_every_placement_with_the_offer(
    rows: list[tuple[str, str, int, int]], wish: dict[str, str], tmp_path: Path
) -> None:
    catalogue = written(
        tmp_path,
        tuple(
            f"aws,{place},{name}-{number},a100-40gb,{size},40,8,64,{cents * size / 100},,test,2026-11"
            for number, (place, name, size, cents) in enumerate(rows)
        ),
    )
    choice = plan_of(catalogue, scheduler="none", **wish).choice
    reasons = Reasons(choice)
    for candidate in choice.candidates:
        kept = list(placements(choice, candidate))
        match reasons.of(candidate):
            case "every placement with it is over the budget":
                assert kept
                assert not any(kept)
            case "another placement is at least as cheap, fast and stable":
                assert kept
                assert any(kept)
            case _:
                assert not kept
