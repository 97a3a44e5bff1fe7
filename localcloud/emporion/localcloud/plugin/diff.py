"""What an update changes, and whether it can be done in place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from emporion.localcloud.plugin.values import covers, parse_path
from emporion.market.stand_in import TypeRule
from emporion.market.wire import UNKNOWN_TEXT

__all__ = ["Change", "Difference", "compare"]

Change = Literal["add", "delete", "update"]


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs between two sets of inputs."""

    changes: Mapping[str, Change]
    """Property path as Pulumi writes it -> how it changes."""
    replaces: Sequence[str]
    """Those of the paths that force a replacement."""
    delete_first: bool
    """Whether the old one must go before the new one can come."""

    @property
    def top(self) -> list[str]:
        """The top-level properties that change, sorted."""
        return sorted({parse_path(path)[0] for path in self.changes})


def compare(
    rule: TypeRule,
    old: Mapping[str, Any],
    new: Mapping[str, Any],
    ignored: Sequence[str] = (),
) -> Difference:
    """Return how `new` inputs differ from `old` ones, without the ignored property paths."""
    skip = [parse_path(path) for path in ignored]
    changes: dict[str, Change] = {}
    replaces: list[str] = []
    for path, steps, change in _walk(old, new, "", ()):
        if any(covers(one, steps) for one in skip):
            continue
        changes[path] = change
        if _forces(rule, steps, old, new):
            replaces.append(path)
    return Difference(changes, replaces, bool(replaces) and _keeps_name(rule, old, new))


def _keeps_name(rule: TypeRule, old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether old and new one have the same name, chosen by the program: they cannot exist side by side.

    The bridged provider then asks for deletion first; a program's own `delete_before_replace` goes before that.
    """
    name = new.get(rule.named) if rule.named else None
    return name is not None and name == old.get(rule.named or "") and rule.named not in new.get("__defaults", ())


def _forces(rule: TypeRule, steps: tuple[str, ...], old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Return whether a change at these steps replaces."""
    names = [step for step in steps if not step.isdigit()]
    dotted = {".".join(names[: count + 1]) for count in range(len(names))}
    if steps[0] == "region" or dotted & rule.replace:
        return True
    condition = rule.replace_if.get(steps[0])
    return condition is not None and condition(old, new)


def _walk(old: object, new: object, path: str, steps: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...], Change]]:
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted(old.keys() | new.keys()):
            if not key.startswith("__"):
                yield from _walk(old.get(key), new.get(key), _joined(path, key), (*steps, key))
    elif isinstance(old, list) and isinstance(new, list):
        for index in range(max(len(old), len(new))):
            before = old[index] if index < len(old) else None
            after = new[index] if index < len(new) else None
            yield from _walk(before, after, f"{path}[{index}]", (*steps, str(index)))
    elif new == UNKNOWN_TEXT or old != new:
        yield path, steps, "add" if old is None else "delete" if new is None else "update"


def _joined(path: str, key: str) -> str:
    if key.isidentifier():
        return f"{path}.{key}" if path else key
    quoted = key.replace("\\", "\\\\").replace('"', '\\"')
    return f'{path}["{quoted}"]'
