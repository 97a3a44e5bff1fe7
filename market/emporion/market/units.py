"""Strict readers for what people write with a unit: memory, bandwidth, latency, durations, counts.

Every reader takes text, returns an exact value (`int` or `Decimal`, never a float) and raises `UserError` when the text
cannot be read for sure: a decimal comma, a missing or unknown unit, `nan`, a negative number. `where` is left to the
caller, who knows the key and the line. `format_*` writes what the reader of the same name reads back to the same value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal, localcontext

from emporion.market.errors import UserError

__all__ = [
    "MAX_COUNT",
    "Count",
    "Memory",
    "format_bandwidth",
    "format_carbon",
    "format_count",
    "format_duration",
    "format_latency",
    "format_memory",
    "parse_bandwidth",
    "parse_carbon",
    "parse_count",
    "parse_duration",
    "parse_hours",
    "parse_latency",
    "parse_memory",
    "parse_number",
    "parse_parameters",
    "plain",
    "shown",
]

MAX_COUNT = 100_000
"""The largest number of GPUs or nodes that can be asked for: above any cluster on sale, small enough to plan with."""

_EXACT = Context(prec=160)
_MAX_DIGITS = 64  # any whole number of bytes in GiB, 30 decimals, reads back
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_QUANTITY = re.compile(r"([^\sa-zA-Zµμ%/]*)\s*(.*)", re.DOTALL)

_DECIMAL_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "pb": 10**15}
_BINARY_BYTES = {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40, "pib": 1 << 50}
_BINARY_BYTES |= {unit[:2]: size for unit, size in list(_BINARY_BYTES.items())}  # Kubernetes: Ki, Mi, Gi, Ti, Pi

_BITS: Mapping[str, str] = {"k": "0.000001", "m": "0.001", "g": "1", "t": "1000"}
"""Gbit per unit of each prefix."""
_BINARY_PREFIX: Mapping[str, int] = {"ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30, "ti": 1 << 40}

_LATENCY_MS: Mapping[str, str] = {"ns": "0.000001", "us": "0.001", "µs": "0.001", "μs": "0.001", "ms": "1", "s": "1000"}

_SECONDS: Mapping[str, int] = {
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "week", "weeks"), 604_800),
}
_MAX_DURATION_S = 10 * 366 * 86_400

_PARAMETERS: Mapping[str, int] = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}


@dataclass(frozen=True, slots=True)
class Memory:
    """An amount of memory: bytes, and whether the unit was binary (`GiB`), which is compared strictly."""

    bytes: int
    binary: bool

    @property
    def gb(self) -> Decimal:
        """In units of 10^9 bytes."""
        return _EXACT.divide(Decimal(self.bytes), Decimal(10**9))

    @property
    def gib(self) -> Decimal:
        """In units of 2^30 bytes."""
        return _EXACT.divide(Decimal(self.bytes), Decimal(1 << 30))


@dataclass(frozen=True, slots=True)
class Count:
    """A whole number, or a range of them (`4..8`), both ends included."""

    low: int
    high: int


def shown(text: str, limit: int = 60) -> str:
    """Return `text` as an error shows it: quoted, control characters escaped, cut after `limit` characters."""
    return repr(text if len(text) <= limit else text[:limit] + "…")


def plain(value: Decimal) -> str:
    """Return a number without exponent and without trailing zeros."""
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_number(text: str, *, zero: bool = False) -> Decimal:
    """Return a plain decimal number above 0 (`zero`: or 0), as `4`, `2.80`.

    Raises: UserError E-NUMBER: when it is not one, or cannot be read for sure; E-RANGE: when it is too small or large.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text) is None:
        raise _not_a_number(text)
    if len(text) > _MAX_DIGITS:
        raise UserError("E-RANGE", f"{shown(text)} has more than {_MAX_DIGITS} digits", fix="write a smaller number")
    _one_base(text)
    value = Decimal(text)
    if value == 0 and not zero:
        raise UserError("E-RANGE", f"{shown(text)} is zero", fix="write a number above 0")
    return value


def _one_base(text: str) -> None:
    """Refuse a number with a zero before it: YAML 1.1, C and shells read `010` as 8."""
    if re.match(r"0[0-9]", text):
        plainly = text.lstrip("0") if text.strip("0.") else "0"
        raise UserError(
            "E-NUMBER",
            f"{shown(text)} cannot be read for sure: with a zero before it a number may be octal",
            fix=f"write {f'0{plainly}' if plainly.startswith('.') else plainly}",
        )


def _not_a_number(text: str) -> UserError:
    if re.fullmatch(r"-[0-9.,]+", text):
        return UserError("E-RANGE", f"{shown(text)} is negative", fix="write a number above 0")
    if "," in text and re.fullmatch(r"[0-9.,]+", text):
        return UserError(
            "E-NUMBER",
            f"{shown(text)} cannot be read for sure: the comma may separate decimals or thousands",
            fix=f"write {text.replace(',', '.', 1)!r} or {text.replace(',', '')!r}",
        )
    if not text:
        return UserError("E-NUMBER", "a number is missing", fix="write a number such as 4 or 2.80")
    return UserError("E-NUMBER", f"{shown(text)} is not a plain number", fix="write a number such as 4 or 2.80")


