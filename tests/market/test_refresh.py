from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from cloud_ask import NOW, FakeAsk
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emporion.market.errors import UserError
from emporion.market.money import Rate
from emporion.market.offers.adapter import Adapter, Ask, Row
from emporion.market.offers.answers import row
from emporion.market.offers.catalogue import Catalogue, OfferFilter
from emporion.market.offers.document import OPTIONAL, REQUIRED
from emporion.market.offers.load import load_bundled, load_csv, load_market
from emporion.market.offers.refresh import Result, chosen_adapters, refresh
from emporion.market.offers.refreshed import read_status

BUNDLED = load_bundled()


def offer(number: int = 1, *, provider: str = "vast", price: str = "1.5", **cells: str) -> Row:
    made = row(
        provider=provider, region="US,NA", instance_type=f"box-{number}", gpu="A100 SXM4", gpu_count=1,
        on_demand=Decimal(price), spot=Decimal("0.5"), source="a test", as_of="2026-12-01T06:00:00Z",
        more={"gpu_vram_gb": "80"},
    )  # fmt: skip
    return {**made, **cells}


def adapter(fetch: Callable[[Ask], Iterable[Row]], provider: str = "vast", **more: Any) -> Adapter:
    return Adapter(
        provider, provider, f"source of {provider}", more.pop("needs", ()), lambda ask: iter(fetch(ask)), **more
    )


def lists(*rows: Row) -> Callable[[Ask], Iterable[Row]]:
    return lambda _ask: rows


def fails(*rows: Row) -> Callable[[Ask], Iterator[Row]]:
    def fetch(_ask: Ask) -> Iterator[Row]:
        yield from rows
        raise UserError("E-ADAPTER", "the next page does not come")

    return fetch


@dataclass
class Desk:
    folder: Path
    env: Mapping[str, str] = field(default_factory=dict)
    told: list[tuple[str, str, int, int | None]] = field(default_factory=list)

    def refresh(self, *adapters: Adapter, now: datetime = NOW, **more: Any) -> dict[str, Result]:
        def open_ask(adapter: Adapter, now: datetime, env: Mapping[str, str], **_more: Any) -> Any:
            assert adapter in adapters
            return nullcontext(FakeAsk(now=now, env=env))

        settings = {"named": True, "timeout_s": 60.0, **more}
        found = refresh(
            adapters, self.folder, open_ask=open_ask, bundled=BUNDLED, now=now, env=self.env,
            listen=lambda *words: self.told.append(words), **settings,
        )  # fmt: skip
        return {result.provider: result for result in found}

    def file(self, provider: str = "vast") -> Path:
        return self.folder / f"{provider}.csv"

    def market(self) -> Catalogue:
        return load_market(self.folder)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "offers")


def of(catalogue: Catalogue, provider: str) -> list[tuple[str, str, str, str | None]]:
    found = catalogue.find_offers(OfferFilter(providers=frozenset({provider})))
    return [(one.instance_type, one.market.value, one.source, one.as_of) for one in found]


MANY = [offer(number) for number in range(20)]


def test_new_prices_stand_in_the_place_of_the_bundled_ones(desk: Desk) -> None:
    result = desk.refresh(adapter(lists(*MANY)))["vast"]
    assert (result.status, result.known.offers, result.known.as_of, result.rows) == (
        "refreshed", 40, "2026-12-01T06:00:00Z", 20,
    )  # fmt: skip
    found = of(desk.market(), "vast")
    assert set(found[:2]) == {
        ("box-0", "on_demand", "a test", "2026-12-01T06:00:00Z"), ("box-0", "spot", "a test", "2026-12-01T06:00:00Z"),
    }  # fmt: skip
    assert len(found) == 40
    assert of(desk.market(), "lambda") == of(BUNDLED, "lambda")


def test_one_that_fails_keeps_what_it_had_and_the_others_get_theirs(desk: Desk) -> None:
    first = desk.refresh(adapter(lists(*MANY)))["vast"]
    before = desk.file().read_bytes()
    lambdas = [offer(number, provider="lambda", region="us-east-1", price="2") for number in range(100)]
    results = desk.refresh(
        adapter(fails()), adapter(lists(*lambdas), "lambda"), adapter(fails(), "runpod"), now=NOW + timedelta(days=1)
    )
    assert [(name, one.status) for name, one in results.items()] == [
        ("vast", "failed"), ("lambda", "refreshed"), ("runpod", "failed"),
    ]  # fmt: skip
    assert desk.file().read_bytes() == before
    assert results["vast"].known == first.known
    assert (results["runpod"].known.refreshed, results["runpod"].known.as_of) == (False, "2026-05-24")
    assert not desk.file("runpod").exists()


