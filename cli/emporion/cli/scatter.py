"""A front as a picture in a terminal: cost across, performance up, lost time by marker. Pure: points in, lines out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from emporion.cli.layout import WIDE

__all__ = ["LOG_FROM", "Dot", "Markers", "dots", "log_marks", "scatter"]

_WIDEST, _NARROWEST, _ROWS = 96, 40, 14
LOG_FROM = 6.0
"""Costs that lie further apart than this factor are drawn on a logarithmic axis."""
_CLASSES = 3
_GAP = 9
"""Columns between the marks of an axis, at least."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One placement."""

    usd_per_hour: float
    images_per_second: float
    loss_s: int
    rank: int
    solution: bool
    """False: it stands beside the solutions because it cannot be stood up."""
    recommended: bool = False


@dataclass(frozen=True, slots=True)
class Markers:
    """The characters that stand for placements, by lost time from least to most."""

    best: str
    solutions: str
    others: str
    axis: str
    """Corner, vertical, horizontal, tick below."""

    @staticmethod
    def of(encoding: str | None) -> Markers:
        """Return those that a stream with this encoding can print."""
        rich = Markers("★", "●◐○", "◆◈◇", "└│─┬")
        try:
            f"{rich.best}{rich.solutions}{rich.others}{rich.axis}".encode(encoding or "ascii")
        except (UnicodeEncodeError, LookupError):
            return Markers("*", "ABC", "abc", "+|-+")
        return rich


def dots(plan: Mapping[str, Any]) -> list[Dot]:
    """Return every placement of a plan as a dot of its picture."""
    return [
        Dot(
            float(one["objectives"]["usd_per_hour"]),
            float(one["objectives"]["throughput"]),
            int(one["objectives"]["loss_s_per_day"]),
            one["rank"],
            solution=solution,
            recommended=bool(one["recommended"]),
        )
        for solution, some in ((True, plan["solutions"]), (False, plan["not_deployable"]))
        for one in some
    ]


