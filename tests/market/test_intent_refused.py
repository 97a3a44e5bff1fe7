from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emporion.market.errors import UserError
from emporion.market.intent import Intent, intent_from_flags, load_intent

IntentOf = Callable[..., Intent]
ProblemsOf = Callable[..., list[tuple[int, str, str]]]
EXAMPLE = Path(__file__).parents[2] / "stacks" / "intents" / "llama2-finetune.yaml"


def test_all_problems_are_told_at_once_in_the_order_of_their_lines(problems_of: ProblemsOf) -> None:
    text = """\
name: Über
resources:
  gpus:
    type: a100x
    count: 0
    min_vrm: 40gb
  network: {bandwidth: 25}
cost_control:
  max_hourly: "2,5"
  max_total: $0
lifecycle: {market: sport}
colour: red
"""
    assert problems_of(text) == [
        (1, "E-VALUE", "name"),
        (4, "E-GPU", "resources.gpus.type"),
        (5, "E-RANGE", "resources.gpus.count"),
        (6, "E-KEY", "resources.gpus.min_vrm"),
        (7, "E-UNIT", "resources.network.bandwidth"),
        (9, "E-NUMBER", "cost_control.max_hourly"),
        (10, "E-RANGE", "cost_control.max_total"),
        (11, "E-VALUE", "lifecycle.market"),
        (12, "E-KEY", "colour"),
    ]


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("{gpu: a100, resorces: {}}", "resources"),
        ("{gpu: a100, min_vrm: 40gb}", "min_vram"),
        ("{gpu: a100, lifecycle: {spot_falback: pause}}", "spot_fallback"),
        ("{gpu: a100, topology: nvlink}", "resources.gpus.topology"),
        ("{gpu: a100, providers: [aws]}", "constraints.providers"),
        ("{gpu: a100, lifecycle: {market: on-demnd}}", "on_demand"),
        ("{gpu: a100, stages: [{name: one}, {name: two, needs: [onne]}]}", "one"),
    ],
)
def test_a_word_that_is_not_known_gets_the_near_one(intent_of: IntentOf, text: str, near: str) -> None:
    with pytest.raises(UserError) as caught:
        intent_of(text)
    assert caught.value.fix == f"did you mean {near}"


