"""AWS's offers as a refresh asks them, in answers that botocore checks against AWS's own service models."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.model import OperationModel
from botocore.stub import ANY, Stubber
from cloud_ask import NOW, FakeAsk, imported, prices
from moto import mock_aws

from emporion.components.aws import live_offers, permissions
from emporion.components.aws.api.session import Clients
from emporion.components.aws.live_offers import SPOT_SOURCE, fetch_with
from emporion.market.errors import UserError

TYPES = "describe_instance_types"
ZONES = "describe_availability_zones"
PLACES = "describe_instance_type_offerings"
SPOT = "describe_spot_price_history"


def machine(name: str, gpu: str, count: int, mib: int, **more: Any) -> dict[str, Any]:
    """Return a type as EC2 describes it."""
    maker = {"Manufacturer": "NVIDIA", "Count": count, "MemoryInfo": {"SizeInMiB": mib}}
    return {
        "InstanceType": name,
        "SupportedUsageClasses": ["on-demand", "spot"],
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "VCpuInfo": {"DefaultVCpus": 192},
        "MemoryInfo": {"SizeInMiB": 2048 * 1024},
        "GpuInfo": {"Gpus": [{"Name": gpu, **maker}]},
        **more,
    }


P5 = machine("p5.48xlarge", "H100", 8, 81559)


@dataclass
class Account:
    """An account with stubbed regions; `answers`: region -> (operation, response), in the order of the calls."""

    answers: Mapping[str, Sequence[tuple[str, Any]]]
    listed: Mapping[str, Mapping[str, str]]
    """Type -> region -> its on-demand price."""
    statuses: Mapping[str, str] = field(default_factory=dict)
    called: set[str] = field(default_factory=set)
    """The actions that were used."""
    _made: dict[str, Clients] = field(default_factory=dict)
    _stubs: list[Stubber] = field(default_factory=list)

    def clients(self, region: str) -> Clients:
        """Return the clients of a region, the same each time."""
        if region not in self._made:
            made = self._made[region] = Clients(region, attempts=1)
            made.session._session.set_credentials("testing", "testing")
            made.session.events.register("before-parameter-build", self._note)
            stub = self._stub(made.ec2)
            if region == "us-east-1":
                regions = [
                    {"RegionName": name, "OptInStatus": self.statuses.get(name, "opt-in-not-required")}
                    for name in self.answers
                ]
                stub.add_response("describe_regions", {"Regions": regions}, {"AllRegions": True})
                self._price(made)
            for operation, answer in self.answers.get(region, ()):
                if isinstance(answer, str):
                    stub.add_client_error(operation, answer, "no")
                else:
                    stub.add_response(operation, answer)
        return self._made[region]

    def _note(self, model: OperationModel, **_: object) -> None:
        self.called.add(f"{model.service_model.service_name}:{model.name}")

    def _price(self, made: Clients) -> None:
        pricing = made.of("pricing")
        made.__dict__["of"] = {"pricing": pricing}.__getitem__
        stub = self._stub(pricing)
        for name, regions in sorted(self.listed.items()):
            lines = [_line(name, region, price) for region, price in regions.items()]
            wanted = {"ServiceCode": "AmazonEC2", "Filters": ANY}
            stub.add_response("get_products", {"PriceList": lines[:1], "NextToken": "more"}, wanted)
            stub.add_response("get_products", {"PriceList": lines[1:]}, {**wanted, "NextToken": "more"})

    def _stub(self, client: Any) -> Stubber:
        stub = Stubber(client)
        stub.activate()
        self._stubs.append(stub)
        return stub

    def fetch(self, ask: FakeAsk | None = None) -> list[Mapping[str, str]]:
        rows = list(fetch_with(ask or FakeAsk(), self.clients, workers=1))
        for stub in self._stubs:
            stub.assert_no_pending_responses()
        return rows


def _line(name: str, region: str, price: str) -> str:
    term = {
        "effectiveDate": "2026-11-01T00:00:00Z",
        "priceDimensions": {"a": {"unit": "Hrs", "pricePerUnit": {"USD": price}}},
    }
    attributes = {"instanceType": name, "regionCode": region, "operatingSystem": "Linux", "marketoption": "OnDemand"}
    return json.dumps({"product": {"attributes": attributes}, "terms": {"OnDemand": {"b": term}}})


def region(
    types: Sequence[Mapping[str, Any]],
    zones: Mapping[str, str],
    spot: Sequence[Mapping[str, Any]] = (),
    offered: Mapping[str, Sequence[str]] | None = None,
    local: str | None = None,
) -> list[tuple[str, Any]]:
    """Return a region's answers; `zones`: this account's name -> id; `local`: the one that is a Local Zone."""
    told = [
        {
            "ZoneName": name,
            "ZoneId": zone,
            "ZoneType": "local-zone" if zone == local else "availability-zone",
            "GroupName": name.rstrip("abcdef"),
        }
        for name, zone in zones.items()
    ]
    where = offered or {zone: [kind["InstanceType"] for kind in types] for zone in zones.values()}
    offerings = [
        {"InstanceType": kind, "LocationType": "availability-zone-id", "Location": zone}
        for zone, kinds in where.items()
        for kind in kinds
    ]
    return [
        (TYPES, {"InstanceTypes": list(types)}),
        (ZONES, {"AvailabilityZones": told}),
        (PLACES, {"InstanceTypeOfferings": offerings}),
        (SPOT, {"SpotPriceHistory": list(spot)}),
    ]


def spot(zone: str, price: str, at: int = 1, **more: str) -> dict[str, Any]:
    return {
        "AvailabilityZone": zone,
        "InstanceType": "p5.48xlarge",
        "ProductDescription": "Linux/UNIX",
        "SpotPrice": price,
        "Timestamp": datetime(2026, 11, at, tzinfo=UTC),
        **more,
    }


P5_PRICES = {"p5.48xlarge": {"us-east-1": "98.3200000000", "eu-north-1": "103.2"}}


def test_names_of_zones_become_the_ids_that_this_account_has_for_them() -> None:
    """cases/market.md 35: us-east-1c of this account is use1-az1, whatever it is elsewhere."""
    history = [
        spot("us-east-1c", "31.5"),
        spot("us-east-1a", "29.25"),
        spot("us-east-1f", "1.0"),
        spot("elsewhere", "30.0", AvailabilityZoneId="use1-az6"),
    ]
    zones = {"us-east-1a": "use1-az4", "us-east-1c": "use1-az1", "us-east-1b": "use1-az6"}
    found = prices(Account({"us-east-1": region([P5], zones, history)}, P5_PRICES).fetch())
    assert found == {
        ("use1-az1", "p5.48xlarge"): ("98.32", "31.5"),
        ("use1-az4", "p5.48xlarge"): ("98.32", "29.25"),
        ("use1-az6", "p5.48xlarge"): ("98.32", "30"),
    }


def test_the_latest_linux_spot_price_of_a_zone_counts_over_all_pages() -> None:
    zones = {"us-east-1a": "use1-az4"}
    answers = region([P5], zones, [spot("us-east-1a", "33.0", 20), spot("us-east-1a", "30.0", 10)])
    first = answers.pop()[1] | {"NextToken": "more"}
    other = spot("us-east-1a", "90.0", 30, ProductDescription="Windows")
    answers += [(SPOT, first), (SPOT, {"SpotPriceHistory": [spot("us-east-1a", "35.5", 25), other]})]
    [row] = Account({"us-east-1": answers}, P5_PRICES).fetch()
    assert (row["spot_usd_hr"], row["spot_source"], row["spot_as_of"]) == ("35.5", SPOT_SOURCE, "2026-12-01T06:00:00Z")


def test_a_type_is_offered_only_in_the_zones_that_have_it() -> None:
    zones = {"us-east-1a": "use1-az4", "us-east-1b": "use1-az6"}
    answers = region([P5], zones, offered={"use1-az6": ["p5.48xlarge", "m9i.large"], "use1-az9": ["p5.48xlarge"]})
    assert list(prices(Account({"us-east-1": answers}, P5_PRICES).fetch())) == [("use1-az6", "p5.48xlarge")]


def test_every_region_is_asked_and_has_its_own_price() -> None:
    answers = {
        "us-east-1": region([P5], {"us-east-1a": "use1-az4"}),
        "eu-north-1": region([P5], {"eu-north-1a": "eun1-az1"}),
    }
    ask = FakeAsk()
    assert prices(Account(answers, P5_PRICES).fetch(ask)) == {
        ("eun1-az1", "p5.48xlarge"): ("103.2", ""),
        ("use1-az4", "p5.48xlarge"): ("98.32", ""),
    }
    assert ("regions", 2, 2) in ask.told
    assert ask.told[-1] == ("prices of types", 1, 1)


def test_a_maker_in_place_of_a_model_is_the_model_of_our_table(tmp_path: Path) -> None:
    """cases/market.md 10: EC2 answered NVIDIA for p5en."""
    p5en = machine("p5en.48xlarge", "NVIDIA", 8, 144384)
    unknown = machine("p9.48xlarge", "NVIDIA", 4, 300000)
    answers = {"us-east-1": region([p5en, unknown], {"us-east-1a": "use1-az4"})}
    listed = {"p5en.48xlarge": {"us-east-1": "84.8"}, "p9.48xlarge": {"us-east-1": "120.0"}}
    offers = imported(Account(answers, listed).fetch(), tmp_path).offers
    assert {(offer.instance_type, offer.gpu, offer.gpu_count) for offer in offers} == {
        ("p5en.48xlarge", "h200-141gb", 8),
        ("p9.48xlarge", None, 4),
    }


def test_a_family_name_is_the_board_of_our_table_and_a_contradiction_is_refused(tmp_path: Path) -> None:
    wrong = machine("g5.48xlarge", "T4", 8, 15360)
    answers = {"us-east-1": region([P5, wrong], {"us-east-1a": "use1-az4"})}
    listed = {**P5_PRICES, "g5.48xlarge": {"us-east-1": "16.288"}}
    catalogue = imported(Account(answers, dict(sorted(listed.items()))).fetch(), tmp_path)
    assert {(offer.instance_type, offer.gpu) for offer in catalogue.offers} == {("p5.48xlarge", "h100-80gb-sxm")}
    assert any("has a10g-24gb, not t4-16gb" in note.reason for note in catalogue.notes)


def test_what_is_sold_in_blocks_only_is_not_on_demand(tmp_path: Path) -> None:
    """cases/market.md 22: p5e has a listed price and is sold as a capacity block or spot."""
    p5e = machine("p5e.48xlarge", "H200", 8, 144384, SupportedUsageClasses=["spot", "capacity-block"])
    history = [spot("us-east-1a", "40.0", InstanceType="p5e.48xlarge")]
    answers = {"us-east-1": region([p5e], {"us-east-1a": "use1-az4"}, history)}
    rows = Account(answers, {"p5e.48xlarge": {"us-east-1": "90.0"}}).fetch()
    assert rows[0]["purchase"] == "capacity_block spot"
    assert [offer.market.value for offer in imported(rows, tmp_path).offers] == ["spot"]


def test_a_part_of_a_gpu_and_a_machine_that_no_cluster_uses_are_left_out(caplog: pytest.LogCaptureFixture) -> None:
    part = machine("g6f.large", "L4", 1, 2861)
    part["GpuInfo"]["Gpus"][0]["GpuPartitionSize"] = 0.125
    cpu = {key: value for key, value in machine("m7i.large", "", 0, 0).items() if key != "GpuInfo"}
    other = cpu | {"InstanceType": "x2iedn.32xlarge"}
    answers = {"us-east-1": region([part, cpu, other], {"us-east-1a": "use1-az4"})}
    with caplog.at_level(logging.INFO):
        rows = Account(answers, {"m7i.large": {"us-east-1": "0.1008"}}).fetch()
    assert [(row["instance_type"], row["gpu"], row["gpu_count"]) for row in rows] == [("m7i.large", "", "0")]
    assert "g6f.large" in caplog.text


def test_a_local_zone_pays_its_own_price_or_none_is_known() -> None:
    zones = {"us-east-1a": "use1-az4", "us-east-1-atl-2a": "use1-atl2-az1"}
    answers = {"us-east-1": region([P5], zones, local="use1-atl2-az1")}
    listed = {"p5.48xlarge": {"us-east-1": "98.32", "us-east-1-atl-2": "115.0"}}
    assert prices(Account(answers, listed).fetch())["use1-atl2-az1", "p5.48xlarge"] == ("115", "")
    assert prices(Account(answers, P5_PRICES).fetch())["use1-atl2-az1", "p5.48xlarge"] == ("", "")


def test_a_region_that_the_account_opted_in_to_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    answers = {
        "us-east-1": region([P5], {"us-east-1a": "use1-az4"}),
        "me-south-1": [(TYPES, "AuthFailure")],
        "af-south-1": [],
    }
    statuses = {"me-south-1": "opted-in", "af-south-1": "not-opted-in"}
    with caplog.at_level(logging.INFO):
        found = prices(Account(answers, P5_PRICES, statuses).fetch())
    assert set(found) == {("use1-az4", "p5.48xlarge")}
    assert "region=me-south-1" in caplog.text
    assert "left_out=af-south-1" in caplog.text


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        pytest.param([(TYPES, "RequestLimitExceeded")], "RequestLimitExceeded", id="throttled"),
        pytest.param([(TYPES, "UnauthorizedOperation")], "UnauthorizedOperation", id="not allowed"),
        pytest.param(region([], {"us-east-1a": "use1-az4"}, offered={"a": []})[:3], "no instance type", id="nothing"),
        pytest.param(
            region([P5], {"us-east-1a": "use1-az4"}, [spot("us-east-1a", "cheap")]), "'cheap'", id="no number"
        ),
    ],
)
def test_a_region_that_every_account_has_may_not_fail(answers: Sequence[tuple[str, Any]], why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        Account({"us-east-1": answers}, {}).fetch()
    assert (caught.value.code, caught.value.exit_code) == ("E-ADAPTER", 1)


def test_a_price_list_without_a_price_is_an_error() -> None:
    answers = {"us-east-1": region([P5], {"us-east-1a": "use1-az4"})}
    with pytest.raises(UserError, match="names no price"):
        Account(answers, {"p5.48xlarge": {}}).fetch()


def test_nobody_logged_in_is_an_error_of_the_adapter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(UserError, match="no AWS credentials") as caught:
        list(fetch_with(FakeAsk(), Clients, workers=1))
    assert caught.value.code == "E-ADAPTER"


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        pytest.param(200, b"<html><p>Please sign in</html>", "something else than AWS answers", id="html"),
        pytest.param(200, b"", "something else than AWS answers", id="nothing"),
        pytest.param(500, b"oops", "something else than AWS answers", id="500"),
        pytest.param(
            503,
            b"<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>slow</Message></Error></Errors></Response>",
            "RequestLimitExceeded",
            id="throttled",
        ),
    ],
)
def test_what_is_no_answer_of_aws_is_an_error_of_the_adapter(
    status: int, body: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
        with pytest.raises(UserError, match=why) as caught:
            list(fetch_with(FakeAsk(), lambda name: Clients(name, attempts=1), workers=1))
        server.shutdown()
    assert (caught.value.code, caught.value.exit_code) == ("E-ADAPTER", 1)


@mock_aws
def test_the_real_list_of_instance_types_is_read() -> None:
    """From moto, whose list is EC2's own answer of 2026-10."""
    client = boto3.client("ec2", region_name="us-east-1", aws_access_key_id="testing", aws_secret_access_key="testing")
    entries = [
        kind for page in client.get_paginator("describe_instance_types").paginate() for kind in page["InstanceTypes"]
    ]
    found = live_offers._types(entries)
    p5 = found["p5.48xlarge"]
    assert (p5.about.gpu, p5.about.gpu_count, p5.about.vcpus, p5.about.ram_gb) == ("h100-80gb-sxm", 8, "192", "2048")
    assert found["m7i.large"].about.gpu_count == 0
    assert found["g5g.xlarge"].arch == "arm64"
    assert "m5.large" not in found
    assert len(found) > 60


def test_a_refresh_calls_what_its_permissions_name_and_nothing_else() -> None:
    account = Account({"us-east-1": region([P5], {"us-east-1a": "use1-az4"})}, P5_PRICES)
    account.fetch()
    assert account.called
    assert account.called == set(permissions.actions("offers refresh"))


def test_now_is_the_only_clock() -> None:
    assert live_offers._spot([], {}) == {}
    [row] = Account({"us-east-1": region([P5], {"us-east-1a": "use1-az4"})}, P5_PRICES).fetch()
    assert row["as_of"] == f"{NOW:%Y-%m-%dT%H:%M:%SZ}"
    assert Decimal(row["on_demand_usd_hr"]) == Decimal("98.32")