def scatter(
    dots: Sequence[Dot],
    *,
    width: int,
    markers: Markers,
    paint: Callable[[str, str], str] = lambda text, _style: text,
) -> str:
    """Return the picture of placements (at least one), at most `width` columns wide.

    `paint` puts a text in a style. Of dots that fall together the recommended one is seen, else a solution.
    """
    columns = max(min(width if width < WIDE else 80, _WIDEST), _NARROWEST)
    up = _Axis.of([dot.images_per_second for dot in dots], log=False)
    marks = up.marks(_ROWS // 3)
    labels = [_short(mark) for mark in marks]
    left = max(map(len, labels))
    across = _Axis.of([dot.usd_per_hour for dot in dots], log=True)
    inner = columns - left - 4
    lost = _Lost.of([dot.loss_s for dot in dots])
    cells, hidden = _cells(dots, across, up, inner, lost, markers, paint)
    named = {up.place(mark, _ROWS): label for mark, label in zip(marks, labels, strict=True)}
    lines = ["images/s"]
    for row in range(_ROWS - 1, -1, -1):
        body = "".join(cells.get((row, column), " ") for column in range(inner + 2)).rstrip()
        lines.append(f"{named.get(row, ''):>{left}} {markers.axis[1]}{body}".rstrip())
    lines += _foot(across, inner, left, markers)
    return "\n".join([*lines, *_legend(dots, across, lost, hidden, markers, columns)])


def log_marks(low: float, high: float) -> list[float]:
    """Return round values between two costs, evenly far apart by factor."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [
        value for power in powers for digit in (1, 1.5, 2, 3, 5, 7) if low <= (value := digit * 10.0**power) <= high
    ]


@dataclass(frozen=True, slots=True)
class _Axis:
    low: float
    high: float
    log: bool

    @staticmethod
    def of(values: Sequence[float], *, log: bool) -> _Axis:
        """Return an axis that holds all values, with room around one value alone."""
        low, high = min(values), max(values)
        if low == high:
            pad = abs(low) * 0.1 or 1.0
            return _Axis(max(low - pad, 0.0), high + pad, log=False)
        if log and low > 0 and high / low > LOG_FROM:
            return _Axis(low, high, log=True)
        return _Axis(low, high, log=False)

    def place(self, value: float, cells: int) -> int:
        """Return the cell of a value."""
        low, high, value = (math.log(each) for each in (self.low, self.high, value)) if self.log else (
            self.low, self.high, value,
        )  # fmt: skip
        return round((value - low) / (high - low) * (cells - 1))

    def marks(self, most: int) -> list[float]:
        """Return round values within the axis, at most about `most`."""
        if self.log:
            return log_marks(self.low, self.high) or [self.low]
        rough = (self.high - self.low) / max(most, 1)
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)] or [self.low]


@dataclass(frozen=True, slots=True)
class _Lost:
    """Classes of lost time, each as wide by factor as the others."""

    bounds: tuple[float, ...]
    seen: tuple[tuple[int, int] | None, ...]
    """The least and the most of each class; None: it is empty."""

    @staticmethod
    def of(losses: Sequence[int]) -> _Lost:
        low, high = min(losses) + 1, max(losses) + 1
        factor = (high / low) ** (1 / _CLASSES)
        bounds = tuple(low * factor**number for number in range(1, _CLASSES)) if high > low else ()
        empty = _Lost(bounds, ())
        groups = [[loss for loss in losses if empty.number(loss) == number] for number in range(_CLASSES)]
        return _Lost(bounds, tuple((min(group), max(group)) if group else None for group in groups))

    def number(self, loss_s: int) -> int:
        return sum(loss_s + 1 > bound for bound in self.bounds)


def _cells(
    dots: Sequence[Dot],
    across: _Axis,
    up: _Axis,
    inner: int,
    lost: _Lost,
    markers: Markers,
    paint: Callable[[str, str], str],
) -> tuple[dict[tuple[int, int], str], int]:
    """Return the characters by (row from below, column), with how many dots are behind others."""
    cells: dict[tuple[int, int], str] = {}
    taken: list[tuple[Dot, int, int]] = []
    order = sorted(dots, key=lambda dot: (not dot.recommended, not dot.solution, dot.usd_per_hour, dot.rank))
    for dot in order:
        row, column = up.place(dot.images_per_second, _ROWS), across.place(dot.usd_per_hour, inner)
        if (row, column) in cells:
            continue
        family = markers.solutions if dot.solution else markers.others
        text = markers.best if dot.recommended else family[lost.number(dot.loss_s)]
        style = "green" if dot.recommended else "cyan" if dot.solution else "dim"
        cells[row, column] = paint(text, style)
        taken.append((dot, row, column))
    for dot, row, column in taken:
        label = str(dot.rank)
        spots = [(row, column + 1 + number) for number in range(len(label))]
        if dot.solution and not any(spot in cells for spot in spots):
            cells.update(zip(spots, label, strict=True))
    return cells, len(dots) - len(taken)


def _foot(across: _Axis, inner: int, left: int, markers: Markers) -> Iterator[str]:
    rule, names = [markers.axis[2]] * inner, [" "] * (inner + _GAP)
    free = -1
    for mark in across.marks(inner // (2 * _GAP)):
        column, label = across.place(mark, inner), f"${_short(mark)}"
        start = max(column - len(label) // 2, 0)
        if start >= free and start + len(label) <= inner + 2:
            rule[column] = markers.axis[3]
            names[start : start + len(label)] = label
            free = start + len(label) + 1
    yield f"{' ' * left} {markers.axis[0]}{''.join(rule)}"
    yield f"{' ' * left}  {''.join(names)}".rstrip()


def _legend(
    dots: Sequence[Dot], across: _Axis, lost: _Lost, hidden: int, markers: Markers, columns: int
) -> Iterator[str]:
    parts = [f"across $/hr{' (log)' if across.log else ''}, up images/s"]
    if any(dot.recommended for dot in dots):
        parts.append(f"{markers.best} recommended")
    if any(dot.solution for dot in dots):
        parts.append("number = rank")
    if any(not dot.solution for dot in dots):
        parts.append(f"{' '.join(markers.others)} cannot be stood up")
    if hidden:
        parts.append(f"{hidden} behind others")
    classes = [
        f"{markers.solutions[number]} {low if low == high else f'{low}..{high}'} s"
        for number, seen in enumerate(lost.seen)
        if seen is not None
        for low, high in [seen]
    ]
    yield from _packed(parts, columns)
    yield from _packed([f"lost a day: {classes[0]}", *classes[1:]], columns)


def _packed(parts: Sequence[str], columns: int) -> Iterator[str]:
    """Yield parts on as few lines as they take."""
    line = ""
    for part in parts:
        if line and len(line) + 3 + len(part) > columns:
            yield line
            line = part
        else:
            line = f"{line}   {part}" if line else part
    yield line


def _short(value: float) -> str:
    """Return a mark's value in few characters: `12.5k`, `0.05`."""
    for unit, size in (("M", 1e6), ("k", 1e4)):
        if abs(value) >= size:
            return f"{value / (1000 if unit == 'k' else size):.4g}{unit}"
    return f"{value:.4g}"
