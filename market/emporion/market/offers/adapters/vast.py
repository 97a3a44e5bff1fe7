"""Vast's prices: what its marketplace offers right now, by machines that Vast has verified.

The search has a limit and no cursor, so that pages follow each other by the machine's number, the last machine of a
page asked once more. Of several like machines in one place the cheapest is the offer, with its own prices.

https://docs.vast.ai/api-reference/search/search-offers (read 2026-12-01)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from emporion.market.dates import stamp
from emporion.market.offers.adapter import Adapter, Ask, Row
from emporion.market.offers.answers import amount, listed, mapping, money, odd, row, text
from emporion.market.sites import regions

__all__ = ["ADAPTER"]

_PROVIDER = "vast"
_SOURCE = "Vast search API"
_URL = "https://console.vast.ai/api/v0/bundles/"
_KEY = "VAST_API_KEY"
_PAGE = 1000
_MOST_PAGES = 500
_NOWHERE = "unknown"
_ARCHS: Mapping[str, str] = {"amd64": "x86_64", "arm64": "arm64"}


def _fetch(ask: Ask) -> Iterator[Row]:
    cheapest: dict[tuple[str, ...], tuple[Decimal, int, Row]] = {}
    as_of = stamp(ask.now)
    for offer in _offers(ask):
        made = _row(offer, as_of)
        price = money(offer.get("dph_total"), _SOURCE, "dph_total")
        key = (made["region"], made["instance_type"], made["gpu_vram_gb"])
        ranked = (price, _number(offer, "id"), made)
        # A price of 0 is none; the import says so, and a real one comes before it.
        if key not in cheapest or (not price, *ranked[:2]) < (not cheapest[key][0], *cheapest[key][:2]):
            cheapest[key] = ranked
    yield from (cheapest[key][2] for key in sorted(cheapest))


def _offers(ask: Ask) -> Iterator[Mapping[str, Any]]:
    """Yield every offer once.

    Raises: UserError E-ADAPTER: when a page is not as documented, or pages do not come to an end.
    """
    seen: set[int] = set()
    machine = 0
    for page in range(1, _MOST_PAGES + 1):
        query = {
            "limit": _PAGE,
            "type": "on-demand",
            "verified": {"eq": True},
            "rentable": {"eq": True},
            "rented": {"eq": False},
            "machine_id": {"gte": machine},
            "order": [["machine_id", "asc"]],
        }
        answer = ask.post(_URL, json=query, headers={"Authorization": f"Bearer {ask.env[_KEY]}"}).body
        found = listed(mapping(answer, _SOURCE, "object").get("offers"), _SOURCE, "offers")
        fresh = [offer for offer in found if _number(offer, "id") not in seen]
        ask.progress("offers", len(seen) + len(fresh), None)
        if not fresh:
            if len(found) >= _PAGE:
                raise odd(_SOURCE, f"answers page {page} a second time")
            return
        seen.update(_number(offer, "id") for offer in fresh)
        machine = max(machine, *(_number(offer, "machine_id") for offer in fresh))
        yield from fresh
    raise odd(_SOURCE, f"answers more than {_MOST_PAGES} pages")


def _number(offer: Mapping[str, Any], name: str) -> int:
    value = offer.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise odd(_SOURCE, f"answers an offer without {name}")
    return value


def _row(offer: Mapping[str, Any], as_of: str) -> Row:
    gpu = text(offer, "gpu_name", _SOURCE)
    count = money(offer.get("num_gpus"), _SOURCE, "num_gpus")
    memory = amount(offer.get("gpu_ram"), _SOURCE, "gpu_ram")
    vcpus = amount(offer.get("cpu_cores_effective"), _SOURCE, "cpu_cores_effective")
    ram_mib = _share(offer)
    size = "-".join("?" if value is None else str(int(value)) for value in (vcpus, ram_mib))
    return row(
        provider=_PROVIDER,
        region=_region(offer.get("geolocation")),
        instance_type=f"{count:f}x-{gpu.replace(' ', '_')}-{size}",
        gpu=gpu,
        gpu_count=count,
        on_demand=money(offer.get("dph_total"), _SOURCE, "dph_total"),
        spot=amount(offer.get("min_bid"), _SOURCE, "min_bid") or None,
        source=_SOURCE,
        as_of=as_of,
        more={
            # Named MB in the documentation; the figures are those that the driver reports, which are MiB.
            "gpu_vram_gb": None if not memory else f"{int(memory)} MiB",
            "vcpus": vcpus,
            "ram_gb": None if ram_mib is None else Decimal(int(ram_mib)) / 1024,
            "arch": _ARCHS.get(str(offer.get("cpu_arch"))),
            "cuda": _version(offer.get("cuda_max_good")),
            "driver": _version(offer.get("driver_version")),
        },
    )


def _share(offer: Mapping[str, Any]) -> Decimal | None:
    """Return the MiB of main memory that go with an offer; `cpu_ram` is the whole machine's."""
    whole = amount(offer.get("cpu_ram"), _SOURCE, "cpu_ram")
    part = amount(offer.get("gpu_frac"), _SOURCE, "gpu_frac")
    return None if not whole or part is None else whole * min(part, Decimal(1))


def _region(place: object) -> str:
    """Return a region as the tables name it: `Czechia,CZ,EU` of `Czechia, CZ`."""
    if not isinstance(place, str) or not place.strip():
        return _NOWHERE
    name = ",".join(part.strip() for part in place.replace("/", " ").split(",") if part.strip())
    known = (region for provider, region in sorted(regions()) if provider == _PROVIDER)
    return next((region for region in known if region == name or region.startswith(f"{name},")), name or _NOWHERE)


def _version(value: object) -> str | None:
    told = str(value)
    parts = told.split(".")
    return told if len(told) <= 20 and len(parts) <= 5 and all(part.isdecimal() for part in parts) else None  # noqa: PLR2004


ADAPTER = Adapter(provider=_PROVIDER, extra="vast", source=_SOURCE, needs=(_KEY,), fetch=_fetch)
"""The adapter, as the entry point names it."""
