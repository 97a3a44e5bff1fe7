"""Whatever is written for a query or an intent: it is read, or ends in an error that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emporion.market.errors import ExitCode, UserError
from emporion.market.intent import intent_from_flags
from emporion.market.intent.build import build
from emporion.market.intent.document import read_text
from emporion.market.intent.keys import ROOT
from emporion.market.intent.load import FLAGS
from emporion.market.intent.read import Reading, key_paths
from emporion.market.intent.spellings import canonical
from emporion.market.intent.tree import Problems
from emporion.market.offer import Market, Offer
from emporion.market.query import FIELDS, parse_query

NOW = datetime(2026, 12, 1, tzinfo=UTC)
OFFER = Offer("a/b/c/spot", "a", "b", None, "c", Market.SPOT, Decimal(1), None, 0, None, None, None, "", None)


def problems_of(read: Callable[[], object]) -> tuple[UserError, ...]:
    """Return what a reader complains of: each with exit code 2 and a sentence."""
    try:
        read()
    except UserError as error:
        found = error.problems()
        if all(each.exit_code is ExitCode.BAD_INPUT and each.what for each in found):
            return found
        raise
    return ()


_PLAIN = "8 80gb 80gib $2.5 25gbps 7d 99.5% 12.1 12.* spot us-* a100 a100-80gb efa nan -1 1e9 2,5 0x10 ü = [ $ v"
_VALUES = st.sampled_from([*_PLAIN.split(), "9" * 400, '"pytorch==2.1.0"', "'x y'", "''"])
_WORDS = st.sampled_from(["and", "or", "not", "in", "is", "known", "unknown", "(", ")", "[", "]", ",", "AND", "&&"])
_PIECES = st.one_of(
    st.sampled_from(sorted(FIELDS)),
    _VALUES,
    _WORDS,
    st.sampled_from(["<", "<=", "==", "!=", ">", ">="]),
    st.text(max_size=6),
)
_COMPARISON = st.builds(
    "{} {} {}".format, st.sampled_from(sorted(FIELDS)), st.sampled_from(["<", "==", "!=", ">=", "in", "is"]), _VALUES
)
_QUERIES = st.one_of(
    st.lists(_PIECES, max_size=12).map(" ".join),
    st.recursive(
        _COMPARISON,
        lambda inner: st.one_of(
            st.builds("({})".format, inner),
            st.builds("not {}".format, inner),
            st.builds("{} {} {}".format, inner, st.sampled_from(["and", "or", "in"]), inner),
        ),
        max_leaves=6,
    ),
    st.text(max_size=40),
)


@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=_QUERIES)
def test_a_query_is_read_or_refused_with_its_place(text: str) -> None:
    problems = problems_of(lambda: parse_query(text))
    assert all(problem.code == "E-WHERE" and "\n" not in problem.what for problem in problems)
    if not problems:
        query = parse_query(text)
        assert parse_query(query.text).text == query.text
        assert query.test(OFFER, NOW) in (True, False, None)
        assert set(query.fields) <= set(FIELDS)


_LEAF = st.one_of(
    _VALUES, st.text(max_size=8), st.sampled_from(["null", "true", "~", "a100:8", "$5/hr", "low-latency"])
)
_KEYS = st.sampled_from(sorted({path.rpartition(".")[2] for path in key_paths()} | {"gpu", "spot", "min_ram", "nix"}))
_TREES = st.recursive(
    _LEAF,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]"),
        st.lists(st.tuples(_KEYS, inner), max_size=4).map(
            lambda pairs: "{" + ", ".join(f"{key}: {value}" for key, value in pairs) + "}"
        ),
    ),
    max_leaves=8,
)
_DOCUMENTS = st.one_of(
    st.lists(st.tuples(_KEYS, _TREES), max_size=5).map(
        lambda pairs: "\n".join(f"{key}: {value}" for key, value in pairs)
    ),
    st.text(max_size=60),
)


@settings(max_examples=5000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=_DOCUMENTS)
def test_an_intent_is_read_or_refused_problem_by_problem(text: str) -> None:
    problems = Problems("intent.yaml")

    def read() -> None:
        reading = Reading(problems)
        values = reading.section(canonical(read_text(text, "intent.yaml", problems), problems), ROOT)
        build(values, reading, name="x", source=None)

    for problem in (*problems_of(read), *problems.found):
        assert (problem.where or "").startswith("intent.yaml")


@settings(max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    given_flags=st.dictionaries(st.sampled_from([flag.name for flag in FLAGS if not flag.switch]), _LEAF, max_size=4)
)
def test_flags_are_read_or_refused(given_flags: dict[str, str]) -> None:
    many = {flag.name for flag in FLAGS if flag.many}
    values = {name: (text,) if name in many else text for name, text in given_flags.items()}
    for problem in problems_of(lambda: intent_from_flags(**values)):
        assert (problem.where or "").startswith(("--", "resources", "cost_control", "constraints"))
