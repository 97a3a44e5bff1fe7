"""The marketplace: what can be rented, from the bundled snapshot or from a file."""

from __future__ import annotations

from emporion.market.money import Rate
from emporion.market.offers.cache import cache_folder
from emporion.market.offers.catalogue import Catalogue, OfferFilter, TypeInfo
from emporion.market.offers.columns import RowNote
from emporion.market.offers.load import load_bundled, load_csv, load_market

__all__ = [
    "Catalogue", "OfferFilter", "Rate", "RowNote", "TypeInfo", "cache_folder", "load_bundled", "load_csv",
    "load_market",
]  # fmt: skip