def test_a_page_that_does_not_come_leaves_nothing_of_those_before_it(desk: Desk) -> None:
    assert desk.refresh(adapter(fails(*MANY)))["vast"].status == "failed"
    assert not desk.file().exists()
    assert of(desk.market(), "vast") == of(BUNDLED, "vast")


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([], "source of vast names no offer at all"),
        (MANY[:1], "source of vast names 2 offers, 55 are known"),
        ([offer(price="-1")], "none of the 1 rows"),
        ([offer(currency="EUR")], "none of the 1 rows"),
        ([offer(provider="lambda")], "none of the 1 rows"),
    ],
)
def test_an_answer_that_cannot_be_the_market_is_not_taken_for_it(rows: list[Row], says: str, desk: Desk) -> None:
    result = desk.refresh(adapter(lists(*rows)))["vast"]
    assert result.error is not None
    assert says in str(result.error)
    assert (result.status, result.known.offers) == ("failed", 55)
    assert not desk.file().exists()


def test_far_fewer_offers_are_believed_when_the_user_does_or_the_source_lists_its_stock(desk: Desk) -> None:
    few = lists(*MANY[:2])
    assert desk.refresh(adapter(few))["vast"].status == "failed"
    assert desk.refresh(adapter(few, lists_stock=True))["vast"].status == "refreshed"
    assert desk.refresh(adapter(lists(*MANY)), accept_fewer=True)["vast"].status == "refreshed"
    assert desk.refresh(adapter(few))["vast"].status == "failed"
    assert desk.refresh(adapter(few), accept_fewer=True)["vast"].known.offers == 4


def test_machines_without_gpus_that_are_gone_are_a_cut_answer_too(desk: Desk) -> None:
    plain = [offer(number, gpu="", gpu_count="0", gpu_vram_gb="", vcpus="8", price="0.3") for number in range(30, 50)]
    assert desk.refresh(adapter(lists(*MANY, *plain)))["vast"].known.cpu_offers == 40
    result = desk.refresh(adapter(lists(*MANY)))["vast"]
    assert (result.status, result.known.cpu_offers) == ("failed", 40)


def test_rows_that_are_refused_are_told_and_not_kept(desk: Desk) -> None:
    wrong = [
        offer(90, gpu_vram_gb="24"),
        offer(91, price="1.5\n"),
        offer(92, region="a\nb", gpu="A100\ud800"),
        offer(93, zone="x/y"),
    ]
    result = desk.refresh(adapter(lists(*MANY[:10], *wrong, *MANY[10:])))["vast"]
    assert (result.status, result.refused, result.rows) == ("refreshed", 3, 21)
    assert any("gpu_vram_gb is 24" in note for note in result.notes)
    kept = load_csv(desk.file())
    assert kept.refused == ()
    assert {one.instance_type for one in kept.offers} == {*(f"box-{number}" for number in range(20)), "box-91"}


def test_another_currency_is_taken_with_its_rate(desk: Desk) -> None:
    euros = [{**one, "currency": "EUR"} for one in MANY]
    result = desk.refresh(adapter(lists(*euros)), rates={"EUR": Rate(Decimal("1.10"), None)})["vast"]
    assert result.status == "refreshed"


@pytest.mark.parametrize("named", [True, False])
def test_without_its_key_a_provider_fails_when_it_was_named_and_is_passed_over_else(named: bool, desk: Desk) -> None:
    asked: list[Ask] = []
    keyed = adapter(lambda ask: asked.append(ask) or MANY, needs=("VAST_API_KEY",))  # type: ignore[func-returns-value]
    result = desk.refresh(keyed, named=named)["vast"]
    assert result.status == ("failed" if named else "skipped")
    assert "needs VAST_API_KEY" in str(result.error)
    assert (result.known.offers, asked) == (55, [])
    desk.env = {"VAST_API_KEY": "k"}
    assert desk.refresh(keyed, named=named)["vast"].status == "refreshed"


def test_all_are_asked_at_the_same_time(desk: Desk) -> None:
    together = threading.Barrier(3, timeout=20)

    def meeting(provider: str) -> Callable[[Ask], Iterator[Row]]:
        def fetch(_ask: Ask) -> Iterator[Row]:
            together.wait()
            yield from (offer(number, provider=provider) for number in range(200))

        return fetch

    results = desk.refresh(*(adapter(meeting(name), name) for name in ("lambda", "runpod", "vast")))
    assert {result.status for result in results.values()} == {"refreshed"}


def test_one_that_hangs_is_left_behind_when_its_time_is_up(desk: Desk) -> None:
    never = threading.Event()

    def hang(_ask: Ask) -> Iterator[Row]:
        never.wait(30)
        yield offer()

    lambdas = [offer(number, provider="lambda", region="us-east-1", price="2") for number in range(100)]
    results = desk.refresh(adapter(hang), adapter(lists(*lambdas), "lambda"), timeout_s=1.0)
    never.set()
    assert results["lambda"].status == "refreshed"
    assert "source of vast took longer than 1 s" in str(results["vast"].error)


