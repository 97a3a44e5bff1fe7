"""The kinds of fields: how a value of a query is read for one, which operators it has, and how it is compared.

A test answers True, False, or None: what the offer says of the field is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase

from emporion.market.errors import UserError, did_you_mean
from emporion.market.gpu_names import resolve_gpu
from emporion.market.gpus import check_label
from emporion.market.money import parse_money
from emporion.market.query.versions import is_version, matches
from emporion.market.units import (
    format_duration,
    parse_bandwidth,
    parse_duration,
    parse_memory,
    parse_number,
    plain,
    shown,
)

__all__ = ["Kind", "Value", "gpu", "label", "number", "packages", "text", "version"]

ORDER = ("<", "<=", ">", ">=", "==", "!=")
EQUAL = ("==", "!=")
Answer = bool | None


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a query, read for its field."""

    text: str
    """As it is written in the normalised query."""
    test: Callable[[str, object], Answer]
    """Takes an operator and what the offer says, which is not None."""


@dataclass(frozen=True, slots=True)
class Kind:
    """How values of a field are read and compared."""

    name: str
    """For the reference: `number`, `version`, `text`, ..."""
    example: str
    operators: tuple[str, ...]
    read: Callable[[str], Value]
    """Raises: UserError: when the text is no value of this kind; `where` is left to the caller."""
    listed: bool = False
    """Whether the field is a list, and `VALUE in FIELD` its only test."""


def _ordered(op: str, left: Decimal, right: Decimal) -> bool:
    order = (left > right) - (left < right)
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0, "==": order == 0, "!=": order != 0}[op]


def number(unit: str, example: str) -> Kind:
    """Return the kind of a number in `unit`: `gb`, `gbps`, `usd`, `s`, `%`, or none; a bare number is in that unit."""

    def read(text: str) -> Value:
        value = _READ[unit](text)
        written = format_duration(int(value)) if unit == "s" else plain(value)
        return Value(written, lambda op, seen: _ordered(op, Decimal(str(seen)), value))

    return Kind("number" if unit != "s" else "duration", example, ORDER, read)


def _bare(text: str) -> Decimal | None:
    return parse_number(text, zero=True) if re.fullmatch(r"[0-9.,]+", text) else None


def _gb(text: str) -> Decimal:
    bare = _bare(text)
    return parse_memory(text, zero=True).gb if bare is None else bare


def _gbps(text: str) -> Decimal:
    bare = _bare(text)
    return parse_bandwidth(text) if bare is None else bare


def _usd(text: str) -> Decimal:
    bare = _bare(text)
    if bare is not None:
        return bare
    if re.fullmatch(r"\$?0+(\.0+)?", text):
        return Decimal(0)
    money = parse_money(text)
    if money.per_gpu or money.period not in (None, "hour"):
        raise UserError("E-MONEY", f"{shown(text)} is not per hour", fix="write the amount per hour, as $2.50")
    return money.usd


def _seconds(text: str) -> Decimal:
    return Decimal(parse_duration(text))


def _percent(text: str) -> Decimal:
    return parse_number(text.removesuffix("%"), zero=True)


def _plain_number(text: str) -> Decimal:
    return parse_number(text, zero=True)


_READ: Mapping[str, Callable[[str], Decimal]] = {
    "": _plain_number, "gb": _gb, "gbps": _gbps, "usd": _usd, "s": _seconds, "%": _percent,
}  # fmt: skip


def text(example: str, allowed: tuple[str, ...] = ()) -> Kind:
    """Return the kind of a text; `*` and `?` in a value stand for any letters; `allowed`: all that there is."""

    def read(written: str) -> Value:
        word = written.strip().lower()
        if not word:
            raise UserError("E-VALUE", "an empty text is nothing to look for", fix=f"write a value, as {example}")
        pattern = bool(re.search(r"[*?]", word))
        if allowed and word.replace("-", "_") in allowed:
            word = word.replace("-", "_")
        if allowed and not pattern and word not in allowed:
            near = did_you_mean(word, allowed)
            fix = f"did you mean {near}" if near else f"write {', '.join(allowed)}"
            raise UserError("E-VALUE", f"{shown(written)} is none of {', '.join(allowed)}", fix=fix)

        def test(op: str, seen: object) -> Answer:
            names = seen if isinstance(seen, tuple) else (seen,)
            same = any(_like(str(name).lower(), word, pattern=pattern) for name in names)
            return same == (op == "==")

        return Value(word, test)

    return Kind("text", example, EQUAL, read)


def _like(seen: str, word: str, *, pattern: bool) -> bool:
    return fnmatchcase(seen, word.replace("[", "[[]")) if pattern else seen == word


def version(example: str) -> Kind:
    """Return the kind of a version."""

    def read(written: str) -> Value:
        word = written.strip().lower()
        if not is_version(word.removesuffix(".*")):
            raise UserError("E-VALUE", f"{shown(written)} is not a version", fix=f"write a version, as {example}")
        return Value(word, lambda op, seen: matches(str(seen), op, word))

    return Kind("version", example, ORDER, read)


def gpu() -> Kind:
    """Return the kind of a GPU's model, written as for `--gpus`; a family covers its variants."""

    def read(written: str) -> Value:
        name = resolve_gpu(written)
        if not name.ids or name.count is not None:
            raise UserError("E-VALUE", f"{shown(written)} is not one model of GPU", fix="write a model, as a100-80gb")
        ids = frozenset(name.ids)
        return Value(written.strip().lower(), lambda op, seen: (seen in ids) == (op == "=="))

    return Kind("gpu", "a100", EQUAL, read)


def label() -> Kind:
    """Return the kind of a capability label."""

    def read(written: str) -> Value:
        word = check_label(written)
        return Value(word, lambda op, seen: (seen == word) == (op == "=="))

    return Kind("label", "a100-80gb", EQUAL, read)


_REQUIREMENT = re.compile(r"([a-z0-9][a-z0-9._-]*?)\s*(?:(==|!=|<=|>=|<|>)\s*([0-9a-z][0-9a-z.+_*-]*))?", re.IGNORECASE)


def packages() -> Kind:
    """Return the kind of a list of installed software; a value is a name, or one with a version: `pytorch>=2.1`."""

    def read(written: str) -> Value:
        match = _REQUIREMENT.fullmatch(written.strip())
        if match is None or (match[3] and not is_version(match[3].removesuffix(".*"))):
            raise UserError(
                "E-VALUE", f"{shown(written)} is not software", fix='write a name, as "nccl" or "pytorch==2.1.0"'
            )
        name, op, wanted = _same_name(match[1]), match[2], match[3]
        if wanted and wanted.endswith(".*") and op not in EQUAL:
            raise UserError("E-VALUE", f"{shown(written)} orders versions by {wanted}", fix="write == or a version")

        def test(_in: str, seen: object) -> Answer:
            answers: list[Answer] = []
            for entry in seen if isinstance(seen, tuple) else ():
                installed, _, has = str(entry).partition("==")
                if _same_name(installed) == name:
                    answers.append(True if op is None else matches(has, op, wanted) if has else None)
            return True if True in answers else None if None in answers else False

        return Value(written.strip().lower(), test)

    return Kind("list", "pytorch==2.1.0", (), read, listed=True)


def _same_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.lower())
