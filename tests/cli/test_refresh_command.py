from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from price_answers import COREWEAVE, NEBIUS, lambda_type, lambda_types, runpod_type, runpod_types, vast_offer
from price_server import PriceServer, Reply, price_server
from refresh_runner import network
from terminal import Emporion, Ran

from emporion.cli.main import main
from emporion.market.offers.load import load_csv

RUNNER = Path(__file__).parents[1] / "support" / "refresh_runner.py"
LAMBDA = "cloud.lambda.ai/api/v1/instance-types"
RUNPOD = "api.runpod.io/graphql"
VAST = "console.vast.ai/api/v0/bundles/"
NEBIUS_PAGE = "docs.nebius.com/compute/resources/pricing.md"
COREWEAVE_PAGE = "www.coreweave.com/pricing"
FIVE = ("coreweave", "lambda", "nebius", "runpod", "vast")
KEYS = ("LAMBDA_API_KEY", "RUNPOD_API_KEY", "VAST_API_KEY")


def search(question: Any) -> Reply:
    """Answer a search on Vast, page by page."""
    offers = [vast_offer(number, geolocation=f"Place {number}, US", dph_total=0.5) for number in range(1, 40)]
    return Reply.of({"offers": [offer for offer in offers if offer["machine_id"] >= question["machine_id"]["gte"]]})


def runpod(_question: Any) -> Reply:
    prices = {"securePrice": 2.5, "secureSpotPrice": 1.2, "maxGpuCountSecureCloud": 8}
    names = ("A100 SXM", "A100 PCIe", "H100 SXM", "H100 PCIe")
    return Reply.of(runpod_types(*(runpod_type(name, 80, secureCloud=True, **prices) for name in names)))


def page(text: str, kind: str) -> Callable[[Any], Reply]:
    return lambda _question: Reply(text.encode(), kind=kind)


@pytest.fixture
def server() -> Iterator[PriceServer]:
    answers: dict[str, Callable[[Any], Reply]] = {
        LAMBDA: lambda _question: Reply.of(lambda_types()),
        RUNPOD: runpod,
        VAST: search,
        NEBIUS_PAGE: page(NEBIUS, "text/markdown; charset=utf-8"),
        COREWEAVE_PAGE: page(COREWEAVE, "text/html"),
    }
    with price_server(answers) as running:
        yield running


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def refresh(
    emporion: Emporion, server: PriceServer, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Emporion:
    """Run `emporion offers refresh` against the server; all keys are there."""
    del emporion  # its home and folder are used
    for key in KEYS:
        monkeypatch.setenv(key, "s3cret")

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(["offers", "refresh", *arguments], obj=network(server.url))
        return Ran(code, *capsys.readouterr())

    return run


def test_prices_of_today_are_in_the_plan_with_their_age(refresh: Emporion, emporion: Emporion) -> None:
    plan = ("plan", "--gpus", "h100:8", "--providers", "lambda", "--json")
    before = emporion(*plan).document
    ran = refresh("lambda")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.splitlines()[1].split() == ["lambda", "3", "0", "0", "d", "refreshed"]
    after = emporion(*plan).document
    assert before["catalogue"]["version"] != after["catalogue"]["version"]
    node = after["solutions"][0]["nodes"][0]
    assert (node["instance_type"], node["region"]) == ("gpu_8x_h100_sxm5", "us-west-3")
    listed = emporion("offers", "list", "--provider", "lambda", "--type", "gpu_8x_h100_sxm5", "--json").document
    (offer,) = listed["offers"]
    assert (offer["usd_per_hour"], offer["source"]) == ("23.92", "Lambda Cloud API")
    assert offer["age_s"] < 600
    assert "0 d" in emporion("offers", "list", "--provider", "lambda").out


def test_old_prices_are_left_out_where_the_intent_says_so_case_26(refresh: Emporion, emporion: Emporion) -> None:
    plan = ("plan", "--gpus", "h100:8", "--max-price-age", "24h", "--json")
    assert emporion(*plan).code == 3, "every bundled price is older"
    refresh("lambda", "coreweave")
    found = emporion(*plan).document["solutions"]
    assert {node["provider"] for one in found for node in one["nodes"]} <= {"lambda", "coreweave"}
    assert found


def test_all_five_are_refreshed_at_once(refresh: Emporion, server: PriceServer, home: Path) -> None:
    ran = refresh(*FIVE, "--json")
    document = ran.document
    assert document["schema"] == "emporion.refresh/1"
    assert {one["provider"]: one["status"] for one in document["providers"]} == dict.fromkeys(FIVE, "refreshed")
    assert ran.code == 0
    for name in FIVE:
        kept = load_csv(home / "offers" / f"{name}.csv")
        assert kept.offers
        assert kept.refused == ()
    assert "s3cret" not in "".join(path.read_text() for path in (home / "offers").iterdir())
    keyed = [headers.get("Authorization") for place, _, headers in server.asked if place in {LAMBDA, RUNPOD, VAST}]
    assert set(keyed) == {"Bearer s3cret"}
    others = [headers for place, _, headers in server.asked if place in {NEBIUS_PAGE, COREWEAVE_PAGE}]
    assert all("Authorization" not in headers for headers in others)


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        (Reply(b"<html>maintenance</html>", kind="text/html"), "answers a web page instead of JSON"),
        (Reply(b"{}", 429), "answers 429 (5 attempts)"),
        (Reply(b"oops", 500, "text/plain"), "answers 500 (5 attempts)"),
        (Reply(b'{"offers": [{"id": 1,'), "answers JSON that is cut"),
        (Reply(b'{"offers": [{"id": 1,', promised=900), "breaks off its answer"),
        (Reply(b'{"offers": []}'), "names no offer at all"),
        (Reply(b"{}", 401), "refuses the key (401)"),
        (
            Reply(b"", 302, headers={"Location": "https://elsewhere.example/"}),
            "sends elsewhere (302), to elsewhere.example",
        ),
    ],
)
def test_one_that_fails_is_named_with_what_stays_and_the_rest_is_done(
    reply: Reply, says: str, refresh: Emporion, server: PriceServer, home: Path
) -> None:
    refresh("vast", "runpod")
    before = (home / "offers" / "vast.csv").read_bytes()
    server.replies[VAST] = lambda _question: reply
    ran = refresh("vast", "runpod")
    assert ran.code == 1
    assert [line.split()[-1] for line in ran.out.splitlines()[1:]] == ["refreshed", "failed"]
    told = " ".join(ran.err.split())
    assert says in told
    assert "its 78 refreshed offers stay, 0 d old" in told
    assert "s3cret" not in ran.out + ran.err
    assert (home / "offers" / "vast.csv").read_bytes() == before