def _quantity(text: str, *, what: str, example: str, zero: bool = False) -> tuple[Decimal, str]:
    """Split `80 GiB` into its number and its unit; the unit must be there."""
    match = _QUANTITY.fullmatch(text.strip())
    number, unit = (match[1], match[2].strip()) if match else ("", text)
    if number == "" and unit:
        raise UserError("E-NUMBER", f"{shown(text)} is not a {what}", fix=f"write a number with a unit, as {example}")
    value = parse_number(number, zero=zero)
    if not unit:
        raise UserError("E-UNIT", f"{shown(text)} has no unit", fix=f"write {what} with its unit, as {example}")
    return value, unit


def parse_memory(text: str, *, zero: bool = False) -> Memory:
    """Return an amount of memory: `gb` and its like are decimal, `gib` or `Gi` binary; parts of a byte round up.

    Raises: UserError E-NUMBER, E-RANGE: as `parse_number`; E-UNIT: when the unit is missing or unknown.
    """
    value, unit = _quantity(text, what="memory", example="40gb or 40gib", zero=zero)
    size = _DECIMAL_BYTES.get(unit.lower())
    binary = size is None
    if size is None:
        size = _BINARY_BYTES.get(unit.lower())
    if size is None:
        letter = unit[:1].lower()
        pair = (f"{letter}b", f"{letter}ib") if letter in "kmgtp" and letter else ("gb", "gib")
        raise UserError(
            "E-UNIT",
            f"{shown(unit)} is not a unit of memory",
            fix=f"write {plain(value)}{pair[0]} (powers of 1000) or {plain(value)}{pair[1]} (powers of 1024)",
        )
    exact = _EXACT.multiply(value, Decimal(size))
    return Memory(int(exact.to_integral_value(ROUND_CEILING)), binary)


def format_memory(memory: Memory) -> str:
    """Return memory in the largest unit of its kind that keeps it exact, as `40gb`, `24gib`."""
    units = _BINARY_BYTES if memory.binary else _DECIMAL_BYTES
    for unit, size in sorted(units.items(), key=lambda item: (-item[1], -len(item[0]))):
        if memory.bytes >= size and memory.bytes % size == 0:
            return f"{memory.bytes // size}{unit}"
    if not memory.binary:
        return f"{memory.bytes}b"
    with localcontext(_EXACT):
        return f"{plain(Decimal(memory.bytes) / 1024)}kib"


def parse_bandwidth(text: str) -> Decimal:
    """Return a bandwidth in Gbit/s; `gbps`, `Gb/s`, `Gbit/s` are bits, `GB/s`, `GBps`, `GiB/s` bytes (a capital B).

    Raises: UserError E-NUMBER, E-RANGE: as `parse_number`; E-UNIT: when the unit is missing, unknown or may be either.
    """
    value, unit = _quantity(text, what="bandwidth", example="25gbps or 25GB/s")
    match = re.fullmatch(r"([kmgtKMGT])(i?)(bps|b/s|Bps|B/s|bits?/s|BPS|B/S)", unit)
    if match is None or (match[3] == "b/s" and match[1].islower()) or match[3] in ("BPS", "B/S"):
        raise UserError(
            "E-UNIT",
            f"{shown(unit)} is not a bandwidth that can be read for sure",
            fix=f"write {plain(value)}gbps for bits or {plain(value)}GB/s for bytes",
        )
    prefix, binary, rest = match[1].lower(), match[2], match[3]
    with localcontext(_EXACT):
        scale = Decimal(_BINARY_PREFIX[prefix + "i"]) / 10**9 if binary else Decimal(_BITS[prefix])
        return value * scale * (8 if rest.startswith("B") else 1)


def format_bandwidth(gbps: Decimal) -> str:
    """Return a bandwidth as `25gbps`."""
    return f"{plain(gbps)}gbps"


def parse_latency(text: str) -> Decimal:
    """Return a latency in milliseconds, as `5ms`, `15us`.

    Raises: UserError E-NUMBER, E-RANGE: as `parse_number`; E-UNIT: when the unit is missing or unknown.
    """
    value, unit = _quantity(text, what="latency", example="5ms or 15us")
    scale = _LATENCY_MS.get(unit.lower())
    if scale is None:
        raise UserError("E-UNIT", f"{shown(unit)} is not a unit of latency", fix="write ns, us, ms or s, as 5ms")
    return _EXACT.multiply(value, Decimal(scale))


def format_latency(ms: Decimal) -> str:
    """Return a latency as `5ms`."""
    return f"{plain(ms)}ms"