@pytest.mark.parametrize(
    ("text", "line", "code", "key"),
    [
        pytest.param("name: x\nresources: {gpus: a100-8}", 2, "E-GPU", "resources.gpus.type", id="case 01 iii"),
        pytest.param("gpu: a100\ngpu: h100", 2, "E-DUPLICATE", "gpu", id="key twice"),
        pytest.param(
            "resources:\n  gpus: a100\n  gpus: a100", 3, "E-DUPLICATE", "resources.gpus", id="nested key twice"
        ),
        pytest.param("gpu: a100\nresources: {gpus: h100}", 1, "E-CONTRADICTION", "gpu", id="two spellings of one key"),
        pytest.param(
            "gpu: a100\nspot: never\nlifecycle: {market: any}", 2, "E-CONTRADICTION", "spot", id="spot and market"
        ),
        pytest.param("gpu: a100:4\ncount: 8", 2, "E-CONTRADICTION", "count", id="two counts"),
        pytest.param(
            "gpu: [a100-80gb, v5e-8]\ncount: 4", 2, "E-CONTRADICTION", "count", id="count in one of several names"
        ),
        pytest.param("gpu: a100-40gb\nmin_vram: 80gb", 2, "E-CONTRADICTION", "min_vram", id="variant has less memory"),
        pytest.param("gpu: A100:40GB\nmin_vram: 40gib", None, "", "", id="40 GB part has 40 GiB"),
        pytest.param("gpu: H100:80GB\nmin_vram: 80gib", 2, "E-CONTRADICTION", "min_vram", id="H100 has 79.6 GiB"),
        pytest.param(
            "resources:\n  gpus: {type: a100-40gb, count: 4, min_total_vram: 1tb}",
            2,
            "E-CONTRADICTION",
            "resources.gpus.min_total_vram",
            id="total above what they have",
        ),
        pytest.param(
            "resources:\n  gpus: a100:2\n  nodes: 4", 3, "E-CONTRADICTION", "resources.nodes", id="more nodes than GPUs"
        ),
        pytest.param(
            "resources:\n  gpus: a100\n  nodes: 2", 2, "E-MISSING", "resources.gpus.count", id="nodes without count"
        ),
        pytest.param(
            "gpu: a100\nlifecycle:\n  market: on_demand\n  spot_max_price: $4",
            4,
            "E-CONTRADICTION",
            "lifecycle.spot_max_price",
            id="spot price on demand",
        ),
        pytest.param(
            "gpu: a100\nlifecycle: {market: on_demand, spot_auto_renew: true}",
            2,
            "E-CONTRADICTION",
            "lifecycle.spot_auto_renew",
            id="renewal on demand",
        ),
        pytest.param(
            "gpu: a100\nspot: never\nlifecycle: {spot_fallback: pause}",
            3,
            "E-CONTRADICTION",
            "lifecycle.spot_fallback",
            id="pause on demand",
        ),
        pytest.param(
            "resources:\n  gpus: a100:8\n  network: low-latency\nrdma: no",
            4,
            "E-CONTRADICTION",
            "rdma",
            id="low latency without rdma",
        ),
        pytest.param(
            "gpu: a100\nresources: {network: {low_latency: true, rdma: no}}",
            2,
            "E-CONTRADICTION",
            "resources.network.rdma",
            id="low latency without rdma in one mapping",
        ),
        pytest.param(
            "resources:\n  gpus: {type: a100, mig: 1g.5gb, topology: nvlink}",
            2,
            "E-CONTRADICTION",
            "resources.gpus.topology",
            id="mig and nvlink",
        ),
        pytest.param(
            "gpu: a100\ncost_control: {max_hourly: $500/month}",
            2,
            "E-CONTRADICTION",
            "cost_control.max_hourly",
            id="period",
        ),
        pytest.param(
            "gpu: a100\ncost_control: {max_total: $5/hr}",
            2,
            "E-CONTRADICTION",
            "cost_control.max_total",
            id="total per hour",
        ),
        pytest.param(
            "gpu: a100\nlifecycle: {spot_max_price: $5/gpu}",
            2,
            "E-MONEY",
            "lifecycle.spot_max_price",
            id="spot per gpu",
        ),
        pytest.param(
            "gpu: a100\nlifecycle: {spot_max_price: 0}", 2, "E-RANGE", "lifecycle.spot_max_price", id="spot for nothing"
        ),
        pytest.param(
            "gpu: a100\ncost_control: {max_hourly: 10 EUR}", 2, "E-CURRENCY", "cost_control.max_hourly", id="no rate"
        ),
        pytest.param("gpu: a100\ncost_control: {max_hourly: .nan}", 2, "E-RANGE", "cost_control.max_hourly", id="nan"),
        pytest.param("gpu: a100\ncost_control: {max_hourly: -.inf}", 2, "E-RANGE", "cost_control.max_hourly", id="inf"),
        pytest.param("gpu: a100\ncost_control: {max_hourly: 2,5}", 2, "E-KEY", "cost_control.5", id="2,5 in braces"),
        pytest.param("gpu: a100\ncost_control:\n  max_hourly: 2,5", 3, "E-NUMBER", "cost_control.max_hourly", id="2,5"),
        pytest.param("gpu: a100:2.5", 1, "E-COUNT", "gpu", id="half a GPU"),
        pytest.param("gpu: a100:-4", 1, "E-RANGE", "gpu", id="negative GPUs"),
        pytest.param("gpu: a100\nresources: {cpus: 2..4}", 2, "E-COUNT", "resources.cpus", id="range of cpus"),
        pytest.param("gpu: a100\nresources: {memory: 64}", 2, "E-UNIT", "resources.memory", id="memory without unit"),
        pytest.param(
            "gpu: a100\nconstraints:\n  compliance: [hipaa]",
            3,
            "E-UNSUPPORTED",
            "constraints.compliance",
            id="compliance",
        ),
        pytest.param(
            "gpu: a100\nconstraints:\n  sandbox: gvisor", 3, "E-UNSUPPORTED", "constraints.sandbox", id="sandbox"
        ),
        pytest.param("gpu: a100\nname: [a]", 2, "E-TYPE", "name", id="list for a word"),
        pytest.param("gpu: a100\nname:", 2, "E-TYPE", "name", id="key without value"),
        pytest.param("gpu: a100\nlifecycle: spot", 2, "E-TYPE", "lifecycle", id="word for a mapping"),
        pytest.param("gpu: a100\nresources: {network: fast}", 2, "E-TYPE", "resources.network", id="unknown shorthand"),
        pytest.param("gpu: a100\ndata: s3://bucket", 2, "E-TYPE", "data", id="word for a list"),
        pytest.param("gpu: a100\ndata:\n  - s3://bucket", 3, "E-TYPE", "data[0]", id="word in a list of mappings"),
        pytest.param("gpu: a100\ncheckpoint_path: /tmp", 2, "E-VALUE", "checkpoint_path", id="no bucket"),
        pytest.param(
            "gpu: a100\nconstraints: {regions: ['us east']}", 2, "E-VALUE", "constraints.regions", id="no region"
        ),
        pytest.param("name: x", 0, "E-MISSING", "resources.gpus", id="nothing asked for"),
        pytest.param(
            "stages:\n  - {name: a, resources: {cpus: 2}}\n  - {name: b}",
            3,
            "E-MISSING",
            "stages[1].resources",
            id="stage that asks for nothing",
        ),
        pytest.param(
            "gpu: a100\nstages:\n  - name: a\n    needs: [a]",
            4,
            "E-CONTRADICTION",
            "stages[0].needs",
            id="needs itself",
        ),
        pytest.param(
            "gpu: a100\nstages:\n  - name: a\n  - name: b\n    needs: [c]", 5, "E-VALUE", "stages[1].needs", id="need"
        ),
        pytest.param(
            "gpu: a100\nstages:\n  - name: a\n  - name: b\n    data_in:\n      - source: stage://a",
            6,
            "E-VALUE",
            "stages[1].data_in[0].source",
            id="data of a stage that it does not need",
        ),
        pytest.param(
            "gpu: a100\ndata: [{source: stage://a}]", 2, "E-VALUE", "data[0].source", id="data from a stage above all"
        ),
        pytest.param(
            "gpu: a100\nstages:\n  - {name: a}\n  - {name: a}", 4, "E-DUPLICATE", "stages[1].name", id="stage twice"
        ),
        pytest.param(
            "gpu: a100\nstages: [{name: a, needs: [b]}, {name: b, needs: [a]}]",
            2,
            "E-CONTRADICTION",
            "stages[0].needs",
            id="circle",
        ),
        pytest.param("gpu: a100\nstages:\n  - {hours: 1}", 3, "E-MISSING", "stages[0].name", id="stage without name"),
        pytest.param("gpu: a100\ntags: {emporion-id: x}", 2, "E-VALUE", "tags.emporion-id", id="reserved tag"),
        pytest.param("gpu: a100\ntags: {'aws:x': x}", 2, "E-VALUE", "tags.aws:x", id="cloud's tag"),
        pytest.param("gpu: a100\ntags: [a]", 2, "E-TYPE", "tags", id="tags as a list"),
        pytest.param(
            "gpu: a100\naccess: {capacity_block: true}", 2, "E-MISSING", "access.capacity_block", id="block without id"
        ),
        pytest.param(
            "gpu: a100\nspot: require\naccess: {reservation: cr-1}",
            3,
            "E-CONTRADICTION",
            "access.reservation",
            id="reserved spot",
        ),
        pytest.param("gpu: a100\n<<: {name: x}", 2, "E-KEY", "<<", id="merge key"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(
    problems_of: ProblemsOf, intent_of: IntentOf, text: str, line: int | None, code: str, key: str
) -> None:
    if line is None:
        intent_of(text)
        return
    assert (line, code, key) in problems_of(text)


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        pytest.param("", 0, "the file is empty", id="empty"),
        pytest.param("# a comment\n", 0, "the file is empty", id="only a comment"),
        pytest.param("---\n", 0, "the file is empty", id="only a document start"),
        pytest.param("- gpu: a100", 1, "the document is a list", id="list"),
        pytest.param("a100", 1, "the document is a single value", id="word"),
        pytest.param("gpu: a100\nresources: {gpus: [a100", 3, "that begins in line 2", id="bracket left open"),
        pytest.param("gpu: a100\n\tname: x", 2, "not YAML", id="tab"),
        pytest.param("gpu: a100\nname: 'x", 2, "not YAML", id="quote left open"),
        pytest.param("gpu: a: b", 1, "not YAML", id="colon in a value"),
        pytest.param("gpu: a100\n---\ngpu: h100", 2, "a second document begins here", id="two documents"),
        pytest.param("gpu: a100\nname: !!python/object:os.system x", 2, "the tag", id="python tag"),
        pytest.param("gpu: a100\nname: !mine x", 2, "the tag", id="own tag"),
        pytest.param("gpu: *a", 1, "has no anchor", id="alias without anchor"),
        pytest.param("gpu: &a [*a]", 1, "has no anchor", id="alias of itself"),
        pytest.param("[" * 100, 1, "nested deeper", id="depth"),
        pytest.param("? [a]\n: b", 1, "a key must be a word", id="list as key"),
        pytest.param("gpu: a100\ndata: [" + "1, " * 30_000 + "]", 2, "more than", id="number of values"),
        pytest.param("gpu: \x00", 0, "not YAML", id="nul"),
        pytest.param("gpu: \x07", 0, "not YAML", id="bell"),
    ],
)
def test_yaml_that_is_no_intent_is_refused(intent_of: IntentOf, text: str, line: int, said: str) -> None:
    with pytest.raises(UserError) as caught:
        intent_of(text)
    assert caught.value.code == "E-YAML"
    assert said in caught.value.what
    assert not line or f"intent.yaml:{line}" in (caught.value.where or "")


def test_yaml_that_does_not_parse_is_told_with_line_and_column(intent_of: IntentOf) -> None:
    with pytest.raises(UserError) as caught:
        intent_of("gpu: a100\nresources: {gpus: [a100}\n")
    assert re.search(r"intent\.yaml:2:24$", caught.value.where or "")


def test_aliases_of_aliases_do_not_grow(problems_of: ProblemsOf) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{b}: &{b} [{', '.join(['*' + a] * 9)}]" for a, b in zip("abcdefgh", "bcdefghi", strict=True)]
    assert {code for _, code, _ in problems_of("\n".join(lines))} == {"E-KEY"}


def test_files_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes("gpu: a100\nname: caf\xe9".encode("latin-1"))
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"#" * (2 << 20))
    cases = {
        tmp_path / "none.yaml": "does not exist",
        tmp_path: "is a directory",
        latin: "not UTF-8 text: byte 20 is 0xe9",
        huge: "is larger than 1 MiB",
        latin / "below": "cannot be read: not a directory",
        Path("a\0b"): "cannot be read",
    }
    for path, said in cases.items():
        with pytest.raises(UserError) as caught:
            load_intent(path)
        assert caught.value.code == "E-FILE"
        assert said in caught.value.what
        assert str(path)[:5] in (caught.value.where or "")


