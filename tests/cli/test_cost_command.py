"""`emporion cost`: figures recomputed from the CSVs by plain arithmetic, limits, formats, unknown is not zero."""

from __future__ import annotations

import csv
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from terminal import Emporion

DATA = Path(__file__).parents[2] / "market/emporion/market/data"
INSTANCE, VOLUME, NAT = "aws:ec2/instance:Instance", "aws:ebs/volume:Volume", "aws:ec2/natGateway:NatGateway"
PROVIDER = "pulumi:providers:aws"


def rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((DATA / name).read_text(encoding="utf-8").splitlines()))


def machine(instance_type: str, region: str = "us-east-1") -> Decimal:
    """Return the dearest on-demand price that the CSVs have."""
    found = [*rows("offers.csv"), *rows("cpu_offers.csv")]
    return max(
        Decimal(row["on_demand_usd_hr"])
        for row in found
        if (row["provider"], row["region"], row["instance_type"]) == ("aws", region, instance_type)
        and row["on_demand_usd_hr"]
    )


def item(name: str, variant: str, region: str = "us-east-1") -> Decimal:
    """Return the price of an ancillary item: quoted before other sources, newer before older."""
    found = [
        row
        for row in rows("ancillary.csv")
        if (row["provider"], row["region"], row["item"], row["variant"]) == ("aws", region, name, variant)
    ]
    best = max(found, key=lambda row: (row["quality"] == "quoted", row["as_of"], row["source"]))
    return Decimal(best["usd"])


def step(name: str, kind: str, inputs: dict[str, Any], op: str = "create") -> dict[str, Any]:
    urn = f"urn:pulumi:dev::shop::{kind}::{name}"
    state = {"urn": urn, "type": kind, "inputs": inputs, "provider": f"urn:pulumi:dev::shop::{PROVIDER}::east::id"}
    return {"op": op, "urn": urn, "newState": state}


def write(name: str, *steps: dict[str, Any], **inputs: Any) -> str:
    provider = step("east", PROVIDER, {"region": "us-east-1", **inputs})
    Path(name).write_text(json.dumps({"steps": [provider, *steps], "changeSummary": {}}))
    return name


def node(name: str, kind: str = "p4d.24xlarge", **more: Any) -> dict[str, Any]:
    disk = {"volumeSize": 100, "volumeType": "gp3"}
    return step(name, INSTANCE, {"instanceType": kind, "rootBlockDevice": disk, **more})


def test_the_figures_are_those_of_the_tables(emporion: Emporion) -> None:
    base = write("base.json", node("a"))
    head = write("head.json", node("a"), node("b"), node("c"), step("v", VOLUME, {"size": 50, "type": "gp3"}))
    document = emporion("cost", "guard", "--base", base, "--head", head, "--json").document
    gb = item("block_disk_gb_month", "gp3")
    monthly = 2 * machine("p4d.24xlarge") * 730 + (2 * 100 + 50) * gb
    assert abs(Decimal(document["change"]["usd_per_month"]) - monthly) <= Decimal("0.01")
    assert abs(Decimal(document["change"]["usd_per_hour"]) - monthly / 730) <= Decimal("0.01")
    lines = {line["item"]: line for line in document["lines"]}
    assert lines["p4d.24xlarge on-demand, us-east-1"]["quantity_change"] == "2"
    assert lines["disk, us-east-1"]["usd_per_month_change"] == f"{200 * gb:.2f}"
    assert lines["Volume, us-east-1"]["usd_per_month_change"] == f"{50 * gb:.2f}"
    assert len(lines) == 3
    assert all(line["source"] and line["as_of"] for line in lines.values())