def parse_duration(text: str) -> int:
    """Return a duration in whole seconds, as `30s`, `10m`, `24h`, `7d`, `1h30m`.

    Raises: UserError E-NUMBER, E-RANGE: as `parse_number`, a part of a second, or above ten years; E-UNIT: when a unit
    is missing or unknown.
    """
    parts = re.findall(r"([^\sa-zA-Z]+)\s*([a-zA-Z]*)\s*", text)
    rebuilt = re.sub(r"\s", "", text)
    if not parts or "".join(number + unit for number, unit in parts) != rebuilt:
        raise UserError("E-NUMBER", f"{shown(text)} is not a duration", fix="write a number with a unit, as 10m or 24h")
    total = Decimal(0)
    for number, unit in parts:
        scale = _SECONDS.get(unit.lower())
        value = parse_number(number)
        if scale is None:
            said = "has no unit" if not unit else f"has the unknown unit {shown(unit)}"
            raise UserError("E-UNIT", f"{shown(text)} {said}", fix="write s, m (minutes), h, d or w, as 10m or 24h")
        total = _EXACT.add(total, _EXACT.multiply(value, Decimal(scale)))
    if total != total.to_integral_value() or not 1 <= total <= _MAX_DURATION_S:
        raise UserError("E-RANGE", f"{shown(text)} is not between one second and ten years", fix="write whole seconds")
    return int(total)


def format_duration(seconds: int) -> str:
    """Return a duration in the largest unit that keeps it whole, as `24h`."""
    for unit, scale in (("d", 86_400), ("h", 3600), ("m", 60)):
        if seconds % scale == 0:
            return f"{seconds // scale}{unit}"
    return f"{seconds}s"


def parse_hours(text: str) -> Decimal:
    """Return a number of hours: a bare number is hours, else a duration (`90m`), exact or to 10^-6.

    Raises: UserError: as `parse_number` and `parse_duration`.
    """
    if re.search(r"[a-zA-Z]", text) is None:
        return parse_number(text)
    with localcontext(_EXACT):
        return (Decimal(parse_duration(text)) / 3600).quantize(Decimal("0.000001")).normalize()


def parse_count(text: str) -> Count:
    """Return a whole number from 1 to `MAX_COUNT`, or a range `4..8`.

    Raises: UserError E-COUNT: when it is neither; E-NUMBER: when it may be octal; E-RANGE: when it is 0, negative or
    too large, or upside down.
    """
    text = text.strip()
    match = re.fullmatch(r"([0-9]+)(?:\s*\.\.\s*([0-9]+))?", text)
    if match is None:
        if re.fullmatch(r"-[0-9.]+", text):
            raise UserError("E-RANGE", f"{shown(text)} is negative", fix="write a whole number above 0")
        raise UserError(
            "E-COUNT", f"{shown(text)} is not a whole number", fix="write a number as 4, or a range as 4..8"
        )
    ends = [match[1], match[2] or match[1]]
    for number in ends:
        _one_base(number)
    low, high = (int(number[:_MAX_DIGITS]) for number in ends)
    if low == 0:
        raise UserError("E-RANGE", f"{shown(text)} is zero", fix="write a whole number above 0")
    if high < low:
        raise UserError("E-RANGE", f"the range {shown(text)} is upside down", fix=f"write {high}..{low}")
    if high > MAX_COUNT:
        raise UserError("E-RANGE", f"{shown(text)} is above {MAX_COUNT}", fix=f"write at most {MAX_COUNT}")
    return Count(low, high)


def format_count(count: Count) -> str:
    """Return `4`, or `4..8`."""
    return str(count.low) if count.low == count.high else f"{count.low}..{count.high}"


def parse_parameters(text: str) -> int:
    """Return a number of model parameters, as `13b`, `350m`, `1.5t`.

    Raises: UserError E-NUMBER, E-RANGE: as `parse_number`; E-UNIT: when the letter is unknown.
    """
    match = _QUANTITY.fullmatch(text.strip())
    number, unit = (match[1], match[2].strip().lower()) if match else (text, "")
    if number == "" and unit:
        raise UserError(
            "E-NUMBER", f"{shown(text)} is not a number of parameters", fix="write a number, as 13b or 350m"
        )
    value = parse_number(number)
    if unit not in _PARAMETERS:
        raise UserError("E-UNIT", f"{shown(text)} ends in an unknown letter", fix="write k, m, b or t, as 13b or 350m")
    exact = _EXACT.multiply(value, Decimal(_PARAMETERS[unit]))
    if exact != exact.to_integral_value() or exact > 10**18:
        raise UserError("E-RANGE", f"{shown(text)} is not a whole number up to 10^18", fix="write it as 13b or 350m")
    return int(exact)


def parse_carbon(text: str) -> Decimal:
    """Return an emission in gCO2e per hour, as `500g/h`, `1.2kg/h`.

    Raises: UserError E-NUMBER, E-RANGE: as `parse_number`; E-UNIT: when the unit is missing or unknown.
    """
    value, unit = _quantity(text, what="emission", example="500g/h")
    match = re.fullmatch(r"(k?g)(?:co2e?q?)?/(?:h|hr|hour)", unit.lower())
    if match is None:
        raise UserError("E-UNIT", f"{shown(unit)} is not a unit of emission", fix="write g/h or kg/h, as 500g/h")
    return _EXACT.multiply(value, Decimal(1000 if match[1] == "kg" else 1))


def format_carbon(g_per_hour: Decimal) -> str:
    """Return an emission as `500g/h`."""
    return f"{plain(g_per_hour)}g/h"
