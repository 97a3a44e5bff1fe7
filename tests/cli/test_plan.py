from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from desk import make_desk
from terminal import Emporion

WISH = ("--gpus", "a100:8", "--min-vram", "80gb", "--network", "low-latency")
HEAD = (
    "provider,region,zone,instance_type,gpu,gpu_count,gpu_vram_gb,vcpus,ram_gb,on_demand_usd_hr,spot_usd_hr,"
    "source,as_of"
)


def test_the_plan_names_only_offers_of_the_catalogue(emporion: Emporion) -> None:
    document = emporion("plan", *WISH, "--json").document
    assert document["schema"] == "emporion.plan/1"
    assert document["feasible"] is True
    offers = emporion("offers", "list", "--gpu", "a100", "--limit", "0", "--json").document["offers"]
    known = {
        (one["provider"], one["region"], one["zone"], one["instance_type"], one["market"], one["usd_per_hour"])
        for one in offers
    }
    for solution in [*document["solutions"], *document["not_deployable"]]:
        for node in solution["nodes"]:
            key = (node["provider"], node["region"], node["zone"], node["instance_type"], node["market"])
            assert (*key, node["usd_per_hour"]) in known


def test_cost_lines_sum_to_the_total(emporion: Emporion) -> None:
    document = emporion("plan", *WISH, "--json").document
    for solution in [*document["solutions"], *document["not_deployable"]]:
        cost = solution["cost"]
        lines = [Decimal(line["usd_per_hour"]) for line in cost["lines"] if line["usd_per_hour"] is not None]
        assert sum(lines) == Decimal(cost["total"])


def test_text_and_json_say_the_same(emporion: Emporion) -> None:
    document = emporion("plan", *WISH, "--json").document
    out = emporion("plan", *WISH).out
    best = next(one for one in document["solutions"] if one["recommended"])
    (line,) = [line for line in out.splitlines() if line.startswith("*")]
    assert best["nodes"][0]["instance_type"] in line
    assert format(Decimal(best["cost"]["total"]), ".2f") in line
    assert f"total ${format(Decimal(best['cost']['total']), '.4f')}/hr" in out
    assert document["catalogue"]["version"] in out


def test_equal_inputs_give_equal_bytes(emporion: Emporion) -> None:
    assert emporion("plan", *WISH, "--json").out == emporion("plan", *WISH, "--json").out


def test_an_impossible_budget_exits_3_with_the_changes_that_would_help(emporion: Emporion) -> None:
    ran = emporion("plan", *WISH, "--max-cost", "$1/hr", "--json")
    assert ran.code == 3
    assert ran.err == ""
    assert ran.document["feasible"] is False
    assert ran.document["relaxations"]
    text = emporion("plan", *WISH, "--max-cost", "$1/hr")
    assert text.code == 3
    assert "POSSIBLE WITH" in text.out
    assert "[E-BUDGET]" in text.err


def test_flags_replace_what_the_file_says(emporion: Emporion) -> None:
    Path("intent.yaml").write_text("name: mine\nresources: {gpus: {type: a100, count: 8}}\n")
    document = emporion("plan", "intent.yaml", "--gpus", "h100:8", "--show-intent", "--json").document
    assert document["name"] == "mine"
    assert document["resources"]["gpus"]["asked"] == ["h100"]


def test_what_is_not_acted_on_is_said(emporion: Emporion) -> None:
    Path("intent.yaml").write_text("name: mine\nresources: {gpus: a100:8}\nimage: {framework: pytorch}\n")
    assert "not acted on in this version: image" in emporion("plan", "intent.yaml").err


BAD = """\
name: mine
resources:
  gpus: {type: a100x, count: 0, min_vram: 40gbb}
  network: {latency: 5}
cost_control: {max_hourly: "2,5"}
regoins: [us-east-1]
"""


