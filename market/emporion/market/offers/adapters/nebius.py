"""Nebius's prices: the price page of its documentation, which is served as Markdown too.

The page has one section for each platform (`gpu-h200-sxm`) with a table in USD: regular and preemptible machines by the
GPU hour, for some platforms processors and memory beside. A change that is announced stands as a second table with its
date. Which machines a platform consists of is not said there; they are those of the bundled tables, in the regions that
the section names, else in those of the tables. Nebius has an API for single estimates, but it speaks gRPC only.

https://docs.nebius.com/compute/resources/pricing.md (its shape as others read it in October 2026; read 2026-12-01)
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal

from emporion.market.dates import stamp
from emporion.market.offers.adapter import Adapter, Ask, Row
from emporion.market.offers.answers import money, odd, row
from emporion.market.tables import rows

__all__ = ["ADAPTER"]

_log = logging.getLogger(__name__)

_PROVIDER = "nebius"
_SOURCE = "Nebius price page"
_URL = "https://docs.nebius.com/compute/resources/pricing.md"
_SECTION = re.compile(r"^#{2,5}[ \t]+(.+)$", re.MULTILINE)
_PLATFORM = re.compile(r"\bgpu-[a-z0-9-]+")
_USD = re.compile(r"<Tab title=\"USD\">(.*?)</Tab>", re.DOTALL)
_REGIONS = re.compile(r"[^.\n]*\bavailable in\b[^\n]*?(?:\.|$)", re.MULTILINE)
_REGION = re.compile(r"`([a-z]+-[a-z]+[0-9]+)`")
_DATED = re.compile(r"\bItem\b(?:\s*[\u2013\u2014-]+\s*(from|before)\s+([A-Z][a-z]+ [0-9]{1,2}, [0-9]{4}))?")
_PRICE = re.compile(r"\\*\$([0-9][0-9,]*(?:\.[0-9]+)?)")
_CELLS = 3
_PRESET = re.compile(r"(gpu-[a-z0-9-]+)_([0-9]+)gpu-([0-9]+)vcpu-([0-9]+)gb")
_UNITS: Mapping[str, str] = {
    "1 gpu hour": "gpu", "1 vcpu hour": "vcpu", "1 cpu hour": "vcpu", "1 gib hour": "ram",
}  # fmt: skip
"""What a price is for -> which part of a machine."""


@dataclass(frozen=True, slots=True)
class _Platform:
    """What a section says: prices of the parts of a machine per hour, by the way it is sold."""

    regular: Mapping[str, Decimal]
    preemptible: Mapping[str, Decimal]
    regions: tuple[str, ...]


@dataclass(slots=True)
class _Table:
    """The prices of one table."""

    prices: dict[str, dict[str, Decimal]] = field(default_factory=lambda: {"regular": {}, "preemptible": {}})


def _fetch(ask: Ask) -> Iterator[Row]:
    page = ask.text(_URL)
    platforms = _platforms(page, ask.now)
    if not platforms:
        raise odd(_SOURCE, "has no section of a GPU platform; its form has changed")
    known: set[str] = set()
    for name, places, gpu, vram in _machines():
        shape = _PRESET.fullmatch(name)
        platform = platforms.get(shape[1]) if shape else None
        if shape is None or platform is None:
            continue
        known.add(shape[1])
        parts = {"gpu": Decimal(shape[2]), "vcpu": Decimal(shape[3]), "ram": Decimal(shape[4])}
        for region in platform.regions or places:
            yield row(
                provider=_PROVIDER,
                region=region,
                instance_type=name,
                gpu=gpu,
                gpu_count=parts["gpu"],
                on_demand=_total(platform.regular, parts),
                spot=_total(platform.preemptible, parts),
                source=_SOURCE,
                as_of=stamp(ask.now),
                more={"gpu_vram_gb": vram, "vcpus": parts["vcpu"], "ram_gb": parts["ram"]},
            )
    ask.progress("platforms", len(platforms), len(platforms))
    if unknown := sorted(set(platforms) - known):
        _log.warning("provider=nebius left_out=%d reason=%r platforms=%s", len(unknown), "sizes", ",".join(unknown))


def _machines() -> list[tuple[str, tuple[str, ...], str, str]]:
    """Return the machine types of the bundled tables with their regions, GPU and its memory."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for each in rows("offers.csv"):
        if each["provider"] == _PROVIDER:
            found.setdefault((each["instance_type"], each["gpu"], each["gpu_vram_gb"]), []).append(each["region"])
    return [(name, tuple(places), gpu, vram) for (name, gpu, vram), places in sorted(found.items())]


