"""Full-chain cost of a placement, separable for the optimiser and itemised for people.

    total = sum of pools (machines) + sum of sites (everything else that a cluster there needs) + interruptions

A cluster stands at each site of a placement, so each has its own controller, disks, NAT, addresses and store. What a
provider's cluster consists of is data (`chain`), prices come from the price book, and what is not known is a line
without an amount, never 0. docs/explanation/cost.md tells the assumptions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, lru_cache

from emporion.market.chain import ChainRow, chain
from emporion.market.cost_lines import CHECKPOINT_BYTES_PER_PARAMETER, HOURS_PER_MONTH, Cost, CostLine, per_hour
from emporion.market.gpus import all_gpus
from emporion.market.intent.model import Gpus, Intent
from emporion.market.offer import Market, Offer
from emporion.market.offers import Catalogue, OfferFilter, load_csv
from emporion.market.pool import Pool
from emporion.market.prices import Price, price_book
from emporion.market.sites import regions
from emporion.market.tables import DATA
from emporion.market.transfer import checkpoint_place, on_nfs, transfer_lines

__all__ = ["CostModel", "Overhead", "interruption_usd_per_hour", "lustre_gib", "pool_line", "priced"]

CHECKPOINT_COPIES = 2
GPU_BYTES_PER_PARAMETER = 16
"""The least that a parameter takes in GPU memory in training; bounds a model whose size the intent does not tell."""
CONTROLLER_VCPUS = 2
_REFERENCE_BOUND = Decimal("2.1")
"""Another region's price bounds this one's within this factor: of the items known in 21 or more regions the dearest
region asks at most 2.07 times the cheapest's price (data/ancillary.csv)."""
_NOWHERE = "a region without prices of its own"
_DAY_S = Decimal(86_400)
_GIB = Decimal(1 << 30)
_GB = Decimal(10**9)
_LUSTRE_SMALLEST_GIB, _LUSTRE_STEP_GIB = 1200, 2400


@dataclass(frozen=True, slots=True)
class Overhead:
    """Everything but machines and interruptions that a cluster at one site needs."""

    lines: tuple[CostLine, ...]
    total: Decimal
    """USD per hour, the exact sum of the known lines."""
    upper: Decimal | None
    """The sum of the bounds; None when a line has none."""


