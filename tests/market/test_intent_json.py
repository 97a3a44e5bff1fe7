from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import emporion.market.intent as package
from emporion.market import gpus, money, units
from emporion.market.errors import UserError
from emporion.market.intent import (
    Intent,
    intent_from_flags,
    intent_from_json,
    intent_hash,
    intent_json,
    intent_schema,
    load_intent,
)
from emporion.market.intent.codes import CODES
from emporion.market.intent.read import key_paths
from emporion.market.query import tokens

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "stacks" / "intents" / "demo.yaml"
FINETUNE = ROOT / "stacks" / "intents" / "llama2-finetune.yaml"


@pytest.mark.parametrize(
    "flags",
    [
        {"gpus": "A100-80GB"},
        {"gpus": "A100:80GB"},
        {"gpus": "a100 80gb"},
        {"gpus": "A100", "min_vram": "80GB"},
        {"gpus": "A100:80GB:1"},
    ],
    ids=str,
)
def test_all_spellings_of_one_request_have_one_hash(flags: dict[str, object]) -> None:
    assert intent_hash(intent_from_flags(**flags)) == intent_hash(intent_from_flags(gpus="a100-80gb:1"))


@pytest.mark.parametrize(
    "flags",
    [
        {"gpus": "A100"},
        {"gpus": "A100-40GB"},
        {"gpus": "A100-80GB:2"},
        {"gpus": "A100-80GB", "max_cost": "$5"},
        {"gpus": "A100-80GB", "regions": ("us-*",)},
        {"gpus": "A100-80GB", "memory": "64gb"},
        {"gpus": "any", "min_vram": "80gb"},
    ],
    ids=str,
)
def test_another_request_has_another_hash(flags: dict[str, object]) -> None:
    assert intent_hash(intent_from_flags(**flags)) != intent_hash(intent_from_flags(gpus="a100-80gb:1"))


def test_the_words_for_one_amount_do_not_change_the_hash(tmp_path: Path) -> None:
    texts = [
        "{gpu: a100, budget: 2.8}",
        "gpu: a100\nbudget: $2.80/hr",
        "resources: {gpus: {type: [A100]}}\nbudget: 2.80 USD",
    ]
    hashes = set()
    for index, text in enumerate(texts):
        path = tmp_path / f"intent{index}.yaml"
        path.write_text(text)
        hashes.add(intent_hash(load_intent(path)))
    assert len(hashes) == 1


def test_the_normalised_intent_shows_defaults_and_units() -> None:
    data = intent_json(load_intent(DEMO))
    assert data["schema"] == "emporion.intent/1"
    assert data["resources"]["gpus"]["min_vram_gb"] == "40"
    assert data["resources"]["gpus"]["types"] == ["a100-40gb", "a100-80gb"]
    assert data["budget"]["max_hourly_usd"] == "16.00"
    assert data["lifecycle"]["spot_fallback"] == "pause"
    assert data["scheduler"] == "slurm"
    strict = intent_json(intent_from_flags(gpus="a100", min_vram="24gib", memory="22888MiB"))
    assert strict["resources"]["gpus"]["min_vram_gib"] == "24"
    assert strict["resources"]["memory_min_gib"] == "22.3515625"


@pytest.mark.parametrize("path", [DEMO, FINETUNE], ids=["demo", "finetune"])
def test_json_reads_back_to_the_same_intent(path: Path) -> None:
    intent = load_intent(path)
    written = json.loads(json.dumps(intent_json(intent)))
    read = intent_from_json(written)
    assert intent_json(read) == written
    assert intent_hash(read) == intent_hash(intent)
    assert read.resources == intent.resources


def test_equal_intents_are_written_in_equal_bytes() -> None:
    assert json.dumps(intent_json(load_intent(DEMO))) == json.dumps(intent_json(load_intent(DEMO)))