def test_more_of_gp3_than_is_included_is_paid_beyond_it(emporion: Emporion) -> None:
    base = write("base.json")
    fast = {"size": 10, "type": "gp3", "iops": 4000, "throughput": 225}
    head = write("head.json", step("v", VOLUME, fast))
    document = emporion("cost", "guard", "--base", base, "--head", head, "--json").document
    expected = (
        10 * item("block_disk_gb_month", "gp3")
        + 1000 * item("block_disk_iops_month", "gp3")
        + 100 * item("block_disk_mbps_month", "gp3")
    )
    assert abs(Decimal(document["change"]["usd_per_month"]) - expected) <= Decimal("0.01")


def test_unknown_is_not_zero_and_zero_is_zero(emporion: Emporion) -> None:
    base, head = (
        write("base.json"),
        write("head.json", step("n", NAT, {}), step("v", VOLUME, {"size": 0, "type": "gp3"})),
    )
    document = emporion("cost", "guard", "--base", base, "--head", head, "--json").document
    lines = {line["item"]: line["usd_per_month_change"] for line in document["lines"]}
    assert lines["data, us-east-1"] is None
    assert lines["Volume, us-east-1"] == "0.00"
    assert lines["NatGateway, us-east-1"] == f"{item('nat_hour', 'nat_gateway') * 730:.2f}"
    assert document["head"]["unknown"] == ["data, us-east-1"]


def test_what_is_not_priced_is_counted_and_what_is_free_is_not(emporion: Emporion) -> None:
    steps = [step(str(n), "aws:rds/instance:Instance", {}) for n in range(3)]
    head = write("head.json", *steps, step("vpc", "aws:ec2/vpc:Vpc", {}), step("x", "random:index/id:Id", {}))
    document = emporion("cost", "guard", "--base", write("base.json"), "--head", head, "--json").document
    assert document["head"]["not_priced"] == {"aws:rds/instance:Instance": 3}


@pytest.mark.parametrize(
    ("limit", "code", "words"),
    [
        pytest.param(["--max-total", "500"], 3, "a month, allowed: $500.00", id="total"),
        pytest.param(["--max-hourly", "$20"], 3, "an hour, allowed: $20.00", id="hourly"),
        pytest.param(["--max-increase", "10%"], 3, "100.0 % more than before, allowed: 10 %", id="increase"),
        pytest.param(["--max-increase", "100%"], 0, "", id="exactly the increase"),
        pytest.param(["--max-total", "1000000", "--max-hourly", "1000"], 0, "", id="within"),
        pytest.param([], 0, "", id="no limit"),
        pytest.param(["--max-total", "much"], 2, "no amount in USD", id="no amount"),
        pytest.param(["--max-increase", "10"], 2, "no share, such as 10%", id="no share"),
    ],
)
def test_above_a_limit_it_is_refused(emporion: Emporion, limit: list[str], code: int, words: str) -> None:
    base, head = write("base.json", node("a")), write("head.json", node("a"), node("b"))
    ran = emporion("cost", "guard", "--base", base, "--head", head, *limit)
    assert (ran.code, words in ran.err) == (code, True), ran.err


def test_a_machine_without_a_price_keeps_no_limit(emporion: Emporion) -> None:
    base, head = write("base.json"), write("head.json", node("a", "p99.huge"))
    assert emporion("cost", "guard", "--base", base, "--head", head).code == 0
    ran = emporion("cost", "guard", "--base", base, "--head", head, "--max-total", "1000000")
    assert (ran.code, "has no known price" in ran.err) == (3, True)