def test_each_that_is_offline_is_named_with_its_host_and_what_stays(refresh: Emporion, server: PriceServer) -> None:
    server.replies[NEBIUS_PAGE] = server.replies[COREWEAVE_PAGE] = lambda _question: Reply(b"", 503)
    ran = refresh("coreweave", "nebius", "lambda", "--json")
    assert ran.code == 1
    found = {one["provider"]: (one["status"], one["source"], one["offers"]) for one in ran.document["providers"]}
    assert found == {
        "coreweave": ("failed", "bundled", 11), "lambda": ("refreshed", "refreshed", 3),
        "nebius": ("failed", "bundled", 32),
    }  # fmt: skip
    told = " ".join(refresh("coreweave", "nebius").err.split())
    for host, kept in (("www.coreweave.com", "11 bundled offers stay"), ("docs.nebius.com", "32 bundled offers stay")):
        assert host in told
        assert f"its {kept}" in told


def test_a_page_that_fails_after_the_first_fails_the_whole(refresh: Emporion, server: PriceServer, home: Path) -> None:
    server.replies[VAST] = lambda question: search(question) if not question["machine_id"]["gte"] else Reply(b"", 503)
    ran = refresh("vast")
    assert ran.code == 1
    assert "its 55 bundled offers stay, 7 mo old" in " ".join(ran.err.split())
    assert not (home / "offers" / "vast.csv").exists()


def test_one_machine_where_there_were_hundreds_is_not_believed_unasked(refresh: Emporion, server: PriceServer) -> None:
    server.replies[RUNPOD] = lambda _question: Reply.of(
        runpod_types(runpod_type("A40", 48, secureCloud=True, securePrice=0.4))
    )
    ran = refresh("runpod")
    assert (ran.code, "names 1 offers, 27 are known" in " ".join(ran.err.split())) == (1, True)
    assert "emporion offers refresh runpod --accept-fewer" in ran.err
    assert refresh("runpod", "--accept-fewer").code == 0


