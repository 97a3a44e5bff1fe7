"""What a cluster of each provider consists of beside its GPU machines: data/chain.csv, one row per cost line.

A row says to which part it belongs, when it is there (`nat`, `no_nat`, `slurm`, `lustre`, always), which item of the
price book it is, and what its quantity goes by:

- `cluster`: the quantity once; `node`: per node; `machine`: per node and controller, at most `quantity_max` in all
- `checkpoint`: two copies of the training state; `lustre`: the file system's size; `none`: nothing is charged

A row without a quantity is unknown; `upper` is then the quantity that bounds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from emporion.market.tables import rows

__all__ = ["ChainRow", "chain"]


@dataclass(frozen=True, slots=True)
class ChainRow:
    """One thing that a provider charges for."""

    part: str
    line: str
    when: str
    item: str
    variant: str
    basis: str
    quantity: Decimal | None
    quantity_max: Decimal | None
    upper: Decimal | None
    note: str


@cache
def chain(provider: str) -> tuple[ChainRow, ...]:
    """Return the rows of a provider; none: its chain is unknown."""

    def number(text: str) -> Decimal | None:
        return Decimal(text) if text else None

    return tuple(
        ChainRow(
            row["part"], row["line"], row["when"], row["item"], row["variant"], row["basis"], number(row["quantity"]),
            number(row["quantity_max"]), number(row["upper"]), row["note"],
        )
        for row in rows("chain.csv")
        if row["provider"] == provider
    )  # fmt: skip
