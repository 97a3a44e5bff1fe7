"""The bundled catalogue: real, found by filters, explained, and kept compiled only where that does no harm."""

from __future__ import annotations

import csv
import os
import shutil
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

from emporion.market.errors import UserError
from emporion.market.offer import Fabric, Market, Nvlink, Offer
from emporion.market.offers import Catalogue, OfferFilter, Rate, cache_folder, load_bundled, load_csv
from emporion.market.sites import is_local_zone
from emporion.market.tables import DATA, rows


def by_id(catalogue: Catalogue, offer_id: str) -> Offer:
    return next(offer for offer in catalogue.offers if offer.id == offer_id)


def test_every_price_of_the_snapshot_is_an_offer(bundled: Catalogue) -> None:
    every = [*rows("offers.csv"), *rows("cpu_offers.csv")]
    prices = Counter(
        (row["provider"], row["region"], row["zone"] or None, row["instance_type"], Decimal(row[column]))
        for row in every
        for column in ("on_demand_usd_hr", "spot_usd_hr")
        if row[column]
    )
    found = Counter((o.provider, o.region, o.zone, o.instance_type, o.usd_per_hour) for o in bundled.offers)
    assert found == prices
    assert {note.kind for note in bundled.notes} <= {"warning"}


def test_every_offer_has_an_id_of_its_own(bundled: Catalogue) -> None:
    assert max(Counter(offer.id for offer in bundled.offers).values()) == 1


def test_the_demo_offer_has_its_topology(bundled: Catalogue) -> None:
    offer = by_id(bundled, "aws/us-east-1/use1-az2/p4d.24xlarge/spot")
    assert (offer.usd_per_hour, offer.on_demand_usd_per_hour) == (Decimal("6.5323"), Decimal("21.957642"))
    assert (offer.gpu, offer.gpu_count, offer.gpu_vram_gb, offer.gpu_vram_mib) == ("a100-40gb", 8, Decimal(40), 40960)
    assert (offer.nvlink, offer.fabric, offer.fabric_gbps) == (Nvlink.NVSWITCH, Fabric.EFA, Decimal(400))
    assert (offer.as_of, offer.arch) == ("2026-07", "x86_64")


@pytest.mark.parametrize(
    ("name", "arch"), [("g5g.xlarge", "arm64"), ("gpu_1x_gh200", "arm64"), ("g5.xlarge", "x86_64")]
)
def test_38_the_host_of_a_type_is_told(bundled: Catalogue, name: str, arch: str) -> None:
    found = bundled.find_offers(OfferFilter(instance_types=frozenset({name})))
    assert found
    assert {offer.arch for offer in found} == {arch}


def test_local_zones_are_told_from_zones(bundled: Catalogue) -> None:
    local = {offer.zone for offer in bundled.offers if is_local_zone(offer.provider, offer.zone)}
    assert local == {"use1-atl2-az1", "usw2-lax1-az1", "usw2-lax1-az2"}


@pytest.mark.parametrize(
    "wanted",
    [
        OfferFilter(gpus=frozenset({"a100-40gb", "a100-80gb"})),
        OfferFilter(providers=frozenset({"aws", "vast"}), markets=frozenset({Market.SPOT})),
        OfferFilter(regions=("us-*",), machines="gpu"),
        OfferFilter(machines="cpu", regions=("us-*",)),
        OfferFilter(gpus=frozenset(), machines="gpu"),
    ],
    ids=["gpus", "providers", "regions", "cpu", "none"],
)
def test_a_filter_finds_what_looking_at_every_offer_finds(bundled: Catalogue, wanted: OfferFilter) -> None:
    expected = [
        offer
        for offer in bundled.offers
        if (wanted.gpus is None or offer.gpu in wanted.gpus)
        and (not wanted.providers or offer.provider in wanted.providers)
        and offer.market in wanted.markets
        and (not wanted.regions or _is_us(offer))
        and (wanted.machines == "any" or (offer.gpu_count == 0) == (wanted.machines == "cpu"))
    ]
    assert list(bundled.find_offers(wanted)) == expected

    prices = sorted((offer.usd_per_hour, offer.id) for offer in expected)
    count, cheapest = bundled.tally(wanted)
    assert count == len(expected)
    assert (cheapest.id if cheapest else None) == (prices[0][1] if prices else None)


def _is_us(offer: Offer) -> bool:
    (row,) = [row for row in rows("regions.csv") if (row["provider"], row["region"]) == (offer.provider, offer.region)]
    return row["country"] in ("United States", "US")


def test_a_type_is_explained_cheapest_first_with_its_topology(bundled: Catalogue) -> None:
    (info,) = bundled.explain_type("p4d.24xlarge")
    assert info.provider == "aws"
    assert info.offers[0].id == "aws/ca-central-1/cac1-az2/p4d.24xlarge/spot"
    assert [offer.usd_per_hour for offer in info.offers] == sorted(offer.usd_per_hour for offer in info.offers)
    assert info.topology is not None
    assert info.topology.nics == 4