@pytest.mark.parametrize(
    ("flags", "places"),
    [
        ({"gpus": "a100x"}, ["--gpus"]),
        ({"gpus": "a100:0", "max_cost": "2,5"}, ["--gpus", "--max-cost"]),
        ({"gpus": "a100-40gb", "min_vram": "80gb"}, ["--min-vram"]),
        ({"gpus": "a100", "nodes": "0"}, ["--nodes"]),
        ({"gpus": "a100", "network": "fast"}, ["--network"]),
        ({"gpus": "a100", "network": "fast", "latency": "5ms"}, ["--network"]),
        ({"gpus": "a100", "market": "on_demand", "spot_max_price": "4"}, ["--spot-max-price"]),
        ({"gpus": "a100", "rdma": "no", "network": "low-latency"}, ["--rdma"]),
        ({}, ["resources.gpus"]),
    ],
)
def test_a_wrong_flag_is_told_by_its_name(flags: dict[str, object], places: list[str]) -> None:
    with pytest.raises(UserError) as caught:
        intent_from_flags(**flags)
    assert [problem.where for problem in caught.value.problems()] == places


yaml_texts = st.one_of(
    st.text(),
    st.text("{}[]:,-&*!?|>'\"%@`# \n\tabgpu10"),
    st.lists(
        st.sampled_from(
            [
                *EXAMPLE.read_text(encoding="utf-8").splitlines(),
                "  - x",
                "gpu: a100:4",
                "spot: never",
                "? a",
                "&a",
                "*a",
                "!!set",
                "...",
            ]
        ),
        max_size=8,
    ).map("\n".join),
)


@settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=yaml_texts)
def test_no_document_raises_anything_but_user_errors(intent_of: IntentOf, text: str) -> None:
    try:
        intent = intent_of(text.encode("utf-8", "surrogatepass"))
    except UserError as error:
        for problem in error.problems():
            assert problem.fix
            assert "intent.yaml" in (problem.where or "") or problem.where == "resources.gpus"
    else:
        assert isinstance(intent, Intent)


@settings(max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary())
def test_no_bytes_raise_anything_but_user_errors(intent_of: IntentOf, data: bytes) -> None:
    try:
        intent_of(data)
    except UserError as error:
        assert error.problems()  # noqa: PT017 - what is raised is the point
    else:
        assert data
