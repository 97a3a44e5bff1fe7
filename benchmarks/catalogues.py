"""Large catalogues made from the bundled one, as `--offers` files. Equal seeds give equal bytes."""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path

COLUMNS = (
    "provider", "region", "zone", "instance_type", "gpu", "gpu_count", "gpu_vram_gb", "vcpus", "ram_gb",
    "on_demand_usd_hr", "spot_usd_hr", "source", "as_of",
)  # fmt: skip
DATA = Path(__file__).resolve().parents[1] / "market" / "emporion" / "market" / "data"


def padded(path: Path, rows: int, seed: int = 7) -> None:
    """Write the bundled GPU offers, filled up with CPU machines."""
    dice = random.Random(seed)  # noqa: S311 - a benchmark's data
    offers = read("offers.csv")
    machines = read("cpu_offers.csv")
    filling = [_moved(dice.choice(machines), number, dice) for number in range(rows - len(offers))]
    write(path, offers + filling)


def matching(path: Path, rows: int, share: float = 0.4, seed: int = 7) -> None:
    """Write offers of which at least `share` are 8 x a100-80gb machines, the rest drawn from the bundled ones."""
    dice = random.Random(seed)  # noqa: S311 - a benchmark's data
    offers = read("offers.csv")
    wanted = [row for row in offers if row["gpu"] == "a100-80gb" and row["gpu_count"] == "8"]
    number_wanted = int(rows * share)
    drawn = [dice.choice(wanted) for _ in range(number_wanted)]
    drawn += [dice.choice(offers) for _ in range(rows - number_wanted)]
    write(path, [_moved(row, number, dice) for number, row in enumerate(drawn)])


def _moved(row: dict[str, str], number: int, dice: random.Random) -> dict[str, str]:
    """Return an offer at a price of its own and in a place of its own, so that no two rows are the same offer."""
    factor = Decimal(dice.randint(90, 110)) / 100
    prices = {
        column: str(round(Decimal(row[column]) * factor, 4))
        for column in ("on_demand_usd_hr", "spot_usd_hr")
        if row[column]
    }
    return {**row, **prices, **_place(row, number)}


def _place(row: dict[str, str], number: int) -> dict[str, str]:
    """Return a place that no other row has, spelled as ids of the provider's zones are."""
    match row["provider"]:
        case "aws":
            letters = "".join(chr(97 + number // 26**power % 26) for power in range(5))
            return {"zone": f"{letters}1-az1"}
        case "gcp":
            return {"zone": f"{row['region'].rstrip('0123456789')}{number}-a"}
        case "azure":  # its zones are 1 to 9: the machine's name tells the rows apart
            return {"zone": "", "instance_type": f"{row['instance_type']}-{number}"}
        case _:
            return {"zone": f"{row['zone'] or row['region'] or 'site'}-{number}"}


def read(name: str) -> list[dict[str, str]]:
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: Iterable[dict[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
