"""`emporion offers refresh`, with every installed adapter and a network that a test plays."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from terminal import Emporion, Ran

from emporion.cli.main import root
from emporion.cli.offers_refresh import Network
from emporion.market.errors import ExitCode, UserErrors
from emporion.market.offers.ask import HttpAsk

KEY = "k-very-secret"
Server = Callable[[httpx.Request], httpx.Response]
Refresh = Callable[..., Ran]


def types(count: int, cents: int = 200) -> dict[str, Any]:
    """Lambda's list, in the shape of its documentation (docs.lambda.ai, read 2026-12-01)."""
    regions = [{"name": "us-east-1", "description": "Virginia, USA"}]
    specs = {"vcpus": 30, "memory_gib": 200, "storage_gib": 1400, "gpus": 1}
    names = [f"gpu_1x_a10_{number}" for number in range(count)]
    return {
        "data": {
            name: {
                "instance_type": {
                    "name": name, "description": "1x A10 (24 GB PCIe)", "gpu_description": "A10 (24 GB PCIe)",
                    "price_cents_per_hour": cents, "specs": specs,
                },
                "regions_with_capacity_available": regions,
            }
            for name in names
        }
    }  # fmt: skip


def lambda_only(request: httpx.Request) -> httpx.Response:
    """Lambda answers, everybody else is offline."""
    if request.url.host == "cloud.lambda.ai":
        return httpx.Response(200, json=types(5))
    raise httpx.ConnectError("offline", request=request)


def offline(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError(f"no route to {request.url}", request=request)


@pytest.fixture
def refresh(emporion: Emporion, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Refresh:
    """Run the command against a server of the test, with no key set but those given."""
    for name in ("LAMBDA_API_KEY", "RUNPOD_API_KEY", "VAST_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(server: Server, *arguments: str) -> Ran:
        def open_ask(adapter: Any, now: Any, env: Any, *, listen: Any, stop: Any) -> HttpAsk:
            transport = httpx.MockTransport(server)
            return HttpAsk(adapter, now, env, transport, listen=listen, stop=stop, wait=lambda _seconds: None)

        capsys.readouterr()
        code = root.main(
            args=["offers", "refresh", *arguments], obj=Network(open_ask), standalone_mode=False, prog_name="emporion"
        )
        out, err = capsys.readouterr()
        return Ran(int(code or 0), out, err)

    return run


def test_new_prices_are_kept_and_planned_with(
    refresh: Refresh, emporion: Emporion, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMBDA_API_KEY", KEY)
    ran = refresh(lambda_only, "lambda")
    assert ran.code == 0
    assert ran.out.splitlines()[1].split() == ["lambda", "5", "0", "0", "d", "refreshed"]
    file = tmp_path / "home" / "offers" / "lambda.csv"
    with file.open(encoding="utf-8", newline="") as opened:
        assert {row["source"] for row in csv.DictReader(opened)} == {"Lambda Cloud API"}
    offers = emporion("offers", "list", "--provider", "lambda", "--limit", "0", "--json").document["offers"]
    assert len(offers) == 5
    assert {offer["usd_per_hour"] for offer in offers} == {"2"}


def test_no_key_is_written_or_shown_anywhere(refresh: Refresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMBDA_API_KEY", KEY)
    monkeypatch.setenv("VAST_API_KEY", KEY)
    ran = refresh(lambda_only, "lambda", "vast")
    written = [path for path in (tmp_path / "home").rglob("*") if path.is_file()]
    assert len(written) >= 3
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    assert KEY not in ran.out + ran.err


def test_each_provider_that_is_offline_is_named_with_the_age_of_what_stays(refresh: Refresh) -> None:
    ran = refresh(offline, "coreweave", "nebius")
    assert ran.code == ExitCode.FAILED
    for provider, host, kept in (
        ("coreweave", "www.coreweave.com", "11 bundled offers stay"),
        ("nebius", "docs.nebius.com", "32 bundled offers stay"),
    ):
        (told,) = [line for line in ran.err.splitlines() if line.startswith(f"{provider}: ")]
        assert host in told
        assert kept in told
        assert told.endswith("mo old")


def test_one_that_fails_does_not_cost_the_others(
    refresh: Refresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAMBDA_API_KEY", KEY)
    ran = refresh(lambda_only, "lambda", "nebius", "--json")
    assert ran.code == ExitCode.FAILED
    document = ran.document
    assert document["schema"] == "emporion.refresh/1"
    found = {one["provider"]: (one["status"], one["source"], one["offers"]) for one in document["providers"]}
    assert found == {"lambda": ("refreshed", "refreshed", 5), "nebius": ("failed", "bundled", 32)}
    assert document["providers"][1]["errors"][0]["code"] == "E-ADAPTER"
    assert {path.name for path in (tmp_path / "home" / "offers").iterdir()} == {
        "lambda.csv", "lambda.status.json", "nebius.status.json",
    }  # fmt: skip


def test_a_provider_that_was_named_needs_its_key_and_one_that_was_not_is_left_out(refresh: Refresh) -> None:
    named = refresh(offline, "lambda")
    assert named.code == ExitCode.FAILED
    assert "needs LAMBDA_API_KEY" in named.err
    every = refresh(offline, "--json").document["providers"]
    assert {one["provider"] for one in every if one["status"] == "skipped"} == {"lambda", "runpod", "vast"}


def test_an_unknown_provider_is_refused_before_anybody_is_asked(refresh: Refresh) -> None:
    def never(request: httpx.Request) -> httpx.Response:
        raise AssertionError(request.url)

    with pytest.raises(UserErrors) as caught:
        refresh(never, "lamda", "nebuis")
    assert [error.fix for error in caught.value.problems()] == ["did you mean lambda", "did you mean nebius"]


@pytest.mark.parametrize(
    ("server", "what"),
    [
        (lambda _request: httpx.Response(200, html="<p>Sign in</p>"), "a web page instead of JSON"),
        (lambda _request: httpx.Response(429), "answers 429 (5 attempts)"),
        (lambda _request: httpx.Response(500), "answers 500 (5 attempts)"),
        (lambda _request: httpx.Response(200, json={"data": {}}), "no offer at all"),
        (lambda _request: httpx.Response(200, content=json.dumps(types(3))[:-9].encode()), "JSON that is cut"),
        (lambda _request: httpx.Response(200, json=[]), "no object"),
        (lambda _request: httpx.Response(401), "refuses the key (401)"),
    ],
    ids=["html", "429", "500", "empty list", "cut", "another shape", "refused"],
)
def test_bad_answers_keep_the_prices_of_the_last_refresh(
    refresh: Refresh, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: Server, what: str
) -> None:
    monkeypatch.setenv("LAMBDA_API_KEY", KEY)
    assert refresh(lambda_only, "lambda").code == 0
    file = tmp_path / "home" / "offers" / "lambda.csv"
    before = file.read_bytes()
    ran = refresh(server, "lambda")
    assert ran.code == ExitCode.FAILED
    assert what in ran.err
    assert "5 refreshed offers stay, 0 d old" in ran.err
    assert file.read_bytes() == before


def test_nothing_moves_where_there_is_no_terminal(refresh: Refresh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAMBDA_API_KEY", KEY)
    ran = refresh(lambda_only, "lambda")
    assert ran.err == ""
    assert "\x1b" not in ran.out
