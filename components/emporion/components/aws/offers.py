"""AWS's prices, asked with the account's own login: the price list, spot prices, and what each region has.

Only `live_offers` loads boto3, and only when a refresh asks.
"""

from __future__ import annotations

from collections.abc import Iterator

from emporion.components.aws.price_list import SOURCE
from emporion.components.price_rows import odd
from emporion.market.offers.adapter import Adapter, Ask, Row

__all__ = ["ADAPTER"]


def _fetch(ask: Ask) -> Iterator[Row]:
    try:
        from emporion.components.aws.api.session import Clients  # noqa: PLC0415 - boto3 costs 0.3 s of CPU
        from emporion.components.aws.live_offers import fetch_with  # noqa: PLC0415
    except ModuleNotFoundError as error:
        if error.name not in {"boto3", "botocore"}:
            raise
        raise odd(SOURCE, "cannot be asked: boto3 is not installed", "install emporion[aws]") from None
    return fetch_with(ask, Clients)


ADAPTER = Adapter(provider="aws", extra="aws", source=SOURCE, needs=(), fetch=_fetch)
"""The adapter, as the entry point names it."""
