"""A refresh: each provider by itself, old prices kept whole, and what a plan then sees."""

from __future__ import annotations

import csv
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from cloud_ask import FakeAsk

from emporion.market.errors import ExitCode, UserError
from emporion.market.offers import Catalogue, load_bundled, load_market
from emporion.market.offers.adapter import Adapter, Ask, Row
from emporion.market.offers.catalogue import OfferFilter
from emporion.market.offers.refresh import Result, chosen_adapters, refresh

NOW = datetime(2026, 12, 1, 6, 0, tzinfo=UTC)
LATER = datetime(2026, 12, 3, 6, 0, tzinfo=UTC)
Fetch = Callable[[Ask], Iterator[Row]]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Catalogue:
    return load_bundled(tmp_path_factory.mktemp("cache"))


def line(kind: str = "small", price: str = "2.00", **more: str) -> dict[str, str]:
    return {
        "provider": "lambda", "region": "us-east-1", "zone": "", "instance_type": kind, "gpu": "a10-24gb",
        "gpu_count": "1", "gpu_vram_gb": "24", "vcpus": "30", "ram_gb": "200", "on_demand_usd_hr": price,
        "spot_usd_hr": "", "source": "test", "as_of": "2026-12-01T06:00:00Z", **more,
    }  # fmt: skip


def lines(count: int, **more: str) -> list[dict[str, str]]:
    return [line(f"kind-{number}", **more) for number in range(count)]


def giving(rows: list[dict[str, str]], error: BaseException | None = None) -> Fetch:
    def fetch(_ask: Ask) -> Iterator[Row]:
        yield from rows
        if error is not None:
            raise error

    return fetch


def adapter(fetch: Fetch, provider: str = "lambda", *, needs: tuple[str, ...] = (), stock: bool = False) -> Adapter:
    return Adapter(provider, provider, f"{provider} prices", needs, fetch, lists_stock=stock)


def offline(provider: str = "lambda") -> UserError:
    return UserError("E-ADAPTER", f"prices of {provider} cannot be read: it is offline", exit_code=ExitCode.FAILED)


def run(folder: Path, bundled: Catalogue, *adapters: Adapter, **more: Any) -> dict[str, Result]:
    settings: dict[str, Any] = {
        "open_ask": lambda _adapter, now, env, *, listen, stop: FakeAsk(env=env, now=now),  # noqa: ARG005
        "bundled": bundled, "now": NOW, "env": {}, "named": False, "timeout_s": 20.0,
    }  # fmt: skip
    return {result.provider: result for result in refresh(adapters, folder, **settings | more)}


def kept(folder: Path, provider: str = "lambda") -> list[dict[str, str]]:
    with (folder / f"{provider}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def noted(folder: Path, provider: str = "lambda") -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((folder / f"{provider}.status.json").read_text(encoding="utf-8"))
    return found


def test_new_prices_take_the_place_of_the_bundled_ones_with_their_source_and_time(
    tmp_path: Path, bundled: Catalogue
) -> None:
    result = run(tmp_path, bundled, adapter(giving(lines(100))))["lambda"]
    assert (result.status, result.known.gpu_offers, result.known.as_of) == ("refreshed", 100, "2026-12-01T06:00:00Z")
    assert len(kept(tmp_path)) == 100
    found = load_market(tmp_path).find_offers(OfferFilter(providers=frozenset({"lambda"})))
    assert {(offer.source, offer.as_of) for offer in found} == {("test", "2026-12-01T06:00:00Z")}
    assert len(found) == 100


def test_the_status_says_when_how_many_and_what_was_refused(tmp_path: Path, bundled: Catalogue) -> None:
    rows = [*lines(100), line("dearer", "minus one")]
    result = run(tmp_path, bundled, adapter(giving(rows)))["lambda"]
    assert result.refused == 1
    assert "minus one" in result.notes[0]
    told = noted(tmp_path)
    assert (told["schema"], told["tried_at"], told["refreshed_at"]) == (
        "emporion.refresh-status/1", "2026-12-01T06:00:00Z", "2026-12-01T06:00:00Z",
    )  # fmt: skip
    assert (told["rows"], told["refused"], told["last_error"]) == (100, 1, None)
    assert len(kept(tmp_path)) == 100


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(giving([], offline()), id="offline"),
        pytest.param(giving(lines(90), offline()), id="a later page fails"),
        pytest.param(giving([]), id="an empty list"),
        pytest.param(giving(lines(5)), id="far fewer than before"),
        pytest.param(giving(lines(100, on_demand_usd_hr="free")), id="not a single good row"),
        pytest.param(giving(lines(100, provider="vast")), id="another provider's rows"),
        pytest.param(giving(lines(100, on_demand_usd_hr="0")), id="every price 0"),
    ],
)
def test_a_provider_that_fails_keeps_what_it_had_and_the_others_go_on(
    tmp_path: Path, bundled: Catalogue, broken: Fetch
) -> None:
    run(tmp_path, bundled, adapter(giving(lines(100))))
    before = (tmp_path / "lambda.csv").read_bytes()
    others = [{**each, "provider": "vast", "region": "US,NA"} for each in lines(60)]
    results = run(tmp_path, bundled, adapter(broken), adapter(giving(others), "vast"), now=LATER)
    assert results["lambda"].status == "failed"
    assert results["lambda"].error is not None
    assert results["lambda"].known.as_of == "2026-12-01T06:00:00Z"
    assert results["lambda"].known.refreshed
    assert (tmp_path / "lambda.csv").read_bytes() == before
    assert results["vast"].status == "refreshed"
    told = noted(tmp_path)
    assert (told["tried_at"], told["refreshed_at"]) == ("2026-12-03T06:00:00Z", "2026-12-01T06:00:00Z")
    assert told["last_error"]


