"""Which machines of Google Cloud become offers, and what the refresh does with logins, pages and silent zones."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cloud_ask import FakeAsk, imported, prices
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from emporion.components.gcp.offers import ADAPTER, Login, fetch_with
from emporion.market.errors import UserError

PROJECT = "some-project"
SKUS = "https://cloudbilling.googleapis.com/v1/services/6F81-5844-456A/skus"
COMPUTE = f"https://compute.googleapis.com/compute/v1/projects/{PROJECT}/aggregated"
SPOT = " attached to Spot Preemptible VMs"


def sku(description: str, nanos: int, usage: str = "OnDemand") -> dict[str, Any]:
    unit = "GiBy.h" if " Ram" in description else "GiBy.mo" if "Storage" in description else "h"
    rate = {"unitPrice": {"currencyCode": "USD", "units": str(nanos // 10**9), "nanos": nanos % 10**9}}
    return {
        "description": description,
        "category": {"resourceFamily": "Compute", "usageType": usage},
        "serviceRegions": ["us-central1"],
        "pricingInfo": [
            {
                "effectiveTime": "2026-11-01T00:00:00Z",
                "pricingExpression": {"usageUnit": unit, "tieredRates": [rate]},
            }
        ],
    }


def both(core: str, gpu: str) -> list[dict[str, Any]]:
    """Return on-demand and spot SKUs of a family, spot at half the price."""
    parts = ((f"{core} Instance Core", 30_000_000), (f"{core} Instance Ram", 2_000_000), (gpu, 5_000_000_000))
    found = [sku(f"{name} running in Iowa", nanos) for name, nanos in parts]
    found += [sku(f"Spot Preemptible {name} running in Iowa", nanos // 2, "Preemptible") for name, nanos in parts[:2]]
    return [*found, sku(f"{gpu}{SPOT} running in Iowa", parts[2][1] // 2, "Preemptible")]


CATALOGUE = [
    *both("A3", "Nvidia H100 80GB GPU"),
    *both("N1 Predefined", "Nvidia Tesla T4 GPU"),
    *both("E2", "no gpu"),
    sku("SSD backed Local Storage in Iowa", 73_000_000),
    sku(f"SSD backed Local Storage{SPOT} in Iowa", 36_500_000, "Preemptible"),
    sku("TpuV5e running in Iowa", 1_200_000_000),
]


def machine_type(name: str, cpus: int, memory_mb: int, zone: str = "us-central1-a", **more: Any) -> dict[str, Any]:
    """Return a machine type as aggregatedList answers it (documented fields)."""
    return {
        "kind": "compute#machineType",
        "id": "1",
        "name": name,
        "guestCpus": cpus,
        "memoryMb": memory_mb,
        "zone": zone,
        "architecture": "X86_64",
        "isSharedCpu": False,
        **more,
    }


def h100s(name: str, count: int, cpus: int, memory_mb: int, **more: Any) -> dict[str, Any]:
    accelerators = [{"guestAcceleratorType": "nvidia-h100-80gb", "guestAcceleratorCount": count}]
    disks = {"partitionCount": 2 * count, "defaultInterface": "NVME"}
    return machine_type(name, cpus, memory_mb, accelerators=accelerators, bundledLocalSsds=disks, **more)


def scopes(kind: str, items: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    zones: dict[str, Any] = {"zones/us-east1-b": {"warning": {"code": "NO_RESULTS_ON_PAGE", "message": "nothing here"}}}
    for item in items:
        zones.setdefault(f"zones/{item['zone'].rpartition('/')[2]}", {kind: []})[kind].append(item)
    return {"kind": f"compute#{kind}AggregatedList", "items": zones}


def cloud(*types: Mapping[str, Any], accelerators: Sequence[Mapping[str, Any]] = (), **more: Any) -> FakeAsk:
    bodies = {
        SKUS: {"skus": CATALOGUE, "nextPageToken": ""},
        f"{COMPUTE}/machineTypes": scopes("machineTypes", types),
        f"{COMPUTE}/acceleratorTypes": scopes("acceleratorTypes", accelerators),
        **more,
    }
    return FakeAsk(lambda url, _params, _headers: bodies[url])


def logged_in(_ask: object) -> Login:
    return Login({"Authorization": "Bearer token"}, PROJECT)


def test_a_machine_has_a_row_in_each_of_its_zones() -> None:
    names = ("us-central1-a", "https://www.googleapis.com/compute/v1/projects/some-project/zones/us-central1-c")
    ask = cloud(*(h100s("a3-highgpu-8g", 8, 208, 1872 * 1024, zone=zone) for zone in names))
    total = f"{208 * 0.03 + 1872 * 0.002 + 40 + 6000 * 0.0001:.3f}"
    half = f"{(208 * 0.03 + 1872 * 0.002 + 40 + 6000 * 0.0001) / 2:.3f}"
    assert prices(fetch_with(ask, logged_in)) == {
        ("us-central1-a", "a3-highgpu-8g"): (total, half),
        ("us-central1-c", "a3-highgpu-8g"): (total, half),
    }


def test_what_is_only_sold_as_spot_or_by_a_queue_is_not_on_demand(tmp_path: Path) -> None:
    """cases/market.md 22: the on-demand price is listed, and nobody sells at it."""
    rows = list(fetch_with(cloud(h100s("a3-highgpu-1g", 1, 26, 234 * 1024)), logged_in))
    assert rows[0]["on_demand_usd_hr"]
    assert rows[0]["purchase"] == "spot, flex"
    catalogue = imported(rows, tmp_path)
    assert [offer.market.value for offer in catalogue.offers] == ["spot"]
    assert any(note.kind == "unsold" for note in catalogue.notes)


def test_the_model_is_that_of_our_table_and_the_count_that_of_the_api(tmp_path: Path) -> None:
    good, wrong = h100s("a3-highgpu-8g", 8, 208, 1872 * 1024), h100s("a3-highgpu-4g", 12, 104, 936 * 1024)
    rows = list(fetch_with(cloud(good, wrong), logged_in))
    assert {row["gpu"] for row in rows} == {"h100-80gb-sxm"}
    catalogue = imported(rows, tmp_path)
    assert {(offer.instance_type, offer.gpu_count) for offer in catalogue.offers} == {("a3-highgpu-8g", 8)}
    assert any("has 4 GPUs, gpu_count is 12" in note.reason for note in catalogue.notes)


def test_a_gpu_beside_a_machine_is_sold_where_the_accelerator_is() -> None:
    n1 = [machine_type("n1-standard-8", 8, 30 * 1024, zone=f"us-central1-{letter}") for letter in "ab"]
    ask = cloud(*n1, accelerators=[{"name": "nvidia-tesla-t4", "zone": "us-central1-b"}])
    [row] = fetch_with(ask, logged_in)
    assert (row["zone"], row["gpu"], row["gpu_count"], row["on_demand_usd_hr"]) == (
        "us-central1-b", "t4-16gb", "1", "5.3"
    )  # fmt: skip


def test_a_tpu_goes_by_its_own_name_in_the_zones_of_its_machine_type(tmp_path: Path) -> None:
    """cases/market.md 13: eight chips, not priced 0 and not without its VM."""
    rows = list(fetch_with(cloud(machine_type("ct5lp-hightpu-8t", 224, 384 * 1024)), logged_in))
    assert prices(rows) == {("us-central1-a", "tpu-v5litepod-8"): ("9.6", "")}
    [offer] = imported(rows, tmp_path).offers
    assert (offer.gpu, offer.gpu_count) == ("tpu-v5e", 8)


def test_a_machine_without_gpu_keeps_what_the_api_says_of_it() -> None:
    [row] = fetch_with(cloud(machine_type("e2-standard-2", 2, 8192)), logged_in)
    assert (row["gpu_count"], row["vcpus"], row["ram_gb"], row["arch"]) == ("0", "2", "8", "x86_64")


def test_what_no_sku_is_known_for_is_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    gb200 = [{"guestAcceleratorType": "nvidia-gb200", "guestAcceleratorCount": 4}]
    ask = cloud(machine_type("e2-standard-2", 2, 8192), machine_type("a4x-highgpu-4g", 140, 1024, accelerators=gb200))
    with caplog.at_level(logging.WARNING):
        assert {row["instance_type"] for row in fetch_with(ask, logged_in)} == {"e2-standard-2"}
    assert "a4x-highgpu-4g" in caplog.text


def test_a_part_of_a_gpu_is_no_gpu(caplog: pytest.LogCaptureFixture) -> None:
    """The count of accelerators is 1; only the name and the description tell."""
    card = [{"guestAcceleratorType": "nvidia-rtx-pro-6000", "guestAcceleratorCount": 1}]
    eighth = "Graphics Optimized: 1/8 NVIDIA RTX PRO 6000 GPU, 6 vCPUs, 22GB RAM"
    types = [
        machine_type("g4-standard-6", 6, 22528, accelerators=card, description=eighth),
        machine_type("g2-standard-4", 4, 16384, accelerators=card, description="1/2 NVIDIA L4 GPU"),
    ]
    with caplog.at_level(logging.WARNING):
        rows = list(fetch_with(cloud(machine_type("e2-standard-2", 2, 8192), *types), logged_in))
    assert [row["instance_type"] for row in rows] == ["e2-standard-2"]
    assert "types=g2-standard-4,g4-standard-6" in caplog.text


def test_a_machine_type_that_is_gone_is_no_offer() -> None:
    gone = machine_type("e2-standard-4", 4, 16384, deprecated={"state": "OBSOLETE"})
    [row] = fetch_with(cloud(machine_type("e2-standard-2", 2, 8192), gone), logged_in)
    assert row["instance_type"] == "e2-standard-2"


def test_a_region_without_a_price_keeps_its_row_unpriced(tmp_path: Path) -> None:
    types = [machine_type("e2-standard-2", 2, 8192, zone=zone) for zone in ("us-central1-a", "europe-west4-a")]
    rows = list(fetch_with(cloud(*types), logged_in))
    assert prices(rows)["europe-west4-a", "e2-standard-2"] == ("", "")
    catalogue = imported(rows, tmp_path)
    assert [note.kind for note in catalogue.notes if "europe-west4" in note.what] == ["unpriced"]


def test_with_a_key_alone_the_zones_are_the_bundled_ones(caplog: pytest.LogCaptureFixture) -> None:
    ask = FakeAsk(lambda url, _params, _headers: {"skus": CATALOGUE} if url == SKUS else pytest.fail(url))
    with caplog.at_level(logging.WARNING):
        rows = list(fetch_with(ask, lambda _: Login({"X-Goog-Api-Key": "secret-key"}, None)))
    assert "zones=bundled" in caplog.text
    found = {(row["zone"], row["instance_type"]) for row in rows if row["on_demand_usd_hr"]}
    assert ("us-central1-a", "a3-highgpu-8g") in found
    assert ("us-central1-a", "e2-medium") in found
    total = 208 * 0.03 + 1872 * 0.002 + 40 + 6000 * 0.0001
    assert prices(rows)["us-central1-a", "a3-highgpu-8g"][0] == f"{total:.3f}"


def test_a_key_stands_in_a_header_and_in_no_address() -> None:
    ask = FakeAsk(lambda *_: {"skus": CATALOGUE})
    list(fetch_with(ask, lambda _: Login({"X-Goog-Api-Key": "secret-key"}, None)))
    for url, params, headers in ask.asked:
        assert "secret-key" not in f"{url}{dict(params)}"
        assert headers["X-Goog-Api-Key"] == "secret-key"


def test_pages_are_followed_to_the_last() -> None:
    half = len(CATALOGUE) // 2

    def answer(url: str, params: Mapping[str, str], _headers: Mapping[str, str]) -> Any:
        if url == SKUS:
            if params.get("pageToken") == "second":
                return {"skus": CATALOGUE[half:]}
            return {"skus": CATALOGUE[:half], "nextPageToken": "second"}
        kind = url.rpartition("/")[2]
        return scopes(kind, [machine_type("e2-standard-2", 2, 8192)] if kind == "machineTypes" else [])

    ask = FakeAsk(answer)
    assert prices(fetch_with(ask, logged_in)) == {("us-central1-a", "e2-standard-2"): ("0.076", "0.038")}
    assert ("pages of SKUs", 2, None) in ask.told


ZONES = f"{COMPUTE}/machineTypes"


@pytest.mark.parametrize(
    ("bodies", "why"),
    [
        pytest.param({SKUS: "<html>sign in</html>"}, "without items", id="html"),
        pytest.param({SKUS: {}}, "without items", id="an empty answer"),
        pytest.param({SKUS: {"skus": []}}, "names no price", id="an empty list"),
        pytest.param({SKUS: {"skus": ["a sku"]}}, "without items", id="no skus"),
        pytest.param({SKUS: {"skus": CATALOGUE, "nextPageToken": 7}}, "the same page twice", id="no token"),
        pytest.param({ZONES: {"items": {}}}, "names no machine type", id="no machine"),
        pytest.param({ZONES: {"items": []}}, "without zones", id="no zones"),
        pytest.param({ZONES: {"items": {}, "unreachables": ["zones/a"]}}, "zones/a is unreachable", id="unreachable"),
        pytest.param(
            {ZONES: {"items": {"zones/b": {"warning": {"code": "UNREACHABLE"}}}}}, "zones/b is", id="a silent zone"
        ),
        pytest.param({ZONES: {"items": {}, "warning": {"code": "UNREACHABLE"}}}, "partial page", id="a warning"),
        pytest.param({ZONES: scopes("machineTypes", [{"zone": "a"}])}, "without name", id="no name"),
        pytest.param(
            {ZONES: scopes("machineTypes", [machine_type("e2-medium", 2, 4096) | {"guestCpus": "two"}])},
            "'two' as guestCpus",
            id="no number",
        ),
    ],
)
def test_an_answer_that_is_not_as_documented_is_an_error(bodies: Mapping[str, Any], why: str) -> None:
    with pytest.raises(UserError, match=why) as caught:
        list(fetch_with(cloud(machine_type("e2-standard-2", 2, 8192), **bodies), logged_in))
    assert (caught.value.code, caught.value.exit_code) == ("E-ADAPTER", 1)


def test_a_token_that_comes_back_is_an_error() -> None:
    ask = FakeAsk(lambda *_: {"skus": CATALOGUE, "nextPageToken": "again"})
    with pytest.raises(UserError, match="the same page twice"):
        list(fetch_with(ask, logged_in))


def test_without_a_login_the_refresh_says_how_to_get_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NO_GCE_CHECK", "true")
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    with pytest.raises(UserError, match="no Google login") as caught:
        list(ADAPTER.fetch(FakeAsk()))
    assert caught.value.code == "E-ADAPTER"
    assert "GOOGLE_API_KEY" in str(caught.value.fix)
    ask = FakeAsk(lambda *_: {"skus": CATALOGUE}, env={"GOOGLE_API_KEY": "secret-key"})
    assert list(ADAPTER.fetch(ask))


def test_a_service_account_asks_with_its_token_in_its_own_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Tokens(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.dumps({"access_token": "a-token", "expires_in": 3600, "token_type": "Bearer"}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    with ThreadingHTTPServer(("127.0.0.1", 0), Tokens) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        account = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "1",
            "private_key": pem,
            "client_email": "reader@some-project.iam.gserviceaccount.com",
            "token_uri": f"http://127.0.0.1:{server.server_port}/token",
        }
        path = tmp_path / "account.json"
        path.write_text(json.dumps(account), encoding="utf-8")
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(path))
        monkeypatch.delenv("GOOGLE_CLOUD_PROJECT", raising=False)
        ask = cloud(machine_type("e2-standard-2", 2, 8192))
        [row] = ADAPTER.fetch(ask)
        server.shutdown()
    assert row["instance_type"] == "e2-standard-2"
    assert {headers["Authorization"] for _, _, headers in ask.asked} == {"Bearer a-token"}
    assert [url for url, _, _ in ask.asked] == [SKUS, f"{COMPUTE}/acceleratorTypes", f"{COMPUTE}/machineTypes"]
