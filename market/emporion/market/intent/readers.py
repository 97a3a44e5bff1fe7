"""Readers of an intent's values: words, flags, names, numbers and amounts that more than a unit decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from emporion.market import query
from emporion.market.errors import UserError, did_you_mean
from emporion.market.money import Money, Rate, parse_money
from emporion.market.units import parse_count, parse_duration, parse_memory, shown

__all__ = [
    "DATA_IN", "GLOB", "ID", "MIG", "NAME", "PROVIDER", "STORE", "URL", "WORD", "budget", "choice", "flag", "matching",
    "query_text", "seconds_or_auto", "size", "spot_price", "whole",
]  # fmt: skip


def choice(*words: str, also: Mapping[str, str] | None = None) -> Callable[[str], str]:
    """Return a reader of one of `words`; `also` are further spellings of them."""

    def read(text: str) -> str:
        word = text.strip().lower().replace("-", "_")
        word = (also or {}).get(word, word)
        if word in words:
            return word
        near = did_you_mean(word, words)
        allowed = ", ".join(words)
        raise UserError(
            "E-VALUE", f"{shown(text)} is none of {allowed}", fix=f"did you mean {near}" if near else f"write {allowed}"
        )

    return read


_YES = frozenset({"true", "yes", "on"})
_NO = frozenset({"false", "no", "off"})


def flag(text: str) -> bool:
    """Return whether a word says yes.

    Raises: UserError E-VALUE: when it says neither yes nor no.
    """
    word = text.strip().lower()
    if word in _YES or word in _NO:
        return word in _YES
    raise UserError("E-VALUE", f"{shown(text)} is neither true nor false", fix="write true or false")


def matching(
    pattern: str, what: str, example: str, *, limit: int = 255, any_case: bool = False
) -> Callable[[str], str]:
    """Return a reader of text that matches `pattern` as a whole; `any_case`: capitals are read as small letters."""
    compiled = re.compile(pattern)

    def read(text: str) -> str:
        word = text.strip().lower() if any_case else text.strip()
        if len(word) > limit:
            raise UserError("E-VALUE", f"{shown(text)} is longer than {limit} characters", fix=f"write {example}")
        if compiled.fullmatch(word) is None:
            raise UserError("E-VALUE", f"{shown(text)} is not {what}", fix=f"write {example}")
        return word

    return read


def whole(text: str) -> int:
    """Return one whole number, not a range.

    Raises: UserError E-COUNT and others: as `parse_count`.
    """
    count = parse_count(text)
    if count.low != count.high:
        raise UserError("E-COUNT", f"{shown(text)} is a range, one number is expected", fix=f"write {count.low}")
    return count.low


def budget(key: str, period: str | None) -> Callable[[str, Mapping[str, Rate]], Money]:
    """Return a reader of an amount per `period` (None: for the whole run); the key itself says the period."""
    keys = {"hour": "max_hourly", "day": "max_daily", "month": "max_monthly"}

    def read(text: str, rates: Mapping[str, Rate]) -> Money:
        money = parse_money(text, rates)
        if money.period is not None and money.period != period:
            basis = f"per {period}" if period else "for the whole run"
            raise UserError(
                "E-CONTRADICTION",
                f"{shown(text)} is per {money.period}, {key} is {basis}",
                fix=f"write {keys[money.period]}, or the amount {basis}",
            )
        if money.per_gpu and key == "spot_max_price":
            raise UserError(
                "E-MONEY", f"{shown(text)} is per GPU, {key} is per machine", fix="write the machine's price"
            )
        return money

    return read


def spot_price(text: str, rates: Mapping[str, Rate]) -> Money | None:
    """Return the most that spot may cost; -1 is how the clouds write "up to the on-demand price"."""
    if text.strip() in {"-1", "$-1", "-$1"}:
        return None
    try:
        return budget("spot_max_price", "hour")(text, rates)
    except UserError as error:
        if error.code == "E-RANGE":
            error.fix = "write an amount above 0, as $12/hr, or -1 for the on-demand price"
        raise


def seconds_or_auto(text: str) -> int | None:
    """Return a duration in seconds, None for `auto`."""
    return None if text.strip().lower() == "auto" else parse_duration(text)


def size(text: str) -> object:
    """Return an amount of data, which may be 0."""
    return parse_memory(text, zero=True)


def query_text(text: str) -> str:
    """Return a query over offers, normalised.

    Raises: UserError E-WHERE: when it cannot be read.
    """
    return query.parse_query(text).text


URL = matching(
    r"(?:s3|gs|az|abfss|https|hf|file|nfs)://[^\s/][^\s]*", "an address of a store", "s3://bucket/prefix", limit=1024
)
STORE = matching(
    r"(?:s3|gs|az|nfs)://[a-z0-9][a-z0-9._-]{1,61}[a-z0-9](?:/[^\s]*)?", "a bucket", "s3://bucket/prefix", limit=1024
)
PROVIDER = matching(r"[a-z][a-z0-9-]{0,39}", "a provider's name", "aws", any_case=True)
GLOB = matching(
    r"[a-z0-9*?\[\]-][a-z0-9*?\[\]._-]{0,62}", "a region or a glob over regions", "us-east-1 or us-*", any_case=True
)
WORD = matching(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,62}", "a name of letters, digits, . _ + -", "pytorch")
NAME = matching(
    r"[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?",
    "a name of a-z, 0-9 and - that begins with a letter, 40 at most",
    "my-cluster",
)
MIG = matching(r"[1-9]g\.[0-9]{1,3}gb(?:\+me)?", "a MIG profile", "1g.10gb")
ID = matching(r"[A-Za-z0-9][A-Za-z0-9:/._-]{0,254}", "an id of the provider", "ami-0123456789abcdef0")
DATA_IN = matching(
    r"(?:s3|gs|az|abfss|https|hf|file|nfs|stage)://[^\s/][^\s]*",
    "an address of a store or of another stage",
    "stage://tokenise",
    limit=1024,
)
