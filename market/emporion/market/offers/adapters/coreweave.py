"""CoreWeave's prices: its public price page. No API of CoreWeave tells prices.

The page has a list of machines for each region ("REGION: NORTH AMERICA"); an entry holds the model, the number of GPUs,
their memory, and the prices of the whole machine per hour, on demand and spot.

https://www.coreweave.com/pricing (its shape as others read it until October 2026; read 2026-12-01)
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from html.parser import HTMLParser

from emporion.market.dates import stamp
from emporion.market.offers.adapter import Adapter, Ask, Row
from emporion.market.offers.answers import money, odd, row

__all__ = ["ADAPTER"]

_SOURCE = "CoreWeave price page"
_URL = "https://www.coreweave.com/pricing"
_GPU_ENTRY = "kubernetes-gpu-pricing"
_MODEL = "table-model-name"
_REGION = re.compile(r"REGION:\s*([A-Za-z][A-Za-z ]*)")
_AMOUNT = re.compile(r"\$\s*([0-9][0-9,]*(?:\.[0-9]+)?)")
_WHOLE = re.compile(r"([0-9][0-9,]*)(?:\s*(?:GB|GiB))?(?:\s*\^?[0-9]?)?")
_ON_DEMAND = "On-Demand Price:"
_SPOT = "Spot Price:"


@dataclass(slots=True)
class _Entry:
    """One machine of the page."""

    region: str
    model: str = ""
    product: str = ""
    texts: list[str] = field(default_factory=list)

    def before(self, label: str) -> str | None:
        """Return the text that stands before a label (a figure above its name), None: there is no such label."""
        at = next((index for index, text in enumerate(self.texts) if text.lower().startswith(label)), 0)
        return self.texts[at - 1] if at else None

    def price(self, label: str) -> Decimal | None:
        """Return the amount behind a label: in the same text, or in the next one; None: it is not for sale so."""
        for index, text in enumerate(self.texts):
            if text.startswith(label):
                told = text.removeprefix(label).strip() or "".join(self.texts[index + 1 : index + 2])
                found = _AMOUNT.match(told)
                return None if found is None else money(found[1].replace(",", ""), _SOURCE, label.rstrip(":"))
        return None


class _Page(HTMLParser):
    """Collects the entries of machines with GPUs."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.entries: list[_Entry] = []
        self._region = ""
        self._open = False
        self._naming = False
        self._footnote = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        about = dict(attrs)
        classes = (about.get("class") or "").split()
        if about.get("role") == "listitem":
            self._open = _GPU_ENTRY in classes
            if self._open:
                self.entries.append(_Entry(self._region))
        elif self._open and _MODEL in classes:
            self._naming = True
            self.entries[-1].product = about.get("data-product") or ""
        self._footnote = self._footnote or tag == "sup"

    def handle_endtag(self, tag: str) -> None:
        if tag == "sup":
            self._footnote = False
        elif tag in {"h3", "div"}:
            self._naming = False

    def handle_data(self, data: str) -> None:
        text = " ".join(data.split())
        if not text or self._footnote:
            return
        region = _REGION.search(text)
        if region is not None:
            self._region, self._open = region[1].strip().lower().replace(" ", "-"), False
        elif self._open and self._naming:
            self.entries[-1].model = f"{self.entries[-1].model} {text}".strip()
        elif self._open:
            self.entries[-1].texts.append(text)


def _fetch(ask: Ask) -> Iterator[Row]:
    page = _Page()
    page.feed(ask.text(_URL))
    page.close()
    if not page.entries:
        raise odd(_SOURCE, "has no list of machines with GPUs; its form has changed")
    for entry in page.entries:
        yield _row(entry, stamp(ask.now))
    ask.progress("machines", len(page.entries), len(page.entries))


def _row(entry: _Entry, as_of: str) -> Row:
    if not entry.model or not entry.region:
        raise odd(_SOURCE, "has an entry without model or region; its form has changed")
    count = _figure(entry, "gpu count")
    if count is None:
        raise odd(_SOURCE, f"does not say how many GPUs {entry.model[:40]} has")
    name = re.sub(r"[^a-z0-9]+", "-", (entry.product or entry.model).lower()).strip("-")
    return row(
        provider="coreweave",
        region=entry.region,
        instance_type=name,
        gpu=entry.model,
        gpu_count=count,
        on_demand=entry.price(_ON_DEMAND),
        spot=entry.price(_SPOT),
        source=_SOURCE,
        as_of=as_of,
        more={
            "gpu_vram_gb": _figure(entry, "vram"),
            "vcpus": _figure(entry, "vcpus"),
            "ram_gb": _figure(entry, "system ram"),
        },
    )


def _figure(entry: _Entry, label: str) -> Decimal | None:
    """Return a whole number of an entry; None: the page does not have it, or says something else there."""
    told = _WHOLE.fullmatch(entry.before(label) or "")
    return None if told is None else Decimal(told[1].replace(",", ""))


ADAPTER = Adapter(provider="coreweave", extra="coreweave", source=_SOURCE, needs=(), fetch=_fetch)
"""The adapter, as the entry point names it."""
