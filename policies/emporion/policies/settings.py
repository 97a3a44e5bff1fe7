"""How rules are configured: level, parameters and exemptions, in the form that Pulumi's own policy config has.

::

    {"no-public-ssh": "mandatory",
     "hourly-cost-ceiling": {"enforcementLevel": "mandatory", "max_usd_per_hour": 20},
     "bucket-not-public": {"exempt": [{"resource": "website-*", "owner": "web@example.com",
                                       "reason": "a public site", "until": "2027-01-31"}]}}
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from fnmatch import fnmatchcase
from typing import Any

from emporion.market.errors import UserError, UserErrors, did_you_mean
from emporion.policies.rule import Level, Rule

__all__ = ["EXEMPT", "LEVEL", "Exemption", "Setting", "read_settings", "schema"]

EXEMPT = "exempt"
LEVEL = "enforcementLevel"
ALL = "all"
_FIELDS = ("resource", "owner", "reason", "until")


@dataclass(frozen=True, slots=True)
class Exemption:
    """A resource that may break a rule until a day."""

    resource: str
    """A glob over the resource's name or URN."""
    owner: str
    reason: str
    until: date
    """The last day on which it holds."""

    def covers(self, name: str, urn: str) -> bool:
        """Return whether it speaks of a resource, whatever the day."""
        return fnmatchcase(name, self.resource) or fnmatchcase(urn, self.resource)


@dataclass(frozen=True, slots=True)
class Setting:
    """How one rule is configured."""

    level: Level
    parameters: Mapping[str, Any] = field(default_factory=dict)
    exemptions: tuple[Exemption, ...] = ()


def schema(rule: Rule) -> Mapping[str, Mapping[str, Any]]:
    """Return the JSON schema of what may be set for a rule, by name."""
    entry = {
        "type": "object",
        "properties": {name: {"type": "string"} for name in _FIELDS},
        "required": list(_FIELDS),
        "additionalProperties": False,
    }
    exempt = {"type": "array", "items": entry}
    return {**{name: one.kind.schema for name, one in rule.parameters.items()}, EXEMPT: exempt}


def read_settings(
    document: Any,  # noqa: ANN401 - JSON
    rules: Iterable[Rule],
    *,
    profiles: Iterable[str] = (),
    where: str = "policies.json",
) -> dict[str, Setting]:
    """Return the setting of every rule by its name, from a configuration.

    Raises: UserError E-POLICY-CONFIG: with all its problems.
    """
    known = {rule.name: rule for rule in rules}
    if not isinstance(document, Mapping):
        raise _problem("the configuration is no object of rule names", where, known)
    problems = [
        _problem(f"there is no rule {name!r}", f"{where}  {name}", known, name)
        for name in document
        if name not in known and name != ALL
    ]
    chosen = frozenset(profiles)
    settings = {}
    for rule in known.values():
        off = rule.profile is not None and rule.profile not in chosen
        default = Level.DISABLED if off else Level.MANDATORY if rule.profile else rule.level
        try:
            if ALL in document:
                default = _level(document[ALL])
            settings[rule.name] = _setting(document.get(rule.name, {}), rule, default)
        except ValueError as error:
            problems.append(
                UserError(
                    "E-POLICY-CONFIG", str(error), f"{where}  {rule.name}", f"emporion policy explain {rule.name}"
                )
            )
    if problems:
        raise UserErrors.of(problems)
    return settings


def _problem(what: str, where: str, known: Mapping[str, Rule], name: str = "") -> UserError:
    near = did_you_mean(name, [*known, ALL]) if name else None
    return UserError(
        "E-POLICY-CONFIG", what, where, f"did you mean {near!r}?" if near else "emporion policy list shows the rules"
    )


def _level(value: Any) -> Level:  # noqa: ANN401 - JSON
    try:
        return Level(value)
    except ValueError as error:
        message = f"the level is {value!r}, allowed: {', '.join(Level)}"
        raise ValueError(message) from error


def _setting(value: Any, rule: Rule, default: Level) -> Setting:  # noqa: ANN401 - JSON
    if not isinstance(value, Mapping):
        return Setting(_level(value))
    parameters: dict[str, Any] = {}
    exemptions: tuple[Exemption, ...] = ()
    level = default
    for key, given in value.items():
        if key == LEVEL:
            level = _level(given)
        elif key == EXEMPT:
            exemptions = _exemptions(given)
        elif key in rule.parameters:
            parameters[key] = rule.parameters[key].read(given)
        else:
            allowed = ", ".join([LEVEL, EXEMPT, *rule.parameters])
            message = f"{key!r} cannot be set, allowed: {allowed}"
            raise ValueError(message)
    return Setting(level, parameters, exemptions)


def _exemptions(value: Any) -> tuple[Exemption, ...]:  # noqa: ANN401 - JSON
    if not isinstance(value, list):
        message = f"{EXEMPT} is a list of exemptions"
        raise ValueError(message)  # noqa: TRY004 - one kind of error for a configuration
    found = []
    for entry in value:
        if not isinstance(entry, Mapping) or set(entry) != set(_FIELDS) or not all(map(_said, entry.values())):
            message = f"an exemption says {', '.join(_FIELDS)}, each as a text"
            raise ValueError(message)
        try:
            until = date.fromisoformat(entry["until"])
        except ValueError as error:
            message = f"an exemption's until is {entry['until']!r}, it is a day as YYYY-MM-DD"
            raise ValueError(message) from error
        found.append(Exemption(entry["resource"], entry["owner"], entry["reason"], until))
    return tuple(found)


def _said(value: Any) -> bool:  # noqa: ANN401 - JSON
    return isinstance(value, str) and bool(value.strip())
