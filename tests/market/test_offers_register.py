"""Machines of one's own: read from a document, checked as a whole, kept whole or not at all."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emporion.market.errors import UserError
from emporion.market.graph import ResourceGraph
from emporion.market.intent import intent_from_flags
from emporion.market.intent.read import key_paths
from emporion.market.links import Site
from emporion.market.offer import Fabric, Nvlink, Offer, Software
from emporion.market.offers import Rate, load_bundled, load_market
from emporion.market.offers.document import REQUIRED
from emporion.market.offers.machine_keys import ROOT
from emporion.market.offers.owned import Owned
from emporion.market.offers.registry import Registered, register, registered, unregister
from emporion.market.plan import make_plan

TODAY = date(2026, 12, 1)
Rates = dict[str, Rate] | None
CLOUDS = ("aws", "gcp", "vast")
RACK = """\
region: berlin
latitude: 52.52
longitude: 13.40
machines:
  - name: rack-a
    label: a100-80gb
    gpus: 8
    vram: 80gb
    vcpus: 128
    memory: 1tb
    cuda: "12.4"
    driver: "550.54"
    os: Ubuntu-22.04
    preinstalled: [pytorch==2.1.0, NCCL]
    sla: 99.5%
    nvlink: nvswitch
    nvlink_bandwidth: 600GB/s
    fabric: infiniband
    fabric_bandwidth: 1600gbps
    network_bandwidth: 100gbps
    owned: {purchase: $180000, months: 48, power: 6.5kW, energy: $0.15/kWh, hosting: $900/month}