def test_a_provider_without_its_key_is_passed_over_unless_it_is_named(
    refresh: Emporion, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in [*KEYS, *(name for name in os.environ if name.startswith(("AWS_", "GOOGLE_")))]:
        monkeypatch.delenv(name)
    nobody = {"AWS_CONFIG_FILE": os.devnull, "AWS_SHARED_CREDENTIALS_FILE": os.devnull, "NO_GCE_CHECK": "true"}
    for name, value in {**nobody, "AWS_EC2_METADATA_DISABLED": "true", "CLOUDSDK_CONFIG": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    ran = refresh("--timeout", "60")
    for name, key in zip(("lambda", "runpod", "vast"), KEYS, strict=True):
        line = next(line for line in ran.out.splitlines() if line.startswith(name))
        assert line.endswith(f"needs {key}")
    assert refresh("nebius").code == 0
    named = refresh("lambda", "nebius")
    assert named.code == 1
    assert "prices of lambda cannot be read: needs LAMBDA_API_KEY" in named.err


def test_rows_that_were_refused_are_counted_and_told_as_json(refresh: Emporion, server: PriceServer) -> None:
    wrong = lambda_type("gpu_4x_a6000", "A6000 (48 GB)", 1, 320, "us-east-1")
    right = lambda_type("gpu_1x_a10", "A10 (24 GB PCIe)", 1, 75, "us-east-1")
    server.replies[LAMBDA] = lambda _question: Reply.of(lambda_types(wrong, right))
    assert refresh("lambda").out.splitlines()[1].split()[:3] == ["lambda", "1", "1"]
    (told,) = refresh("lambda", "--json").document["providers"]
    assert told["refused"] == 1
    assert "names 4 devices" in told["notes"][0]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["lamda"], 2, "did you mean lambda"),
        (["mars"], 2, "there are: aws, azure, coreweave"),
        (["--timeout", "0"], 2, "--timeout"),
        (["--rate", "EUR"], 2, "rate"),
    ],
)
def test_bad_input_is_told_with_a_way_out(arguments: list[str], code: int, says: str, refresh: Emporion) -> None:
    ran = refresh(*arguments)
    assert ran.code == code
    assert says in ran.err
    assert ran.out == ""


@pytest.fixture
def hanging(server: PriceServer) -> Iterator[threading.Event]:
    """Let the server wait with Vast's answer; the event is set once it was asked."""
    asked, go = threading.Event(), threading.Event()

    def hang(question: Any) -> Reply:
        asked.set()
        go.wait(60)
        return search(question)

    server.replies[VAST] = hang
    yield asked
    go.set()


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "EMPORION_HOME": str(home), **dict.fromkeys(KEYS, "s3cret"), "COLUMNS": "100"}


def test_one_that_takes_too_long_is_left_behind(
    refresh: Emporion, hanging: threading.Event, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = refresh("vast", "lambda", "--timeout", "2")
    assert hanging.is_set()
    assert ran.code == 1
    assert "Vast search API took longer than 2 s" in " ".join(ran.err.split())
    assert "lambda" in ran.out


def test_an_interrupt_leaves_every_file_whole(
    refresh: Emporion, server: PriceServer, hanging: threading.Event, home: Path
) -> None:
    refresh("lambda")
    before = (home / "offers" / "lambda.csv").read_bytes()
    command = [sys.executable, str(RUNNER), server.url, "offers", "refresh", "lambda", "vast"]
    process = subprocess.Popen(
        command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert hanging.wait(60)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    files = sorted(path.name for path in (home / "offers").iterdir())
    assert files == ["lambda.csv", "lambda.status.json"]
    kept = (home / "offers" / "lambda.csv").read_bytes()
    assert len(kept.splitlines()) == len(before.splitlines())
    assert json.loads((home / "offers" / "lambda.status.json").read_text())["last_error"] is None


def test_a_terminal_sees_how_far_each_is(server: PriceServer, home: Path) -> None:
    seen, theirs = pty.openpty()
    command = [sys.executable, str(RUNNER), server.url, "offers", "refresh", "vast", "coreweave"]
    with subprocess.Popen(
        command, env={**environment(home), "TERM": "xterm"}, stdout=subprocess.PIPE, stderr=theirs
    ) as process:
        os.close(theirs)
        told = b""
        while piece := _read(seen):
            told += piece
        assert process.wait(60) == 0
    os.close(seen)
    assert b"vast" in told
    assert b"offers" in told


def _read(seen: int) -> bytes:
    try:
        return os.read(seen, 4096)
    except OSError:  # the other end is closed
        return b""