def _total(prices: Mapping[str, Decimal], parts: Mapping[str, Decimal]) -> Decimal | None:
    """Return the price of a machine; the GPU's alone is that of the whole, where no other part has one."""
    if "gpu" not in prices:
        return None
    if len(prices) == 1:
        return prices["gpu"] * parts["gpu"]
    if len(prices) < len(parts):
        return None
    return sum((prices[part] * number for part, number in parts.items()), Decimal(0))


def _platforms(page: str, now: datetime) -> dict[str, _Platform]:
    heads = list(_SECTION.finditer(page))
    found: dict[str, _Platform] = {}
    for head, following in zip(heads, [*heads[1:], None], strict=True):
        names = _PLATFORM.findall(head[1].lower())
        if not names:
            continue
        body = page[head.end() : following.start() if following else len(page)]
        tab = _USD.search(body)
        if tab is None:
            raise odd(_SOURCE, f"has no table in USD for {names[0]}")
        prices = _in_force(tab[1], names[0], now.date())
        regions = [
            region
            for sentence in _REGIONS.findall(body)
            if "private" not in sentence.lower()
            for region in _REGION.findall(sentence)
        ]
        for name in names:
            if name in found:
                raise odd(_SOURCE, f"has two sections for {name}")
            found[name] = _Platform(prices["regular"], prices["preemptible"], tuple(dict.fromkeys(regions)))
    return found


def _in_force(tab: str, platform: str, today: date) -> dict[str, dict[str, Decimal]]:
    """Return the prices of the table that counts today.

    Raises: UserError E-ADAPTER: when there is none, or it has no price of a GPU.
    """
    table: _Table | None = None
    for line in tab.splitlines():
        cells = [cell.strip().strip("*").strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) != _CELLS:
            continue
        dated = _DATED.match(cells[0])
        if dated:
            if table is not None and table.prices["regular"]:
                break
            table = _Table() if _counts(dated[1], dated[2], today) else None
        elif table is not None:
            _take(cells, table, platform)
    if table is None or "gpu" not in table.prices["regular"]:
        raise odd(_SOURCE, f"has no price of {platform} that is in force")
    return table.prices


def _counts(when: str | None, day: str | None, today: date) -> bool:
    if when is None or day is None:
        return True
    try:
        since = datetime.strptime(day, "%B %d, %Y").date()  # noqa: DTZ007 - a day, no moment
    except ValueError:
        raise odd(_SOURCE, f"gives {day!r} as a date") from None
    return today >= since if when == "from" else today < since


def _take(cells: list[str], table: _Table, platform: str) -> None:
    part = _UNITS.get(cells[2].lower())
    price = _PRICE.fullmatch(cells[1])
    if part is None or price is None:
        return
    way = "preemptible" if cells[0].lower().startswith("preemptible") else "regular"
    amount = money(price[1].replace(",", ""), _SOURCE, f"price of {platform}")
    if table.prices[way].setdefault(part, amount) != amount:
        raise odd(_SOURCE, f"has two prices of {platform} for {cells[2]}")


ADAPTER = Adapter(provider=_PROVIDER, extra="nebius", source=_SOURCE, needs=(), fetch=_fetch)
"""The adapter, as the entry point names it."""
