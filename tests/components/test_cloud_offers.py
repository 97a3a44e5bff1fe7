"""What the live sources of all clouds have in common: cheap to load, found by entry point, rows for the import."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest
from cloud_ask import NOW, imported

from emporion.components.aws.offers import ADAPTER as AWS
from emporion.components.azure.offers import ADAPTER as AZURE
from emporion.components.gcp.offers import ADAPTER as GCP
from emporion.components.price_rows import KnownType, PriceRow, cpu_types, known_types, money, stamp
from emporion.market.errors import UserError
from emporion.market.offers.adapter import Adapter
from emporion.market.offers.document import OPTIONAL, REQUIRED

CLOUDS = {"aws": AWS, "azure": AZURE, "gcp": GCP}


@pytest.mark.parametrize("name", CLOUDS)
def test_an_adapter_is_found_by_its_entry_point_and_names_its_extra(name: str) -> None:
    [entry] = entry_points(group="emporion.offers", name=name)
    found: Adapter = entry.load()
    assert found is CLOUDS[name]
    assert (found.provider, found.extra, found.needs) == (name, name, ())


def test_loading_the_adapters_loads_no_sdk_and_no_client() -> None:
    script = (
        "import sys\n"
        "from emporion.components.aws.offers import ADAPTER\n"
        "from emporion.components.azure.offers import ADAPTER\n"
        "from emporion.components.gcp.offers import ADAPTER\n"
        "print(sorted({'boto3', 'botocore', 'httpx', 'google.auth', 'pulumi', 'grpc'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def row(**changes: Any) -> PriceRow:
    facts: dict[str, Any] = {
        "provider": "aws",
        "region": "us-east-1",
        "zone": "use1-az1",
        "instance_type": "p5.48xlarge",
        "about": known_types("aws")["p5.48xlarge"],
        "on_demand": Decimal("98.32"),
        "spot": Decimal("31.5"),
        "source": "a price list",
        "as_of": stamp(NOW),
        "spot_source": "a history",
    }
    return PriceRow(**{**facts, **changes})


def test_a_row_has_only_columns_that_an_offers_file_knows() -> None:
    assert set(row().cells()) <= {*REQUIRED, *OPTIONAL}
    assert set(REQUIRED) <= set(row().cells())


def test_an_unknown_price_is_empty_and_names_no_source_of_its_own() -> None:
    cells = row(on_demand=None, spot=None).cells()
    assert (cells["on_demand_usd_hr"], cells["spot_usd_hr"], cells["spot_source"], cells["spot_as_of"]) == ("",) * 4


def test_prices_are_written_to_the_billionth_without_an_exponent(tmp_path: Path) -> None:
    cells = row(on_demand=Decimal("98.3200000004"), spot=Decimal("1E+1")).cells()
    assert (cells["on_demand_usd_hr"], cells["spot_usd_hr"]) == ("98.32", "10")
    assert {offer.usd_per_hour for offer in imported([cells], tmp_path).offers} == {Decimal("98.32"), Decimal(10)}


def test_every_bundled_type_is_known_with_its_count() -> None:
    assert known_types("azure")["Standard_ND96isr_H100_v5"].gpu_count == 8
    assert known_types("gcp")["a3-ultragpu-8g"] == KnownType("h200-141gb", 8, "", "", ""), (
        "in no offer, in the topology"
    )
    assert "t3.medium" in cpu_types("aws")
    assert not set(cpu_types("aws")) & {"p5.48xlarge"}


@pytest.mark.parametrize("value", ["much", None, -1, float("inf"), float("nan"), True, "", []])
def test_an_amount_that_is_none_is_an_error(value: object) -> None:
    with pytest.raises(UserError, match="as a price") as caught:
        money(value, "a price list", "a price")
    assert (caught.value.code, caught.value.where) == ("E-ADAPTER", "a price list")


def test_an_amount_is_exactly_what_was_written() -> None:
    assert money(0.1, "s", "p") == Decimal("0.1")
    assert money("98.3200000000", "s", "p") == Decimal("98.32")
