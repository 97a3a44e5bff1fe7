"""Spot prices of a world: the catalogue's, moved by chance around them, or as they were once recorded.

The logarithm of a price reverts to the catalogue's: x(k) = phi x(k-1) + noise, step by step of the provider's interval,
from the moment at which prices began to move. Each step's noise follows from the seed, so that any moment can be asked
for by itself.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from pathlib import Path

from emporion.localcloud.chance import normal
from emporion.localcloud.models import model, model_since_s, note_model
from emporion.localcloud.world import World
from emporion.market.errors import UserError
from emporion.market.offer import Market, Offer
from emporion.market.tables import read_rows

__all__ = ["load_history", "price"]

_PROCESSES = Path(__file__).with_name("data") / "price_process.csv"
_FORGOTTEN = 1e-4
_PLACES = Decimal("0.0001")
_COLUMNS = ("provider", "region", "zone", "instance_type", "observed_at", "spot_usd_hr")


@dataclass(frozen=True, slots=True)
class _Process:
    interval_h: float
    half_life_h: float
    log_deviation: float
    """Standard deviation of the log price in the long run."""

    @property
    def kept(self) -> float:
        """How much of a step's deviation is left after the next one."""
        return float(0.5 ** (self.interval_h / self.half_life_h))


@cache
def _process(provider: str) -> _Process:
    rows = {row["provider"]: row for row in read_rows(_PROCESSES)}
    row = rows.get(provider) or rows["*"]
    return _Process(float(row["interval_h"]), float(row["half_life_h"]), float(row["log_deviation"]))


def price(world: World, offer: Offer, at_s: float | None = None) -> Decimal:
    """Return what an offer costs in USD per hour at a moment of the world's time (None: now).

    Only spot prices move, and never above the offer's own on-demand price where that is known.
    """
    mode = model(world, "prices")
    moment_s = world.time_s() if at_s is None else at_s
    if offer.market is not Market.SPOT or mode == "fixed":
        return offer.usd_per_hour
    if mode == "replay":
        return _recorded(world, offer, moment_s)
    moved = offer.usd_per_hour * Decimal(repr(math.exp(_deviation(world, offer, moment_s))))
    most = offer.on_demand_usd_per_hour
    rounded = moved.quantize(_PLACES) if moved > _PLACES else moved
    return rounded if most is None else min(rounded, most)


def _deviation(world: World, offer: Offer, moment_s: float) -> float:
    process = _process(offer.provider)
    interval_s = process.interval_h * 3600
    first, last = (int(each // interval_s) for each in (model_since_s(world, "prices"), moment_s))
    remembered = math.ceil(math.log(_FORGOTTEN) / math.log(process.kept))
    scale = process.log_deviation * math.sqrt(1 - process.kept**2)
    about = (offer.provider, offer.region, offer.zone or "", offer.instance_type)
    steps = range(max(first + 1, last - remembered + 1), last + 1)
    return scale * math.fsum(
        process.kept ** (last - step) * normal(world.seed, "price", *about, step) for step in steps
    )


def load_history(world: World, path: Path) -> int:
    """Let prices be those of a CSV file from now on, as if its first moment were now; return how many records it has.

    Columns: provider, region, zone (may be empty), instance_type, observed_at (ISO 8601), spot_usd_hr; others are left
    alone, rows without a spot price too.

    Raises: UserError E-PRICES: when it cannot be read, lacks a column or has no price.
    """
    records = _read_history(path)
    if not records:
        raise UserError("E-PRICES", "it holds no spot price", str(path), f"a CSV file with {', '.join(_COLUMNS)}")
    with world.transaction() as connection:
        connection.execute("DELETE FROM price_records")
        connection.executemany("INSERT OR REPLACE INTO price_records VALUES (?, ?, ?, ?, ?, ?)", records)
        note_model(world, "prices", "replay")
    return len(records)


def _read_history(path: Path) -> list[tuple[str, str, str, str, float, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in _COLUMNS if name not in (reader.fieldnames or ())]
            if missing:
                raise UserError(
                    "E-PRICES", f"no column {', '.join(missing)}", str(path), f"its columns are {', '.join(_COLUMNS)}"
                )
            return [_record(row, f"{path}:{reader.line_num}") for row in reader if row["spot_usd_hr"]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        if isinstance(error, UserError):
            raise
        raise UserError("E-PRICES", "it cannot be read", str(path), "give a readable CSV file") from error


def _record(row: dict[str, str], where: str) -> tuple[str, str, str, str, float, str]:
    try:
        moment = datetime.fromisoformat(row["observed_at"])
        usd = Decimal(row["spot_usd_hr"])
    except (ValueError, InvalidOperation) as error:
        raise UserError(
            "E-PRICES", "no moment or no price", where, "observed_at: 2026-12-01T00:00:00Z, spot_usd_hr: 9.83"
        ) from error
    if not (usd.is_finite() and usd > 0):
        raise UserError("E-PRICES", f"{usd} is no price", where, "write spot_usd_hr: 9.83")
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return row["provider"], row["region"], row["zone"], row["instance_type"], moment.timestamp(), str(usd)


def _recorded(world: World, offer: Offer, moment_s: float) -> Decimal:
    """Return the last price recorded by then for the offer's zone, else for its region; else the catalogue's."""
    ((first_s,),) = world.query("SELECT min(at_s) FROM price_records")
    then_s = first_s + moment_s - model_since_s(world, "prices")
    found = world.query(
        "SELECT usd_per_hour FROM price_records WHERE provider = ? AND region = ? AND zone IN (?, '')"
        " AND instance_type = ? AND at_s <= ? ORDER BY zone = '', at_s DESC LIMIT 1",
        offer.provider,
        offer.region,
        offer.zone or "",
        offer.instance_type,
        then_s,
    )
    return Decimal(found[0][0]) if found else offer.usd_per_hour