def lustre_gib(intent: Intent) -> int:
    """Return the size of the Lustre file system: what is asked, rounded up to 1200 GiB or a multiple of 2400."""
    asked = intent.resources.storage
    gib = 0 if asked is None else -(-asked.bytes // (1 << 30))
    if gib <= _LUSTRE_SMALLEST_GIB:
        return _LUSTRE_SMALLEST_GIB
    return -(-gib // _LUSTRE_STEP_GIB) * _LUSTRE_STEP_GIB


class CostModel:
    """Costs of the placements of one intent. Sites are priced once."""

    def __init__(self, intent: Intent, catalogue: Catalogue) -> None:
        """Price for an intent, controllers from the catalogue's CPU machines."""
        self._intent = intent
        self._catalogue = catalogue
        self._overheads: dict[tuple[str, str, int], Overhead] = {}
        self._controllers: dict[tuple[str, str], Offer | None] = {}
        self._conditions = {
            "": True,
            "nat": intent.access.nat,
            "no_nat": not intent.access.nat,
            "slurm": intent.scheduler == "slurm",
            "lustre": intent.resources.storage_type == "lustre",
        }

    def controller(self, provider: str, region: str, zone: str | None = None) -> Offer | None:
        """Return the cheapest on-demand CPU machine with 2 vCPUs, in `zone` at equal price; None: there is none.

        A file that takes the catalogue's place and names no CPU machine of this region is helped out by the snapshot.
        """
        fit = self._own_controllers.get((provider, region))
        if fit is None and self._catalogue.source != "bundled":
            fit = _snapshot_controllers().get((provider, region))
        return min(fit or (), key=lambda offer: (offer.usd_per_hour, offer.zone != zone, offer.id), default=None)

    @cached_property
    def _own_controllers(self) -> Mapping[tuple[str, str], list[Offer]]:
        return _controllers(self._catalogue)

    # What a site needs

    def overhead(self, provider: str, region: str, nodes: int) -> Overhead:
        """Return what a cluster of `nodes` at a site costs beside its machines and interruptions."""
        if (provider, region) not in regions() and (provider, region) not in self._own_controllers:
            region = _NOWHERE  # no table tells such regions apart: they are priced once
        key = (provider, region, nodes)
        found = self._overheads.get(key)
        if found is None:
            lines = tuple(self._site_lines(provider, region, nodes))
            summed = Cost(lines, 0, None)
            found = self._overheads[key] = Overhead(lines, summed.total, summed.upper_total)
        return found

    def _site_lines(self, provider: str, region: str, nodes: int) -> Iterator[CostLine]:
        if self._conditions["slurm"]:
            yield self._controller_line(provider, region)
        rows = chain(provider)
        for row in rows:
            if self._conditions[row.when]:
                yield from self._chain_lines(row, provider, region, nodes)
        if self._intent.resources.storage_type == "nfs":
            yield _own_server("file system", "this version makes no NFS file system")
        if not rows:
            why = f"not known what {provider} charges beside its machines"
            for part in ("storage", "network", "fees"):
                yield CostLine.unknown(part, part, why)
        yield from transfer_lines(self._intent, provider, region)

    def _controller_line(self, provider: str, region: str) -> CostLine:
        key = (provider, region)
        if key not in self._controllers:
            self._controllers[key] = self.controller(provider, region)
        offer = self._controllers[key]
        if offer is None:
            why = f"no CPU machine of {provider} in {region} has a known price"
            return CostLine.unknown("compute", "controller", why, quantity=Decimal(1), unit="node-hour")
        price = offer.usd_per_hour
        source = f"{offer.instance_type} on-demand: {offer.source}"
        return CostLine(
            "compute", "controller", None, Decimal(1), "node-hour", price, price, price, source, offer.as_of, "quoted"
        )

    def _chain_lines(self, row: ChainRow, provider: str, region: str, nodes: int) -> Iterator[CostLine]:
        if row.basis == "checkpoint" and on_nfs(self._intent.checkpoint_path):
            yield _own_server(row.line, f"they lie at {self._intent.checkpoint_path}")
            return
        if row.basis == "none":
            zero = Decimal(0)
            yield CostLine(row.part, row.line, None, zero, "", None, zero, zero, row.note, None, "assumed")
            return
        price = self._price(row, provider, region)
        quantity, upper, note = self._quantity(row, nodes, price)
        if quantity == 0 and row.basis == "checkpoint":
            return
        yield priced(row, price, quantity, upper, note)

    def _price(self, row: ChainRow, provider: str, region: str) -> Price | None:
        """Return the price of a row, checkpoints at the store where the user's own path lies."""
        if row.basis == "checkpoint":
            place = checkpoint_place(self._intent)
            if place is not None and (place[0] != provider or place[1] is not None):
                return price_book().find(place[0], place[1] or "", row.item, row.variant)
        return price_book().find(provider, region, row.item, row.variant)

    def _quantity(self, row: ChainRow, nodes: int, price: Price | None) -> tuple[Decimal | None, Decimal | None, str]:
        """Return the quantity of a row, the quantity that bounds it, and the assumption behind them."""
        gibibytes = price is not None and "GiB" in price.unit
        if row.basis == "checkpoint":
            return self._checkpoint(row, _GIB if gibibytes else _GB)
        if row.basis == "lustre":
            gib = Decimal(lustre_gib(self._intent))
            size = gib if gibibytes else gib * _GIB / _GB
            return size, size, row.note
        machines = nodes + (1 if self._conditions["slurm"] else 0)
        scale = Decimal({"cluster": 1, "node": nodes, "machine": machines}[row.basis])
        if row.quantity is None:
            return None, None if row.upper is None else row.upper * scale, row.note
        quantity = row.quantity * scale
        if row.quantity_max is not None:
            quantity = min(quantity, row.quantity_max)
        return quantity, quantity, row.note

    def _checkpoint(self, row: ChainRow, unit: Decimal) -> tuple[Decimal | None, Decimal | None, str]:
        parameters = self._intent.model.parameters
        if parameters is not None:
            size = Decimal(parameters * CHECKPOINT_BYTES_PER_PARAMETER * CHECKPOINT_COPIES) / unit
            return size, size, row.note
        most = self._gpu_memory_bytes / GPU_BYTES_PER_PARAMETER
        bound = most * CHECKPOINT_BYTES_PER_PARAMETER * CHECKPOINT_COPIES / unit
        if not bound:
            return Decimal(0), Decimal(0), row.note
        return None, bound, f"{row.note}; model.parameters unknown, bound: the largest model that fits the GPUs"

    @cached_property
    def _gpu_memory_bytes(self) -> Decimal:
        """The most GPU memory that the intent can take at once."""
        wanted = [self._intent.resources.gpus, *(stage.resources.gpus for stage in self._intent.stages)]
        return max((_most_memory(gpus) for gpus in wanted if gpus is not None), default=Decimal(0))

    # What a placement costs

    def cost(self, pools: Sequence[Pool], *, loss_s_per_day: int | None) -> Cost:
        """Return the full chain of a placement.

        `loss_s_per_day` are the seconds a day in which its machines are paid for and do not train (interruptions per
        day times mean recovery); None: unknown.
        """
        lines = [pool_line(pool) for pool in pools]
        nodes: dict[tuple[str, str], int] = {}
        for pool in pools:
            place = (pool.offer.provider, pool.offer.region)
            nodes[place] = nodes.get(place, 0) + pool.count
        for (provider, region), count in sorted(nodes.items()):
            lines += self.overhead(provider, region, count).lines
        lines.append(_interruption_line(sum((pool.usd_per_hour for pool in pools), Decimal(0)), loss_s_per_day))
        return Cost(tuple(lines), sum(pool.gpus for pool in pools), self._intent.model.hours)


@cache
def _snapshot_controllers() -> Mapping[tuple[str, str], list[Offer]]:
    return _controllers(load_csv(DATA / "cpu_offers.csv"))


@lru_cache(maxsize=8)
def _controllers(catalogue: Catalogue) -> dict[tuple[str, str], list[Offer]]:
    """Return the machines that can be a controller by (provider, region)."""
    found: dict[tuple[str, str], list[Offer]] = {}
    for offer in catalogue.find_offers(OfferFilter(markets=frozenset({Market.ON_DEMAND}), machines="cpu")):
        if offer.vcpus is not None and offer.vcpus >= CONTROLLER_VCPUS and offer.arch == "x86_64":
            found.setdefault((offer.provider, offer.region), []).append(offer)
    return found


def interruption_usd_per_hour(compute_usd_per_hour: Decimal, loss_s_per_day: int) -> Decimal:
    """Return what lost time costs: the machines' price times the share of the day lost, rounded up to 1e-9 USD."""
    return per_hour(compute_usd_per_hour * loss_s_per_day, _DAY_S, up=True)


def pool_line(pool: Pool) -> CostLine:
    """Return the line of a pool's machines."""
    offer = pool.offer
    usd = pool.usd_per_hour
    item = f"{pool.count} x {offer.instance_type} {offer.market.value.replace('_', '-')}"
    source = offer.source if offer.currency_note is None else f"{offer.source}; {offer.currency_note}"
    return CostLine(
        "compute", item, pool.stage, Decimal(pool.count), "node-hour", offer.usd_per_hour, usd, usd, source,
        offer.as_of, "quoted",
    )  # fmt: skip


def _interruption_line(compute: Decimal, loss_s: int | None) -> CostLine:
    if loss_s is None:
        why = "not known how often these machines are interrupted"
        return CostLine.unknown("interruptions", "interruptions", why, unit="h/day")
    usd = interruption_usd_per_hour(compute, loss_s)
    hours = per_hour(Decimal(loss_s), Decimal(3600))
    source = "expected interruptions per day x mean recovery x price of all machines"
    return CostLine(
        "interruptions", "interruptions", None, hours, "h/day", per_hour(compute, Decimal(24)), usd, usd, source, None,
        "assumed",
    )  # fmt: skip


def _own_server(item: str, why: str) -> CostLine:
    """Return the line for a file server of the user's, whose price nobody tells."""
    source = f"not estimated: {why}, and what a server of your own costs is not known"
    return CostLine.unknown("storage", item, source, counted=False)


def _most_memory(gpus: Gpus) -> Decimal:
    sizes = [gpu.vram_gb for gpu in all_gpus() if gpu.vram_gb is not None and (not gpus.types or gpu.id in gpus.types)]
    return max(sizes, default=Decimal(0)) * _GB * gpus.count_max


def priced(row: ChainRow, price: Price | None, quantity: Decimal | None, upper: Decimal | None, note: str) -> CostLine:
    """Return the line of a row at a price; `upper` is the quantity that bounds it, `note` what it assumes."""
    if price is None:
        why = f"no price of {row.item} {row.variant} found"
        return CostLine.unknown(row.part, row.line, why, quantity=quantity)
    hours = HOURS_PER_MONTH if "month" in price.unit else Decimal(1)
    amount = None if quantity is None else per_hour(quantity * price.usd, hours)
    bound = None
    if upper is not None:
        factor = _REFERENCE_BOUND if price.reference and price.price_region != "*" else 1
        bound = per_hour(upper * price.usd * factor, hours, up=True)
    where = ""
    if price.reference:
        where = "global figure; " if price.price_region == "*" else f"figure of {price.price_region}; "
    source = where + price.source + (f"; {note}" if note else "")
    unit = price.unit.removeprefix("usd/")
    return CostLine(
        row.part, row.line, None, quantity, unit, price.usd, amount, bound, source, price.as_of,
        "unknown" if quantity is None else _quality(price),
    )  # fmt: skip


def _quality(price: Price) -> str:
    """Return how sure a price is; that it is a third party's says more than whose region it is of."""
    if price.quality == "quoted" and price.reference:
        return "reference"
    return price.quality