def test_providers_are_asked_at_the_same_time(desk: Desk) -> None:
    together = threading.Barrier(2, timeout=20)

    def meet(ask: Ask) -> Iterable[Row]:
        together.wait()
        return lists(*MANY)(ask)

    results = desk.refresh(adapter(meet), adapter(meet, "runpod"))
    assert (results["vast"].status, results["runpod"].status) == ("refreshed", "failed"), "the rows are vast's"


def test_a_fault_of_an_adapter_is_told_after_the_others_were_kept(desk: Desk) -> None:
    def fault(_ask: Ask) -> Iterator[Row]:
        raise KeyError("Items")
        yield offer()

    with pytest.raises(KeyError, match="Items"):
        desk.refresh(adapter(fault, "lambda"), adapter(lists(*MANY)))
    assert len(of(desk.market(), "vast")) == 40


def test_how_the_last_refresh_went_lies_beside_the_offers(desk: Desk) -> None:
    desk.refresh(adapter(lists(*MANY)))
    later = NOW + timedelta(hours=5)
    desk.refresh(adapter(fails()), now=later)
    document = json.loads((desk.folder / "vast.status.json").read_text())
    assert document["schema"] == "emporion.refresh-status/1"
    status = read_status(desk.folder, "vast")
    assert status is not None
    assert (status.tried_at, status.refreshed_at, status.rows) == ("2026-12-01T11:00:00Z", "2026-12-01T06:00:00Z", 20)
    assert "the next page does not come" in str(status.last_error)
    (desk.folder / "vast.status.json").write_text("{")
    assert read_status(desk.folder, "vast") is None
    assert desk.refresh(adapter(lists(*MANY)))["vast"].status == "refreshed"


def test_a_damaged_file_of_an_earlier_refresh_is_replaced_or_told(desk: Desk) -> None:
    desk.folder.mkdir(parents=True)
    desk.file().write_text("provider,region\nvast")
    result = desk.refresh(adapter(fails()))["vast"]
    assert result.known.damaged is not None
    assert desk.refresh(adapter(lists(*MANY[:1])))["vast"].known.offers == 2
    assert of(desk.market(), "vast") != []


def test_nothing_half_written_is_left_on_a_disk_that_takes_nothing(desk: Desk) -> None:
    desk.folder.mkdir(parents=True)
    desk.file().mkdir()  # a folder stands where the file would
    with pytest.raises(OSError, match=r"vast\.csv"):
        desk.refresh(adapter(lists(*MANY)))
    assert [path.name for path in desk.folder.iterdir()] == ["vast.csv"]


def test_how_far_each_is_goes_to_whoever_listens(desk: Desk) -> None:
    def tell(ask: Ask) -> Iterable[Row]:
        ask.progress("pages", 1, 2)
        return MANY

    told: list[tuple[str, int, int | None]] = []
    ask = FakeAsk(told=told)
    refresh(
        [adapter(tell)], desk.folder, open_ask=lambda *_a, **_k: nullcontext(ask), bundled=BUNDLED, now=NOW, env={},
        named=True, timeout_s=60,
    )  # fmt: skip
    assert told == [("pages", 1, 2)]


def test_an_unknown_provider_is_told_with_the_nearest() -> None:
    known = {name: adapter(lists(), name) for name in ("aws", "lambda", "vast")}
    assert [one.provider for one in chosen_adapters(known, ["Vast", "aws", "vast"])] == ["aws", "vast"]
    assert len(chosen_adapters(known, [])) == 3
    with pytest.raises(UserError) as caught:
        chosen_adapters(known, ["lamda", "mars"])
    first, second = caught.value.problems()
    assert (first.code, first.fix, int(first.exit_code)) == ("E-PROVIDER", "did you mean lambda", 2)
    assert second.fix == "there are: aws, lambda, vast"


cells = st.one_of(
    st.text(st.characters(), max_size=8),
    st.sampled_from(["", "0", "1", "8", "A100", "80", "2026-12-01", "USD", "vast"]),
)
anything = st.dictionaries(st.sampled_from([*REQUIRED, *OPTIONAL, "other"]), cells, max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.builds(lambda changes: {**offer(), **changes}, anything), max_size=4))
def test_whatever_rows_come_the_market_can_be_read_afterwards(rows: list[Row], tmp_path: Path) -> None:
    desk = Desk(tmp_path / "any")
    result = desk.refresh(adapter(lists(*rows), lists_stock=True))["vast"]
    assert (result.status == "refreshed") == (result.rows > 0) == (result.error is None)
    if result.status == "refreshed":
        assert load_csv(desk.file()).refused == ()
        desk.file().unlink()