def test_an_unknown_type_provider_or_region_names_the_nearest(bundled: Catalogue) -> None:
    with pytest.raises(UserError, match=r"did you mean p4d\.24xlarge"):
        bundled.explain_type("p4d.24xlarg")
    with pytest.raises(UserError, match="did you mean azure"):
        bundled.check_providers(["aws", "azur"])
    with pytest.raises(UserError, match="did you mean us-east-1"):
        bundled.check_regions(["us-east-11"], ("aws",))
    bundled.check_providers(["aws", "gcp"])
    bundled.check_regions(["us-*", "eastus", "europe-west4"])


def test_the_version_follows_the_content_and_the_rates(tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    shutil.copy(DATA / "cpu_offers.csv", path)
    first = load_csv(path).version
    assert load_csv(path).version == first
    assert load_csv(path, rates={"EUR": Rate(Decimal("1.1"))}).version != first
    path.write_bytes(path.read_bytes().replace(b"0.0416", b"0.0417"))
    assert load_csv(path).version != first


def test_the_date_of_a_catalogue_is_its_newest_sources(bundled: Catalogue) -> None:
    assert bundled.as_of == "2026-08-03"


def test_a_compiled_catalogue_gives_the_same_offers_and_notes(tmp_path: Path) -> None:
    plain = load_bundled()
    written = load_bundled(tmp_path / "new" / "catalogue")
    assert [file.suffix for file in (tmp_path / "new" / "catalogue").iterdir()] == [".cat"]
    read = load_bundled(tmp_path / "new" / "catalogue")
    assert plain.offers == written.offers == read.offers
    assert plain.notes == read.notes
    assert plain.version == read.version


def test_a_compiled_catalogue_is_read_not_made_again(tmp_path: Path) -> None:
    load_bundled(tmp_path)
    (file,) = tmp_path.iterdir()
    before = file.stat().st_ino
    load_bundled(tmp_path)
    assert [each.stat().st_ino for each in tmp_path.iterdir()] == [before]


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:0], lambda data: data[:-1], lambda data: data[:100], lambda data: b"x" + data[1:],
     lambda data: data[:200] + b"\xff" + data[201:], lambda data: data + b"x"],
)  # fmt: skip
def test_a_damaged_compiled_catalogue_is_made_again(tmp_path: Path, damage: object) -> None:
    assert callable(damage)
    offers = load_bundled(tmp_path).offers
    (file,) = tmp_path.iterdir()
    good = file.read_bytes()
    file.write_bytes(damage(good))
    assert load_bundled(tmp_path).offers == offers
    assert file.read_bytes() == good


def test_a_cache_that_cannot_be_written_only_costs_time(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("no folder")
    assert load_bundled(in_the_way / "catalogue").offers
    full = Path("/dev/full")
    if full.exists():
        assert load_bundled(full).offers


def test_only_the_last_few_compiled_catalogues_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    text = (DATA / "cpu_offers.csv").read_text().splitlines()[:20]
    for number in range(12):
        path.write_text("\n".join([*text[:1], *text[number + 1 :]]) + "\n")
        load_csv(path, cache=tmp_path / "cache")
    files = list((tmp_path / "cache").iterdir())
    assert len(files) == 8


def test_the_cache_lies_where_the_environment_says() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/c"}) == Path("/c/emporion/catalogue")
    assert cache_folder({"HOME": "/h"}) == Path("/h/.cache/emporion/catalogue")


def test_a_catalogue_of_60000_rows_is_imported_and_read_back_in_time(tmp_path: Path) -> None:
    path = tmp_path / "offers.csv"
    given = list(rows("offers.csv"))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(given[0]))
        writer.writeheader()
        for number in range(60_000):
            row = given[number % len(given)]
            own = f"{row['instance_type']}-v{number // len(given)}" if number >= len(given) else row["instance_type"]
            writer.writerow({**row, "instance_type": own})
    start = time.process_time()
    cold = load_csv(path, cache=tmp_path / "cache")
    first = time.process_time() - start
    start = time.process_time()
    warm = load_csv(path, cache=tmp_path / "cache")
    again = time.process_time() - start
    assert cold.count(OfferFilter()) == warm.count(OfferFilter()) == 60_000
    assert again < first / 4, (first, again)


def test_nothing_compiled_is_shipped() -> None:
    assert {file.suffix for file in DATA.iterdir()} <= {".csv", ".md"}


def test_a_read_only_cache_is_read(tmp_path: Path) -> None:
    load_bundled(tmp_path)
    os.chmod(tmp_path, 0o500)  # noqa: PTH101 - the folder, not a file of ours
    try:
        assert load_bundled(tmp_path).offers
    finally:
        os.chmod(tmp_path, 0o700)  # noqa: PTH101