def test_a_provider_that_never_answered_keeps_the_bundled_prices(tmp_path: Path, bundled: Catalogue) -> None:
    result = run(tmp_path, bundled, adapter(giving([], offline())))["lambda"]
    assert (result.known.refreshed, result.known.gpu_offers) == (False, 391)
    assert not (tmp_path / "lambda.csv").exists()
    assert noted(tmp_path)["refreshed_at"] is None


def test_far_fewer_offers_are_believed_when_the_user_says_so_or_the_list_holds_stock(
    tmp_path: Path, bundled: Catalogue
) -> None:
    few = giving(lines(5))
    failed = run(tmp_path, bundled, adapter(few))["lambda"]
    assert failed.error is not None
    assert "names 5 offers, 391 are known" in failed.error.what
    assert "--accept-fewer" in (failed.error.fix or "")
    assert run(tmp_path, bundled, adapter(few), accept_fewer=True)["lambda"].status == "refreshed"
    other = tmp_path / "stock"
    assert run(other, bundled, adapter(few, stock=True))["lambda"].status == "refreshed"


def test_a_missing_key_skips_a_provider_and_fails_one_that_was_named(tmp_path: Path, bundled: Catalogue) -> None:
    asked: list[str] = []

    def fetch(_ask: Ask) -> Iterator[Row]:
        asked.append("lambda")
        yield from lines(100)

    keyed = adapter(fetch, needs=("LAMBDA_API_KEY",))
    for named, status in ((False, "skipped"), (True, "failed")):
        result = run(tmp_path, bundled, keyed, named=named, env={"LAMBDA_API_KEY": ""})["lambda"]
        assert result.status == status
        assert result.error is not None
        assert "needs LAMBDA_API_KEY" in result.error.what
    assert not asked
    assert run(tmp_path, bundled, keyed, env={"LAMBDA_API_KEY": "k"})["lambda"].status == "refreshed"
    assert asked == ["lambda"]


def test_one_that_hangs_is_left_behind_when_its_time_is_up(tmp_path: Path, bundled: Catalogue) -> None:
    release = threading.Event()

    def hang(_ask: Ask) -> Iterator[Row]:
        release.wait(30)
        yield from lines(100)

    others = [{**each, "provider": "vast", "region": "US,NA"} for each in lines(60)]
    try:
        results = run(tmp_path, bundled, adapter(hang), adapter(giving(others), "vast"), timeout_s=1.5)
    finally:
        release.set()
    assert results["vast"].status == "refreshed"
    assert results["lambda"].error is not None
    assert "took longer than 1.5 s" in results["lambda"].error.what


def test_providers_are_asked_at_the_same_time(tmp_path: Path, bundled: Catalogue) -> None:
    together = threading.Barrier(2, timeout=10)

    def meet(provider: str, region: str) -> Fetch:
        def fetch(_ask: Ask) -> Iterator[Row]:
            together.wait()
            yield from ({**each, "provider": provider, "region": region} for each in lines(100))

        return fetch

    results = run(tmp_path, bundled, adapter(meet("lambda", "us-east-1")), adapter(meet("vast", "US,NA"), "vast"))
    assert {result.status for result in results.values()} == {"refreshed"}


def test_a_fault_in_an_adapter_is_raised_after_the_others_were_kept(tmp_path: Path, bundled: Catalogue) -> None:
    others = [{**each, "provider": "vast", "region": "US,NA"} for each in lines(60)]
    with pytest.raises(ZeroDivisionError):
        run(tmp_path, bundled, adapter(giving([], ZeroDivisionError())), adapter(giving(others), "vast"))
    assert len(kept(tmp_path, "vast")) == 60


def test_an_interrupt_leaves_the_old_files_whole(tmp_path: Path, bundled: Catalogue) -> None:
    run(tmp_path, bundled, adapter(giving(lines(100))))
    before = (tmp_path / "lambda.csv").read_bytes()
    seen: list[threading.Event] = []

    def interrupted(_adapter: Adapter, now: datetime, env: Mapping[str, str], **more: Any) -> FakeAsk:
        seen.append(more["stop"])
        return FakeAsk(env=env, now=now)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, bundled, adapter(giving(lines(90), KeyboardInterrupt())), open_ask=interrupted)
    assert (tmp_path / "lambda.csv").read_bytes() == before
    assert seen[0].is_set()
    assert {path.name for path in tmp_path.iterdir()} == {"lambda.csv", "lambda.status.json"}


def test_a_damaged_file_is_replaced_by_the_next_good_answer(tmp_path: Path, bundled: Catalogue) -> None:
    (tmp_path / "lambda.csv").write_bytes(b"\x00\x01")
    failed = run(tmp_path, bundled, adapter(giving([], offline())))["lambda"]
    assert failed.known.damaged is not None
    assert run(tmp_path, bundled, adapter(giving(lines(5))))["lambda"].status == "refreshed"


def test_a_name_without_a_live_source_is_refused_with_the_nearest() -> None:
    installed = {name: adapter(giving([]), name) for name in ("lambda", "vast")}
    assert [each.provider for each in chosen_adapters(installed, ("VAST", "vast"))] == ["vast"]
    assert [each.provider for each in chosen_adapters(installed, ())] == ["lambda", "vast"]
    with pytest.raises(UserError) as caught:
        chosen_adapters(installed, ("lamda", "x"))
    first, second = caught.value.problems()
    assert (first.fix, second.fix) == ("did you mean lambda", "there are: lambda, vast")
    assert first.exit_code is ExitCode.BAD_INPUT
