"""What the resources of a program cost: priced from the resources themselves, by the cost model of placements.

A thing whose quantity or price is not known is a line without an amount. What nothing here prices is counted by type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from emporion.market.chain import ChainRow
from emporion.market.cost import priced
from emporion.market.cost_lines import HOURS_PER_MONTH, Cost, CostLine
from emporion.market.errors import UserError
from emporion.market.facts import MACHINE, Purchase, known
from emporion.market.gpu_names import resolve_gpu
from emporion.market.offer import Market, Offer
from emporion.market.offers import Catalogue, OfferFilter, load_bundled
from emporion.market.prices import price_book

__all__ = ["Bill", "BillLine", "machine_offer", "make_bill"]

_NO_REGION = "the region is not known"


@dataclass(frozen=True, slots=True)
class BillLine:
    """One thing of one resource with its cost."""

    name: str
    """Of the resource in its program."""
    urn: str
    type: str
    region: str | None
    tags: Mapping[str, str]
    cost: CostLine

    @property
    def usd_per_month(self) -> Decimal | None:
        """What it comes to in a month of 730 hours."""
        usd = self.cost.usd_per_hour
        return None if usd is None else usd * HOURS_PER_MONTH


@dataclass(frozen=True, slots=True)
class Bill:
    """What a program's resources cost together."""

    lines: tuple[BillLine, ...]
    not_priced: Mapping[str, int]
    """Type -> how many resources of it have no price here."""

    @property
    def cost(self) -> Cost:
        """The lines as the cost of a placement has them."""
        return Cost(tuple(line.cost for line in self.lines), 0, None)

    def of(self, key: str) -> Mapping[str, Decimal]:
        """Return value of a tag -> USD per hour of the lines that are known."""
        found: dict[str, Decimal] = {}
        for line in self.lines:
            if key in line.tags and line.cost.usd_per_hour is not None:
                found[line.tags[key]] = found.get(line.tags[key], Decimal(0)) + line.cost.usd_per_hour
        return found


def make_bill(purchases: Iterable[Purchase], catalogue: Catalogue | None = None) -> Bill:
    """Price purchases, machines from a catalogue (the bundled one by default)."""
    lines: list[BillLine] = []
    not_priced: Counter[str] = Counter()
    for one in purchases:
        if one.item is None:
            not_priced[one.type] += 1
            continue
        region = known(one, "region", None)
        cost = _machines(one, region, catalogue) if one.item == MACHINE else _item(one, one.item, region)
        lines.append(BillLine(one.name, one.urn, one.type, region, known(one, "tags", {}), cost))
    return Bill(tuple(lines), dict(sorted(not_priced.items())))


def machine_offer(
    provider: str,
    region: str,
    instance_type: str,
    *,
    spot: bool,
    attached: str | None = None,
    catalogue: Catalogue | None = None,
) -> Offer | None:
    """Return the offer of a machine type in a region, of several zones the dearest; None: no price is known.

    `attached`, as `model:count`, says which GPUs a type without any of its own is rented with; empty: none.
    """
    found = _offers(catalogue or _bundled(), provider, region, instance_type, spot)
    return max(
        found if attached is None else [offer for offer in found if _has(offer, attached)],
        key=lambda offer: (offer.usd_per_hour, offer.id),
        default=None,
    )


def _has(offer: Offer, attached: str) -> bool:
    """Return whether the GPUs in an offer's price are exactly those."""
    if not attached:
        return offer.gpu_count == 0
    try:
        wanted = resolve_gpu(attached)
    except UserError:
        return False  # a model that nobody here knows
    return offer.gpu in wanted.ids and wanted.count is not None and offer.gpu_count == wanted.count.low


@cache
def _bundled() -> Catalogue:
    return load_bundled()


@cache
def _offers(catalogue: Catalogue, provider: str, region: str, instance_type: str, spot: bool) -> Sequence[Offer]:  # noqa: FBT001 - private
    market = Market.SPOT if spot else Market.ON_DEMAND
    wanted = OfferFilter(
        providers=frozenset({provider}), instance_types=frozenset({instance_type}), markets=frozenset({market})
    )
    return tuple(offer for offer in catalogue.find_offers(wanted) if offer.region == region)


def _named(one: Purchase, what: str) -> str:
    return f"{what} of {one.name}" if what else one.name


def _machines(one: Purchase, region: str | None, catalogue: Catalogue | None) -> CostLine:
    kind, count, spot = known(one, "variant", None), known(one, "quantity", None), known(one, "spot", None)
    attached = known(one, "attached", "?")
    beside = f" with {attached}" if attached else ""
    item = f"{kind or '?'}{beside}{'' if spot is None else ' spot' if spot else ' on-demand'}"
    if kind is None or spot is None or region is None:
        why = _NO_REGION if region is None else "its type or market is not known before something else is made"
        return CostLine.unknown("compute", item, why, quantity=count, unit="node-hour")

    def offered(*, interruptible: bool) -> Offer | None:
        return machine_offer(one.provider, region, kind, spot=interruptible, attached=attached, catalogue=catalogue)

    regular = offered(interruptible=False)
    offer = offered(interruptible=True) if spot else regular
    # The worst case of spot is what is paid at most: its own ceiling, else the on-demand price.
    ceiling = known(one, "max_usd_per_hour", None) if spot else None
    most = ceiling if ceiling is not None else None if regular is None else regular.usd_per_hour
    upper = None if count is None or most is None else count * most
    if offer is None:
        why = f"no {'spot ' if spot else ''}price of {kind} in {region} is known"
        return CostLine.unknown("compute", item, why, quantity=count, unit="node-hour", upper=upper)
    price = offer.usd_per_hour
    amount = None if count is None else count * price
    return CostLine(
        "compute", item, None, count, "node-hour", price, amount, upper if spot else amount, offer.source, offer.as_of,
        "unknown" if amount is None else "quoted",
    )  # fmt: skip


def _item(one: Purchase, item: str, region: str | None) -> CostLine:
    variant, quantity = known(one, "variant", None), known(one, "quantity", None)
    row = ChainRow(one.part, _named(one, one.says), "", item, variant or "?", "cluster", quantity, None, None, "")
    if region is None or variant is None:
        why = _NO_REGION if region is None else "its kind is not known before something else is made"
        return CostLine.unknown(one.part, row.line, why, quantity=quantity)
    return priced(row, price_book().find(one.provider, region, item, variant), quantity, quantity, "")