def test_all_problems_of_a_file_are_told_at_once_with_their_lines(emporion: Emporion) -> None:
    Path("bad.yaml").write_text(BAD)
    ran = emporion("plan", "bad.yaml")
    assert (ran.code, ran.out) == (2, "")
    wheres = [line.split()[1] for line in ran.err.splitlines() if line.startswith("  --> ")]
    assert wheres == [f"bad.yaml:{line}" for line in (3, 3, 3, 4, 5, 6)]
    assert len(emporion("plan", "bad.yaml", "--json").document["errors"]) == 6


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["--gpus", "a100x"], "did you mean a100", id="unknown gpu"),
        pytest.param(["--gpus", "a100:4", "--regions", "us-eas-1"], "did you mean us-east-1", id="unknown region"),
        pytest.param(["--gpus", "a100:4", "--providers", "asw"], "did you mean aws", id="unknown provider"),
        pytest.param(["--gpus", "a100:4", "--min-vram", "40gbps"], "--min-vram", id="wrong unit"),
        pytest.param(["--gpus", "a100:-4"], "negative", id="negative count"),
        pytest.param(["--gpus", "a100:0"], "zero", id="zero count"),
        pytest.param(["--gpus", "a100:4", "--max-cost", "0"], "zero", id="budget of zero"),
        pytest.param(["--gpus", "a100:4", "--max-cost", "2,5"], "cannot be read for sure", id="budget unsure"),
        pytest.param(["--gpus", "a100:4", "--max-cost", "5 EUR"], "no rate for EUR", id="currency without a rate"),
        pytest.param(["nix.yaml"], "does not exist", id="no such file"),
        pytest.param(["."], "is a directory", id="directory"),
        pytest.param([], "neither an intent file nor flags", id="nothing asked"),
        pytest.param([*WISH, "--pin", "a", "--diff", "b"], "--pin and --diff", id="contradictory flags"),
        pytest.param([*WISH, "--offers", "nix.csv"], "does not exist", id="no such offers file"),
        pytest.param(
            ["--gpus", "a100:4", "--network", "low-latncy"], "try: write network: low-latency\n", id="network"
        ),
        pytest.param(["--gpus", "a100:010"], "may be octal", id="octal"),
        pytest.param(["--gpus", "a100:4+"], "4..8", id="open range"),
        pytest.param([*WISH, "--prefer", "cheap"], "no preference is called 'cheap'", id="preference"),
        pytest.param([*WISH, "--max-pools", "0"], "--max-pools", id="pools"),
        pytest.param([*WISH, "--min-vran", "1gb"], "did you mean --min-vram?", id="option"),
        pytest.param([*WISH, "--pin", "demo"], "emporion init DIR", id="no project to pin in"),
        pytest.param([*WISH, "--explain", "aws/us-east-1/p4d"], "[E-OFFER]", id="unknown offer"),
    ],
)
def test_bad_input_is_one_clear_error(arguments: list[str], says: str, emporion: Emporion) -> None:
    ran = emporion("plan", *arguments)
    assert (ran.code, ran.out) == (2, ""), ran
    assert says in ran.err
    assert ran.err.startswith("error: ")
    assert not list(Path.cwd().iterdir())
    as_json = emporion("plan", *arguments, "--json")
    assert as_json.code == 2
    assert as_json.document["schema"] == "emporion.error/1"


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\xff\xfe\x00", id="not text"),
        pytest.param(b"provider,region\naws,us-east-1\n", id="columns missing"),
        pytest.param(f"{HEAD}\n".encode(), id="no rows"),
        pytest.param(f'{HEAD}\naws,us-east-1,,box,a100-80gb,8,80,96,1152,30,10,"me'.encode(), id="cut in a field"),
    ],
)
def test_an_offers_file_that_cannot_be_read_is_one_clear_error(content: bytes, emporion: Emporion) -> None:
    Path("offers.csv").write_bytes(content)
    ran = emporion("plan", *WISH, "--offers", "offers.csv")
    assert (ran.code, ran.out) == (2, "")
    assert "offers.csv" in ran.err


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("resources: {gpus: [}", id="does not parse"),
        pytest.param("", id="empty"),
        pytest.param("- a\n- b\n", id="a list"),
        pytest.param("a: &a [*a]\n", id="a loop"),
        pytest.param("resources: " + "[" * 500, id="deep"),
        pytest.param("\0", id="nul"),
    ],
)
def test_yaml_that_is_no_intent_is_an_error_with_its_line(content: str, emporion: Emporion) -> None:
    Path("intent.yaml").write_text(content)
    ran = emporion("plan", "intent.yaml")
    assert (ran.code, ran.out) == (2, "")
    assert "intent.yaml" in ran.err