"""


def put(folder: Path, text: str, name: str = "lab.yaml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def keep(
    file: Path, *, name: str | None = None, replace: bool = False, rates: dict[str, Rate] | None = None
) -> Registered:
    folder = file.parent / "offers"
    return register(file, folder, name=name, replace=replace, clouds=CLOUDS, rates=rates or {}, today=TODAY)


def problems(file: Path) -> list[tuple[str, str, str]]:
    """Return code, place in the file, and what is wrong; nothing was kept."""
    with pytest.raises(UserError) as caught:
        keep(file)
    assert not (file.parent / "offers" / "registered").exists()
    return [(each.code, (each.where or "").removeprefix(f"{file}:"), each.what) for each in caught.value.problems()]


def one_of(made: Registered) -> Offer:
    (offer,) = made.offers
    return offer


def test_a_machine_becomes_an_offer_with_all_that_is_said_of_it(tmp_path: Path) -> None:
    made = keep(put(tmp_path, RACK))
    offer = one_of(made)
    assert (made.name, made.providers) == ("lab", ("onprem",))
    assert (offer.id, offer.gpu, offer.gpu_count) == ("onprem/berlin/rack-a/on_demand", "a100-80gb", 8)
    assert list(map(str, (offer.gpu_vram_gb, offer.vcpus, offer.ram_gb, offer.as_of))) == [
        "80",
        "128",
        "1000",
        "2026-12-01",
    ]
    assert offer.software == Software("12.4", "550.54", "ubuntu-22.04", ("nccl", "pytorch==2.1.0"), Decimal("99.5"))
    assert (offer.nvlink, offer.nvlink_gb_s_per_gpu) == (Nvlink.NVSWITCH, Decimal(600))
    assert (offer.fabric, offer.fabric_gbps, offer.network_gbps) == (Fabric.INFINIBAND, Decimal(1600), Decimal(100))
    assert offer.place == (Decimal("52.52"), Decimal("13.4"))


def test_what_is_owned_costs_its_purchase_its_power_and_its_housing(tmp_path: Path) -> None:
    offer = one_of(keep(put(tmp_path, RACK)))
    hourly = (Decimal(180000) / 48 + 900) / 730 + Decimal("6.5") * Decimal("0.15")
    assert abs(offer.usd_per_hour - hourly) < Decimal("0.000001")
    assert offer.source == "owned: $180000.00 over 48 months, 6.5 kW at $0.15/kWh, $900.00/month for hosting"


@given(
    st.integers(0, 10**7), st.integers(1, 120), st.decimals(0, 100, places=2), st.decimals(0, 2, places=3),
    st.decimals(0, 10**5, places=2),
)  # fmt: skip
def test_the_hourly_cost_of_all_months_is_what_was_paid(
    usd: int, months: int, kw: Decimal, per_kwh: Decimal, hosting: Decimal
) -> None:
    cost = Owned(Decimal(usd), months, kw, per_kwh, hosting)
    hours = months * 730
    paid = usd + kw * per_kwh * hours + hosting * months
    assert 0 <= cost.usd_per_hour * hours - paid <= Decimal("0.000001") * hours


@pytest.mark.parametrize(
    ("price", "usd"),
    [("$12/hr", "12"), ("$1.50/gpu/hr", "12"), ("12 USD/hour", "12"), ("10 EUR/hr", "11"), ("$0/hr", "0"), ("0", "0")],
)
def test_prices_are_per_machine_or_per_gpu_in_any_currency_with_a_rate(tmp_path: Path, price: str, usd: str) -> None:
    text = f"region: x\nmachines:\n  - {{name: m, label: a100-80gb, gpus: 8, price: {price}}}\n"
    offer = one_of(keep(put(tmp_path, text), rates={"EUR": Rate(Decimal("1.1"))}))
    assert offer.usd_per_hour == Decimal(usd)


@pytest.mark.parametrize(
    ("machine", "problem"),
    [
        ("{A, vram: 40gb, P}", ("E-CONTRADICTION", "a100-80gb has 80 GB, vram says 40gb")),
        ("{name: m, gpu: h100-nvl, vram: 80gb, P}", ("E-CONTRADICTION", "h100-nvl has 94 GB, vram says 80gb")),
        ("{A, gpu: h100, P}", ("E-CONTRADICTION", "label says a100-80gb, gpu says 'h100'")),
        ("{name: m, label: rtx6000-48gb, P}", ("E-GPU", "no capability label is 'rtx6000-48gb'")),
        ("{name: m, gpus: 8, P}", ("E-MISSING", "what GPUs it has is missing")),
        ("{A, gpus: 0, P}", ("E-CONTRADICTION", "gpus is 0, and a GPU is named")),
        ("{A, gpus: 8.5, P}", ("E-COUNT", "'8.5' is not a whole number of 0 to 4096")),
        ("{label: a100-80gb, P}", ("E-MISSING", "a machine needs a name")),
        ("{A}", ("E-MISSING", "neither price nor owned says what it costs")),
        ("{A, price: $100/month}", ("E-MONEY", "'$100/month' is not per hour")),
        ("{A, price: 12}", ("E-MONEY", "'12' is not per hour")),
        ("{A, price: nan}", ("E-RANGE", "'nan' is not a finite amount")),
        ("{A, price: 9 EUR/hr}", ("E-CURRENCY", "no rate for EUR in '9 EUR/hr'")),
        ("{A, price: $4000/hr}", ("E-OFFERS", "on_demand price 4000 is implausible for 1 x a100-80gb")),
        ("{A, owned: {months: 48}}", ("E-MISSING", "owned needs purchase")),
        ("{A, owned: {purchase: $9, months: 4, power: 6kw}}", ("E-MISSING", "owned needs energy beside power")),
        ("{A, owned: {purchase: $9, months: 4, hosting: $9}}", ("E-MONEY", "'$9' is not per month")),
        ("{A, P, cuda: new}", ("E-VALUE", "'new' is not a version")),
        ("{A, P, fabric: infinband}", ("E-VALUE", None)),
        ("{A, P, sla: 120%}", ("E-RANGE", "'120%' is not a share of 0 to 100 per cent")),
        ("{A, P, vrm: 80gb}", ("E-KEY", "unknown key 'vrm'")),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_machine_is_told_with_its_line(
    tmp_path: Path, machine: str, problem: tuple[str, str | None]
) -> None:
    machine = machine.replace("A", "name: m, label: a100-80gb", 1).replace("P", "price: $1/hr")
    found = problems(put(tmp_path, f"region: x\nmachines:\n  - {machine}\n"))
    assert [code for code, _, _ in found] == [problem[0]]
    assert found[0][1].startswith("3")
    assert problem[1] is None or problem[1] in found[0][2]


def test_every_problem_is_told_at_once_in_the_order_of_the_lines(tmp_path: Path) -> None:
    text = (
        "provider: aws\nlatitude: 95\nlongitude: 9\nmachines:\n  - {name: m, label: a100-80gb, price: $1/hr}\n"
        "  - {name: m, label: a100-80gb, vram: 40gb, price: 12, cuda: x}\n"
    )
    found = problems(put(tmp_path, text))
    assert [(code, place.partition(" ")[0]) for code, place, _ in found[1:]] == [
        ("E-PROVIDER", "1"), ("E-RANGE", "2"), ("E-MONEY", "6"), ("E-VALUE", "6"), ("E-DUPLICATE", "6"),
        ("E-CONTRADICTION", "6"),
    ]  # fmt: skip
    assert found[0][2] == "where the machines stand is missing"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file is empty"),
        ("- a\n", "the document is a list"),
        ("region: x\n", "no machine is described"),
        ("region: x\nmachines: []\n", "no machine is described"),
        ("region: x\nmachines: 7\n", "a list of at most 1000 is expected"),
        (
            "region: Nice Place\nmachines: [{M}]\n",
            "is not a name of small letters",
        ),
        ("region: x\nlatitude: 5\nmachines: [{M}]\n", "given together"),
        (
            "provider: lab\nregion: x\nmachines: [{M0}]\n",
            "a price of 0 is none for",
        ),
        ("provider: gcp\nregion: x\nmachines: [{M}]\n", "gcp is a known cloud"),
    ],
)
def test_a_document_that_registers_nothing_says_why(tmp_path: Path, text: str, says: str) -> None:
    text = text.replace("M0", "name: m, label: a100-80gb, price: $0/hr")
    text = text.replace("M", "name: m, label: a100-80gb, price: $1/hr")
    assert says in problems(put(tmp_path, text))[0][2]


def test_a_name_is_taken_until_it_is_replaced_or_removed(tmp_path: Path) -> None:
    file = put(tmp_path, RACK)
    keep(file)
    with pytest.raises(UserError, match="registered as 'lab' already"):
        keep(file)
    with pytest.raises(UserError, match=r"rack-a is registered already, as lab"):
        keep(file, name="other")
    assert keep(put(tmp_path, RACK.replace("gpus: 8", "gpus: 4")), replace=True).replaced
    assert [one_of(each).gpu_count for each in registered(tmp_path / "offers")] == [4]
    with pytest.raises(UserError, match="did you mean lab"):
        unregister(tmp_path / "offers", "lap")
    unregister(tmp_path / "offers", "lab")
    assert registered(tmp_path / "offers") == ()
    keep(file, name="other")


@pytest.mark.parametrize("name", ["../x", "A b", "", "x" * 41])
def test_a_name_that_is_none_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="is not a name"):
        keep(put(tmp_path, RACK), name=name)


def test_what_cannot_be_replaced_stays_as_it_is(tmp_path: Path) -> None:
    keep(put(tmp_path, RACK))
    before = (tmp_path / "offers/registered/lab.csv").read_bytes()
    with pytest.raises(UserError):
        keep(put(tmp_path, RACK.replace("80gb", "90gb")), replace=True)
    assert (tmp_path / "offers/registered/lab.csv").read_bytes() == before
    assert [path.name for path in (tmp_path / "offers/registered").iterdir()] == ["lab.csv"]


def test_an_offers_file_is_registered_too_if_every_row_of_it_can_be_used(tmp_path: Path) -> None:
    head = ",".join([*REQUIRED, "currency", "cuda"])
    good = "mylab,x,,box,A100,2,80,,,2.50,,a list,2026-11-30,EUR,12.4"
    made = keep(put(tmp_path, f"{head}\n{good}\n", "lab.csv"), rates={"EUR": Rate(Decimal(2), "2026-12-01")})
    offer = one_of(made)
    assert (offer.usd_per_hour, offer.source) == (Decimal(5), "a list, converted from EUR at 2 USD (2026-12-01)")
    assert offer.software == Software(cuda="12.4")
    bad = [
        good.replace("box", "b2").replace("A100,2,80", "A100-80GB,2,40"),
        good.replace("box", "b3").replace("2.50", "nan"),
        good.replace("box", "b4").replace("2.50", "0"),
        good.replace("mylab", "vast"),
        good.replace("EUR", "CHF").replace("box", "b5"),
        good.replace("EUR", "USD").replace("2.50", "999"),
    ]
    with pytest.raises(UserError) as caught:
        keep(put(tmp_path, "\n".join([head, good, good, *bad, ""]), "more.csv"), rates={"EUR": Rate(Decimal(2))})
    told = [((each.where or "").rpartition(":")[2], each.what) for each in caught.value.problems()]
    assert [line for line, _ in told] == ["2", "3", "4", "5", "6", "7", "8", "9"]
    assert told[0][1] == "mylab/x/box is registered already, as lab"


def test_a_plan_weighs_registered_machines_like_any_other_and_queries_see_their_software(tmp_path: Path) -> None:
    keep(put(tmp_path, RACK))
    market = load_market(tmp_path / "offers")
    intent = intent_from_flags(gpus="a100:8", where='cuda >= 12.1 and "pytorch==2.1.0" in preinstalled and sla > 99%')
    plan = make_plan(intent, market, clouds={}, now=datetime(2026, 12, 1, tzinfo=UTC))
    assert [each.offer_ids for each in plan.solutions] == [("onprem/berlin/rack-a/on_demand",)]
    assert plan.recommended is None
    at = datetime(2026, 12, 1, tzinfo=UTC)
    free, both = (
        make_plan(intent_from_flags(gpus="a100:8"), each, clouds={}, now=at) for each in (load_bundled(), market)
    )
    assert both.solutions[0].cost.total <= free.solutions[0].cost.total


def test_where_a_region_lies_is_known_from_its_own_offers(tmp_path: Path) -> None:
    keep(put(tmp_path, RACK))
    graph = ResourceGraph(load_market(tmp_path / "offers").offers)
    berlin, frankfurt = Site("onprem", "berlin", None), Site("aws", "eu-central-1", None)
    ireland, nowhere = Site("aws", "eu-west-1", None), Site("runpod", "global", None)
    near, far = graph.link(berlin, frankfurt).latency_ms, graph.link(berlin, ireland).latency_ms
    assert near is not None
    assert far is not None
    assert 1 < near < 8 < far < 15
    assert graph.link(berlin, nowhere).latency_ms is None
    assert graph.link(frankfurt, ireland) == ResourceGraph(()).link(frankfurt, ireland)


_KEYS = st.sampled_from(sorted({path.rpartition(".")[2] for path in key_paths(ROOT)} | {"nix"}))
_WORDS = "8 80gb 1tb $12/hr $1/gpu/hr 0 -1 nan 12.4 x none onprem a100-80gb h100 berlin 2026-11-30 99.5% 5kw ~ $9/kWh"
_VALUES = st.one_of(st.sampled_from(_WORDS.split()), st.text(max_size=6), st.just("[a, b]"), st.just("{months: 4}"))
_PAIRS = st.lists(st.tuples(_KEYS, _VALUES), max_size=6)


@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(top=_PAIRS, machines=st.lists(_PAIRS, max_size=3))
def test_whatever_is_written_is_registered_or_refused_in_words(
    tmp_path: Path, top: list[tuple[str, str]], machines: list[list[tuple[str, str]]]
) -> None:
    lines = [f"{key}: {value}" for key, value in top] + ["machines:"]
    lines += ["  - {" + ", ".join(f"{key}: {value}" for key, value in machine) + "}" for machine in machines]
    file = put(tmp_path, "\n".join(lines))
    try:
        made = keep(file, replace=True)
    except UserError as error:
        found = error.problems()
        made = None
    else:
        found = ()
    assert all(each.what and (each.where or "").startswith(str(file)) for each in found)
    assert made is None or made.offers
