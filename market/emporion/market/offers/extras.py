"""What an offers file may say of a machine beyond its shape: software, service level, network, where it stands."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from enum import StrEnum

from emporion.market.errors import did_you_mean
from emporion.market.offer import Fabric, Nvlink
from emporion.market.offers.columns import EXTRAS
from emporion.market.offers.shape import RowError
from emporion.market.units import plain

__all__ = ["package_names", "read_extras"]

_LONGEST = 200
_NUMBER = re.compile(r"[0-9]{1,7}(\.[0-9]{1,6})?")
_DEGREES = re.compile(r"-?[0-9]{1,3}(\.[0-9]{1,9})?")
_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,4}")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(==[0-9A-Za-z][0-9A-Za-z.+_-]*)?")


def package_names(text: str) -> tuple[str, ...]:
    """Return the single names of a list such as `pytorch==2.1.0; nccl`, small letters, sorted; `none`: there are none.

    Raises: RowError: when one is not a name, or a name and a version joined by `==`.
    """
    names = [name for name in re.split(r"[\s;,|]+", text.lower()) if name]
    if names == ["none"]:
        return ()
    for name in names:
        if not _PACKAGE.fullmatch(name):
            raise RowError(f"preinstalled {name[:40]!r} is not a name such as nccl or pytorch==2.1.0")
    return tuple(sorted(set(names)))


def read_extras(cells: Mapping[str, str]) -> tuple[str | None, ...]:
    """Return the columns `EXTRAS` of a row's cells, as they are stored; dates are left to the caller.

    Raises: RowError: when one cannot be read.
    """
    found = tuple(_READ[name](cells[name], name) if cells[name] else None for name in EXTRAS)
    values = dict(zip(EXTRAS, found, strict=True))
    if (values["lat"] is None) != (values["lon"] is None):
        raise RowError("lat and lon are given together, or neither")
    return found


def _text(text: str, name: str) -> str:
    if len(text) > _LONGEST or not text.isprintable():
        raise RowError(f"{name} is too long or holds control characters")
    return text


def _small(text: str, name: str) -> str:
    return _text(text, name).lower()


def _version(text: str, name: str) -> str:
    if not _VERSION.fullmatch(text):
        raise RowError(f"{name} {text[:40]!r} is not a version such as 12.4")
    return text


def _packages(text: str, _name: str) -> str:
    return " ".join(package_names(text))


def _number(text: str, name: str) -> str | None:
    if not _NUMBER.fullmatch(text):
        what = "is negative" if text.startswith("-") else "is not a number"
        raise RowError(f"{name} {text[:40]!r} {what}")
    value = Decimal(text)
    return plain(value) if value else None


def _percent(text: str, name: str) -> str:
    text = text.removesuffix("%").strip()
    if not _NUMBER.fullmatch(text) or Decimal(text) > 100:  # noqa: PLR2004 - per cent
        raise RowError(f"{name} {text[:40]!r} is not a share of 0 to 100 per cent")
    return plain(Decimal(text))


def _degrees(most: int) -> Callable[[str, str], str]:
    def read(text: str, name: str) -> str:
        if not _DEGREES.fullmatch(text) or abs(Decimal(text)) > most:
            raise RowError(f"{name} {text[:40]!r} is not between -{most} and {most} degrees")
        return plain(Decimal(text))

    return read


def _word(words: type[StrEnum]) -> Callable[[str, str], str]:
    def read(text: str, name: str) -> str:
        word = text.lower()
        known = [each.value for each in words]
        if word not in known:
            near = did_you_mean(word, known)
            raise RowError(
                f"{name} {text[:40]!r} is none of {', '.join(known)}" + (f", did you mean {near}" if near else "")
            )
        return word

    return read


_READ: Mapping[str, Callable[[str, str], str | None]] = {
    "spot_source": _text,
    "spot_as_of": _text,
    "cuda": _version,
    "driver": _version,
    "os": _small,
    "preinstalled": _packages,
    "sla_percent": _percent,
    "nvlink": _word(Nvlink),
    "nvlink_gb_s_per_gpu": _number,
    "fabric": _word(Fabric),
    "fabric_gbps": _number,
    "network_gbps": _number,
    "lat": _degrees(90),
    "lon": _degrees(180),
}