def test_a_rate_converts_the_file_and_the_budget_and_is_shown_with_its_day(emporion: Emporion) -> None:
    Path("offers.csv").write_text(
        f"{HEAD},currency\novh,x,,e,L4,1,24,8,64,10,,test,2026-11-30,eur\novh,x,,f,L4,1,24,8,64,12,,test,2026-11-30,€\n"
    )
    wish = ("--gpus", "l4", "--scheduler", "none", "--offers", "offers.csv")
    ran = emporion("plan", *wish, "--rate", "EUR=1.10@2026-11-30")
    assert "1 EUR = 1.10 USD, of 2026-11-30" in ran.out
    assert "ovh" in ran.out
    document = emporion("plan", *wish, "--rate", "EUR=1.10", "--max-cost", "€9", "--json").document
    assert document["intent"]["budget"]["max_hourly_usd"] == "9.90"
    assert document["feasible"] is False
    assert emporion("offers", "list", "--offers", "offers.csv", "--rate", "EUR=2").out.count("20.00") == 2
    assert "[E-CURRENCY]" in emporion("plan", "--gpus", "l4", "--max-cost", "€9").err


def test_an_offer_is_walked_through_every_constraint(emporion: Emporion) -> None:
    document = emporion("plan", *WISH, "--json").document
    node = document["solutions"][0]["nodes"][0]
    parts = [node["provider"], node["region"], node["zone"], node["instance_type"], node["market"]]
    ran = emporion("plan", *WISH, "--explain", "/".join(part for part in parts if part))
    assert ran.code == 0, ran.err
    assert node["instance_type"] in ran.out
    assert "resources.gpus.min_vram" in ran.out
    assert "solution 1" in ran.out