def test_the_region_is_the_resources_own_else_its_providers_else_the_shells(
    emporion: Emporion, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    own, inherited = node("own", region="us-west-2"), node("inherited")
    alone = node("alone")
    alone["newState"]["provider"] = f"urn:pulumi:dev::shop::{PROVIDER}::other::id"
    head = write("head.json", own, inherited, alone)
    document = emporion("cost", "guard", "--base", write("base.json"), "--head", head, "--json").document
    assert document["head"]["regions"] == {"its provider": 1, "the resource itself": 1, "the shell's AWS_REGION": 1}
    where = {line["item"].rpartition(", ")[2] for line in document["lines"]}
    assert where == {"us-west-2", "us-east-1", "eu-west-1"}


def test_the_comment_is_one_that_the_next_run_finds(emporion: Emporion, snapshot: SnapshotAssertion) -> None:
    base = write("base.json", node("a"), step("db", "aws:rds/instance:Instance", {}))
    head = write("head.json", node("a"), node("b"), step("n", NAT, {}), step("db", "aws:rds/instance:Instance", {}))
    ran = emporion(
        "cost", "guard", "--base", base, "--head", head, "--format", "markdown", "--max-total", "500", "--hours", "12"
    )
    assert ran.code == 3
    assert ran.out.startswith("<!-- emporion cost guard -->\n")
    assert ran.out == snapshot


def test_sarif_and_no_change(emporion: Emporion) -> None:
    same = write("same.json", node("a"))
    ran = emporion("cost", "guard", "--base", same, "--head", same, "--format", "sarif", "--max-increase", "0%")
    assert (ran.code, json.loads(ran.out)["runs"][0]["results"]) == (0, [])
    more = write("more.json", node("a"), node("b"))
    ran = emporion("cost", "guard", "--base", same, "--head", more, "--format", "sarif", "--max-increase", "0%")
    [result] = json.loads(ran.out)["runs"][0]["results"]
    assert (ran.code, result["level"]) == (3, "error")


def test_plans_can_be_compared_too(emporion: Emporion) -> None:
    wish = ("plan", "--gpus", "a100:8", "--providers", "aws", "--hours", "12", "--json")
    plan = emporion(*wish)
    Path("plan.json").write_text(plan.out)
    document = emporion("cost", "guard", "--base", "plan.json", "--head", "plan.json", "--json").document
    [chosen] = [one for one in plan.document["solutions"] if one["recommended"]]
    assert document["lines"] == []
    assert document["head"]["usd_per_hour"] == f"{Decimal(chosen['cost']['total']):.2f}"
    estimate = emporion("cost", "estimate", "--plan", "plan.json", "--json").document
    assert estimate["usd_per_run"] == f"{Decimal(chosen['cost']['run_total']):.2f}"


def test_a_script_tells_what_it_can_and_the_rest_is_unknown(emporion: Emporion) -> None:
    Path("train.py").write_text(
        "import argparse\nparser = argparse.ArgumentParser()\n"
        'parser.add_argument("--max-steps", type=int, default=1000)\nparser.add_argument("--params", default="llama")\n'
        'raise SystemExit("it must not be run")\n'
    )
    wish = ("cost", "estimate", "--script", "train.py", "--gpus", "a100:8", "--hours", "12", "--json")
    document = emporion(*wish).document
    assert document["script"] == {"steps": "1000", "dataset": None, "model": None}
    assert Decimal(document["usd_per_run"]) > 12 * Decimal("0.9") * Decimal(document["usd_per_hour"])
    assert emporion(*wish, "--model", "13b").document["script"]["model"] == "13b"
    assert emporion("cost", "estimate", "--script", "train.py").code == 2
    Path("bad.py").write_text("def :")
    assert "cannot be read as Python" in emporion("cost", "estimate", "--script", "bad.py", "--gpus", "a100:8").err


def test_one_thing_is_estimated_at_a_time(emporion: Emporion) -> None:
    assert emporion("cost", "estimate").code == 2
    head = write("head.json", node("a"))
    assert emporion("cost", "estimate", "--preview", head, "--plan", head).code == 2
    ran = emporion("cost", "estimate", "--preview", head, "--hours", "2")
    assert f"${machine('p4d.24xlarge') + 100 * item('block_disk_gb_month', 'gp3') / 730:.2f} an hour" in ran.out
    assert "a run of 2 h" in ran.out
    Path("no.json").write_text('{"schema": "emporion.plan/1", "solutions": []}')
    assert "recommends nothing" in emporion("cost", "estimate", "--plan", "no.json").err