@given(
    memory=st.integers(1, 1 << 55).flatmap(lambda size: st.sampled_from([f"{size}b", f"{size}.7kib", f"0.{size}gib"])),
    amount=st.decimals("0.000001", "1000000", places=6),
    rate=st.sampled_from(["gbps", "GiB/s", "MB/s"]),
)
def test_every_amount_reads_back_exactly(memory: str, amount: Decimal, rate: str) -> None:
    intent = intent_from_flags(gpus="any:4", memory=memory, max_cost=f"${amount}/gpu/hr", bandwidth=f"{amount}{rate}")
    read = intent_from_json(json.loads(json.dumps(intent_json(intent))))
    assert (read.resources, read.budget) == (intent.resources, intent.budget)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": "emporion.intent/9"}, "emporion.intent/9"),
        ({"resources": []}, "resources is not a mapping"),
        ({"colour": "red"}, "unknown key 'colour'"),
        ({"scheduler": "pbs"}, "scheduler"),
        ({"budget": {"max_hourly_usd": "NaN"}}, "budget.max_hourly_usd is not a number"),
        ({"budget": {"max_hourly_usd": 16}}, "budget.max_hourly_usd is not a number"),
        ({"lifecycle": {"market": "sport"}}, "lifecycle.market"),
        ({"lifecycle": {"market": ["spot"]}}, "lifecycle.market"),
        ({"data": {"size_gb": "1"}}, "data is not a list"),
        ({"data": [{"size_gb": "much"}]}, "data[0].size"),
        ({"tags": {"a": 1}}, "tags"),
        ({"name": None}, "name is not str"),
    ],
)
def test_a_damaged_pin_is_told_by_its_key(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        intent_from_json({**intent_json(load_intent(DEMO)), **change}, where="Pulumi.demo.yaml")
    assert caught.value.code == "E-INTENT-JSON"
    assert said in caught.value.what
    assert caught.value.where == "Pulumi.demo.yaml"


def test_a_pin_without_a_key_that_it_needs_is_damaged() -> None:
    data = intent_json(load_intent(DEMO))
    del data["resources"]
    with pytest.raises(UserError, match="a key is missing"):
        intent_from_json(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(sorted(intent_json(load_intent(DEMO)))), json_values)
def test_no_pin_raises_anything_but_a_user_error(key: str, value: object) -> None:
    try:
        intent = intent_from_json({**intent_json(load_intent(DEMO)), key: value})
    except UserError as error:
        assert error.code == "E-INTENT-JSON"  # noqa: PT017 - what is raised is the point
    else:
        assert isinstance(intent, Intent)


def _properties(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    for name, value in schema.get("properties", {}).items():
        below = f"{path}.{name}" if path else name
        yield below, value
        yield from _properties(value, below)
        yield from _properties(value.get("items", {}), f"{below}[]")


def test_the_schema_describes_every_key() -> None:
    described = dict(_properties(intent_schema()))
    assert set(key_paths()) <= set(described)
    assert all("description" in described[path] for path in key_paths())
    assert intent_schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    json.dumps(intent_schema())


def test_every_reference_in_the_schema_leads_to_a_key() -> None:
    schema = intent_schema()
    references = [value["$ref"] for _, value in _properties(schema) if "$ref" in value]
    assert references
    for reference in references:
        found = schema
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        assert "description" in found


def test_every_key_of_the_design_is_a_key() -> None:
    keys = {
        "name",
        "resources.gpus.type",
        "resources.gpus.count",
        "resources.gpus.min_vram",
        "resources.gpus.min_total_vram",
        "resources.gpus.topology",
        "resources.gpus.mig",
        "resources.gpus.share",
        "resources.gpus.allow_fraction",
        "resources.nodes",
        "resources.cpus",
        "resources.memory",
        "resources.storage",
        "resources.storage_type",
        "resources.network.latency",
        "resources.network.bandwidth",
        "resources.network.rdma",
        "cost_control.max_hourly",
        "cost_control.max_daily",
        "cost_control.max_monthly",
        "cost_control.max_total",
        "cost_control.auto_scale",
        "lifecycle.market",
        "lifecycle.spot_fallback",
        "lifecycle.spot_max_price",
        "lifecycle.spot_auto_renew",
        "lifecycle.max_run",
        "lifecycle.checkpoint_interval",
        "lifecycle.on_interruption",
        "checkpoint_path",
        "data[].source",
        "data[].size",
        "data[].egress",
        "constraints.providers",
        "constraints.regions",
        "constraints.local_zones",
        "constraints.max_carbon",
        "constraints.max_price_age",
        "constraints.compliance",
        "constraints.sandbox",
        "recovery.mode",
        "recovery.providers",
        "recovery.regions",
        "model.parameters",
        "model.precision",
        "model.hours",
        "stages[].name",
        "stages[].needs",
        "stages[].resources",
        "stages[].constraints",
        "stages[].data_in",
        "stages[].data_out",
        "stages[].hours",
        "image.framework",
        "image.version",
        "image.ops",
        "scheduler",
        "tags",
        "access",
    }
    assert keys <= set(key_paths())


def test_every_error_code_is_in_the_table_and_every_code_of_the_table_is_raised() -> None:
    files = [Path(module.__file__ or "") for module in (gpus, money, units)]
    files += [path for path in Path(package.__file__).parent.glob("*.py") if path.name != "codes.py"]
    files.append(Path(tokens.__file__))
    raised = {
        node.args[0].value
        for path in files
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "UserError"
        if isinstance(node.args[0], ast.Constant)
    }
    assert raised == set(CODES)
    assert list(CODES) == sorted(CODES)


def test_reading_an_intent_loads_neither_pulumi_nor_pydantic_and_flags_need_no_yaml() -> None:
    program = (
        "import sys; from emporion.market.intent import intent_from_flags, intent_hash;"
        "intent_hash(intent_from_flags(gpus='a100:4'));"
        "print([name for name in ('pulumi', 'grpc', 'numpy', 'pydantic', 'yaml', 'boto3') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