def test_planning_imports_neither_pulumi_nor_an_sdk() -> None:
    heavy = ["pulumi", "grpc", "boto3", "botocore", "rich", "pydantic"]
    script = (
        "import json, sys\nfrom emporion.cli.main import main\n"
        f"main({['plan', *WISH, '--json']!r})\n"
        f"print('LOADED', json.dumps([name for name in {heavy!r} if name in sys.modules]), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(done.stderr.rpartition("LOADED")[2]) == []


def project(emporion: Emporion) -> Path:
    """Make a project in the current folder's `shop`."""
    assert emporion("init", "shop").code == 0
    return Path("shop")


def stack(folder: Path, name: str) -> Any:
    import yaml

    return yaml.safe_load((folder / f"Pulumi.{name}.yaml").read_text())["config"]


def test_a_pin_is_written_to_the_stack(emporion: Emporion) -> None:
    folder = project(emporion)
    intent = str(folder / "intents" / "demo.yaml")
    ran = emporion("plan", intent, "--pin", "demo", "--project", "shop", "--json")
    assert ran.code == 0, ran
    assert (ran.document["schema"], ran.document["wrote"], ran.document["world"]) == ("emporion.pin/1", True, "local")
    config = stack(folder, "demo")
    assert config["emporion:world"] == "local"
    assert config["emporion:placement"] == ran.document["placement"]
    again = emporion("plan", intent, "--pin", "demo", "--project", "shop", "--json").document
    assert (again["wrote"], again["changes"]) == (False, [])


def test_the_difference_to_a_pin_is_shown_and_nothing_written(emporion: Emporion) -> None:
    folder = project(emporion)
    intent = str(folder / "intents" / "demo.yaml")
    emporion("plan", intent, "--pin", "demo", "--project", "shop")
    before = (folder / "Pulumi.demo.yaml").read_bytes()
    same = emporion("plan", intent, "--diff", "demo", "--project", "shop")
    assert "would change nothing" in same.out
    other = emporion(
        "plan",
        intent,
        "--spot-fallback",
        "false",
        "--market",
        "on_demand",
        "--max-cost",
        "$99/hr",
        "--diff",
        "demo",
        "--project",
        "shop",
    )
    assert other.code == 0, other.err
    assert "on_demand" in other.out
    assert (folder / "Pulumi.demo.yaml").read_bytes() == before


def test_an_infeasible_plan_pins_nothing(emporion: Emporion) -> None:
    folder = project(emporion)
    intent = str(folder / "intents" / "demo.yaml")
    ran = emporion("plan", intent, "--max-cost", "$1/hr", "--pin", "demo", "--project", "shop")
    assert ran.code == 3
    assert not (folder / "Pulumi.demo.yaml").exists()


@pytest.mark.parametrize("json_flag", [(), ("--json",)], ids=["text", "json"])
def test_a_plan_that_cannot_be_stood_up_pins_nothing_and_says_why(
    emporion: Emporion, json_flag: tuple[str, ...]
) -> None:
    folder = project(emporion)
    ran = emporion("plan", "--gpus", "a100:8", "--providers", "gcp", "--pin", "x", "--project", "shop", *json_flag)
    assert ran.code == 3
    assert (
        "error: no placement of this plan can be stood up: no component for gcp in this version  [E-DEPLOY]" in ran.err
    )
    assert "emporion.plan/1" in ran.out or not json_flag
    assert not (folder / "Pulumi.x.yaml").exists()


@pytest.mark.parametrize("flags", [("--local", "--real"), ("--real", "--local")], ids=" ".join)
@pytest.mark.parametrize("command", ["plan", "up", "preview"])
def test_both_worlds_at_once_are_a_contradiction(emporion: Emporion, command: str, flags: tuple[str, ...]) -> None:
    ran = emporion(command, "demo.yaml", *flags)
    assert (ran.code, ran.out) == (2, "")
    assert "--local and --real ask for different worlds  [E-CONTRADICTION]" in ran.err


def test_unknown_places_are_told_with_the_other_problems_of_a_file_by_line(emporion: Emporion) -> None:
    Path("bad.yaml").write_text(
        "resources: {gpus: a100x}\n"
        "constraints:\n  providers: [awz]\n  regions: [us-esat-1, us-*]\n"
        "recovery: {mode: cold, regions: [mars-1]}\n"
        "stages:\n  - {name: a, constraints: {providers: [gcq]}}\n"
    )
    errors = emporion("plan", "bad.yaml", "--json").document["errors"]
    assert [(each["code"], each["where"].split()[0], each["fix"]) for each in errors] == [
        ("E-GPU", "bad.yaml:1", "did you mean a100 or a10 or v100"),
        ("E-PROVIDER", "bad.yaml:3", "did you mean aws"),
        ("E-REGION", "bad.yaml:4", "did you mean us-east-1"),
        ("E-REGION", "bad.yaml:5", "`emporion offers list` shows the regions"),
        ("E-PROVIDER", "bad.yaml:7", "did you mean gcp"),
    ]


def test_the_worlds_of_a_stack_cannot_be_mixed(emporion: Emporion) -> None:
    folder = project(emporion)
    intent = str(folder / "intents" / "demo.yaml")
    emporion("plan", intent, "--pin", "demo", "--project", "shop")
    ran = emporion("plan", intent, "--pin", "demo", "--real", "--project", "shop")
    assert ran.code == 2
    assert "[E-WORLD]" in ran.err


@pytest.mark.engine
def test_what_would_ask_writes_nothing_before_it_can(tmp_path: Path) -> None:
    desk = make_desk(tmp_path)
    ran = desk.run("up", "demo.yaml")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "[E-CONFIRM]" in ran.stderr
    assert not (desk.project / "Pulumi.demo.yaml").exists()
