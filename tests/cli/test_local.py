from __future__ import annotations

from pathlib import Path

import pytest
from terminal import Emporion

from emporion.localcloud.capacity import machine_limit
from emporion.localcloud.world import World


def test_status_answers_before_there_is_a_world(emporion: Emporion) -> None:
    ran = emporion("local", "status", "--json")
    assert ran.code == 0
    assert {key: ran.document[key] for key in ("schema", "running", "resources", "total")} == {
        "schema": "emporion.world/1",
        "running": False,
        "resources": {},
        "total": 0,
    }


def test_the_world_starts_stops_and_forgets(emporion: Emporion) -> None:
    assert emporion("local", "start").out.startswith("running, 0 resources")
    assert emporion("local", "stop").out.startswith("stopped")
    assert emporion("local", "status", "--json").document["running"] is False
    assert emporion("local", "reset", "--yes", "--json").document["total"] == 0


def test_forgetting_everything_is_asked_first(emporion: Emporion) -> None:
    ran = emporion("local", "reset")
    assert ran.code == 2
    assert "add --yes" in ran.err


@pytest.mark.parametrize(
    ("machines", "said"), [pytest.param("3", "at most 3", id="number"), pytest.param("none", "no limit", id="none")]
)
def test_capacity_is_set_for_a_type(machines: str, said: str, emporion: Emporion) -> None:
    ran = emporion("local", "capacity", "set", "aws", "us-east-1", "p4d.24xlarge", machines)
    assert ran.code == 0, ran.err
    assert ran.out == f"p4d.24xlarge in aws us-east-1: {said}\n"


def test_capacity_may_be_for_every_provider_region_and_type(emporion: Emporion) -> None:
    document = emporion("local", "capacity", "set", "*", "*", "*", "0", "--json").document
    assert document == {
        "schema": "emporion.capacity/1",
        "provider": "*",
        "region": "*",
        "zone": "*",
        "instance_type": "*",
        "machines": 0,
    }


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["asw", "us-east-1", "p4d.24xlarge", "1"], "did you mean aws?", id="provider"),
        pytest.param(["aws", "us-east-1", "p4d.24xlarge", "many"], "a whole number", id="word"),
        pytest.param(["aws", "us-east-1", "p4d.24xlarge", "1.5"], "a whole number", id="fraction"),
        pytest.param(["--", "aws", "us-east-1", "p4d.24xlarge", "-1"], "a whole number", id="negative"),
        pytest.param(["aws", "us-east-1", "p4d.24xlarge"], "the argument N is missing", id="missing"),
    ],
)
def test_bad_input_is_told_with_a_way_out(arguments: list[str], says: str, emporion: Emporion) -> None:
    ran = emporion("local", "capacity", "set", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_the_clock_is_shown_set_stepped_and_accelerated(emporion: Emporion) -> None:
    assert emporion("local", "clock", "show", "--json").document["mode"] == "real"
    assert emporion("local", "clock", "rate", "0", "--json").document["mode"] == "stepped"
    told = emporion("local", "clock", "set", "2040-01-01T00:00:00Z")
    assert told.out.startswith("2040-01-01T00:00:00.000Z  stepped: it stands still, ")
    assert emporion("local", "clock", "step", "1h30m", "--json").document["now"] == "2040-01-01T01:30:00.000Z"
    assert "60 s a second" in emporion("local", "clock", "rate", "60").out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["set", "1999-01-01"], "it only goes forward", id="past"),
        pytest.param(["set", "noon"], "'noon' is not a moment", id="no moment"),
        pytest.param(["step", "10"], "has no unit", id="no unit"),
        pytest.param(["rate", "fast"], "is not a plain number", id="no number"),
        pytest.param(["rate", "9999999"], "cannot go at 1e+07", id="too fast"),
        pytest.param(["stop"], "no command 'stop'", id="no such command"),
    ],
)
def test_a_clock_that_cannot_be_set_is_one_clear_error(arguments: list[str], says: str, emporion: Emporion) -> None:
    ran = emporion("local", "clock", *arguments)
    assert ran.code == 2
    assert says in ran.err


def test_a_capacity_of_azure_is_one_of_its_plugin(emporion: Emporion, tmp_path: Path) -> None:
    emporion("local", "capacity", "set", "azure", "eastus", "Standard_ND96isr_H100_v5", "2")
    with World.open(tmp_path / "home") as world:
        assert machine_limit(world, "azure-native", "eastus", ("1", "1"), "Standard_ND96isr_H100_v5") == (2, "*")


def test_a_quota_is_set_or_asked_for(emporion: Emporion) -> None:
    told = emporion("local", "capacity", "quota", "aws", "us-east-1", "p5.48xlarge", "2", "--market", "spot")
    assert told.out == "quota of p5.48xlarge in aws us-east-1: at most 2\n"
    assert emporion("local", "world", "model", "delays", "modelled").out == "delays: modelled\n"
    asked = emporion("local", "capacity", "quota", "azure", "eastus", "*", "none", "--request", "--json").document
    assert (asked["machines"], asked["market"]) == (None, "*")
    assert asked["answered"] > emporion("local", "clock", "show", "--json").document["now"]


def test_prices_of_the_world_are_shown_beside_the_catalogues(emporion: Emporion, tmp_path: Path) -> None:
    chosen = ("--provider", "aws", "--region", "us-east-1", "--type", "p4d.24xlarge", "--json")
    fixed = emporion("local", "world", "prices", *chosen).document
    assert fixed["prices"] == "fixed"
    assert fixed["offers"]
    assert all(one["usd_per_hour"] == one["catalogue_usd_per_hour"] for one in fixed["offers"])
    emporion("local", "world", "model", "prices", "moving")
    emporion("local", "clock", "step", "30d")
    moved = emporion("local", "world", "prices", *chosen).document
    assert any(one["usd_per_hour"] != one["catalogue_usd_per_hour"] for one in moved["offers"])
    assert "CATALOGUE" in emporion("local", "world", "prices", "--region", "us-east-1").out
    history = tmp_path / "history.csv"
    history.write_text(
        "provider,region,zone,instance_type,observed_at,spot_usd_hr\naws,us-east-1,,p4d.24xlarge,2026-01-01,9.5\n"
    )
    assert emporion("local", "world", "model", "prices", "replay", "--history", str(history)).code == 0
    replayed = emporion("local", "world", "prices", *chosen).document
    assert {one["usd_per_hour"] for one in replayed["offers"]} == {"9.5"}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["model", "dealys", "none"], "did you mean delays?", id="model"),
        pytest.param(["model", "prices", "high"], "one of fixed, moving", id="value"),
        pytest.param(["model", "prices", "replay"], "recorded prices need a file", id="no history"),
        pytest.param(["model", "delays", "none", "--history", "x"], "belongs to `prices replay`", id="odd history"),
        pytest.param(["model", "prices", "replay", "--history", "none.csv"], "it cannot be read", id="no file"),
    ],
)
def test_a_model_that_cannot_be_is_one_clear_error(arguments: list[str], says: str, emporion: Emporion) -> None:
    ran = emporion("local", "world", *arguments)
    assert ran.code == 2
    assert says in ran.err
