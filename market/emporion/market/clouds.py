"""What the rest of Emporion may know of a cloud: a `Cloud` record found by entry point, and its API as a `CloudApi`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Protocol, runtime_checkable

from emporion.market.facts import FactSource
from emporion.market.offer import Offer

__all__ = [
    "Cloud",
    "CloudApi",
    "CloudError",
    "CloudNode",
    "ErrorKind",
    "FoundImage",
    "Pending",
    "StoreWatch",
    "classify",
    "fact_sources",
    "identity",
    "installed_clouds",
    "open_api",
    "short_ids",
    "stand_up_problem",
]


class ErrorKind(StrEnum):
    """What a cloud's error code means for what to do next (cases/market.md 33)."""

    CAPACITY = "capacity"
    """No stock there now: another zone, type or time."""
    QUOTA = "quota"
    """The account's limit: ask for more."""
    SPOT_PRICE = "spot_price"
    THROTTLED = "throttled"
    IN_USE = "in_use"
    PERMISSION = "permission"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class CloudError:
    """One error code of a cloud: what it means and how to mend it."""

    code: str
    kind: ErrorKind
    what: str
    fix: str
    phrases: Sequence[str] = ()
    """Words that stand for the code where the cloud prints its sentence without it (scaling activities)."""
    source: str = ""
    """Where the row comes from, with its date."""


_NAMED_CODE = re.compile(
    r"\bapi error (?P<go>[A-Z][\w.]*):|\bAn error occurred \((?P<python>[A-Z][\w.]*)\)"
    r'|\bCode="(?P<azure>[A-Za-z][\w.]*)"'
)
"""How SDKs name a code: `… api error Code: text` (Go), `An error occurred (Code) when calling …` (Python), and
Azure's `Code="Code" Message="text"`, where an outer code may stand before the one that says why."""


def classify(errors: Mapping[str, CloudError], text: str) -> CloudError | None:
    """Return what a diagnostic of the engine says in terms of a cloud's `errors`; None: it names no code at all.

    A code that an SDK names comes first, then a known code anywhere in the text, then a row's phrases. A named code
    that no row has comes back as kind `other` with the text itself as `what`: kept verbatim, never swallowed.
    """
    named = [match[match.lastgroup or 0] for match in _NAMED_CODE.finditer(text)]
    for code in named:
        if code in errors:
            return errors[code]
    by_length = sorted(errors, key=lambda code: (-len(code), code))
    for code in by_length:
        if re.search(rf"(?<![\w.]){re.escape(code)}(?=[:)\]\s,.\-]|$)", text) and _is_distinct(code, text):
            return errors[code]
    for code in by_length:
        if any(phrase.lower() in text.lower() for phrase in errors[code].phrases):
            return errors[code]
    if not named:
        return None
    return CloudError(named[0], ErrorKind.OTHER, text.strip(), "see the cloud's documentation of this code")


def _is_distinct(code: str, text: str) -> bool:
    """Whether `code` is no word of an ordinary sentence: two capitals, an underscore, or written as codes are."""
    if "_" in code or sum(letter.isupper() for letter in code) > 1:
        return True
    return f"{code}:" in text or f"({code})" in text


@dataclass(frozen=True, slots=True)
class FoundImage:
    """A machine image that a cloud publishes."""

    id: str
    name: str
    published_at: str | None
    arch: str
    driver_version: str | None
    efa_version: str | None


@dataclass(frozen=True, slots=True)
class CloudNode:
    """One machine as the cloud reports it."""

    id: str
    pool: str
    """The pool's name, `controller` for the controller."""
    state: str
    """`pending`, `running`, `stopping`, `stopped`, `terminated`."""
    zone: str | None
    instance_type: str
    market: str
    private_ip: str | None
    launched_at: str | None
    image_id: str | None = None


@dataclass(frozen=True, slots=True)
class Pending:
    """A create that was under way when the engine died: what the engine recorded of it."""

    urn: str
    type_token: str
    emporion_id: str
    inputs: Mapping[str, Any]
    """Resolved inputs in Pulumi's camelCase spelling, without wrappers; a secret is None."""
    known: frozenset[str] = frozenset()
    """Ids that the state holds for this URN already: the older half of a replacement carries the same identity."""


class CloudApi(Protocol):
    """What operations may ask of one region of one cloud. Real clients and the local world's both implement it.

    Every method raises `UserError` E-CLOUD when the cloud cannot be asked (no credentials, no network, throttled after
    retries), never returns a guess.
    """

    def account(self) -> str:
        """Return the account, project or subscription; the local world answers with its reserved one."""
        ...

    def find(self, pending: Pending) -> str | None:
        """Return the id under which the state holds what `pending` made, or None when it made nothing.

        It is the id of a create's answer, not the spelling that `pulumi import` takes where the two differ, and never
        one of `pending.known`.

        By `emporion-id` tag or name where the type has one, else by its parent (route in its table, rule in its group).
        """
        ...

    def nodes(self, project: str, stack: str) -> Sequence[CloudNode]:
        """Return the machines of one stack that are not yet gone, controller included, by tag."""
        ...

    def image(self, purpose: str, arch: str) -> FoundImage:
        """Return the newest image for `purpose`: `gpu`, or `controller` for the machines without one."""
        ...

    def zones(self) -> Mapping[str, str]:
        """Return zone id -> this account's zone name."""
        ...

    def quota(self, instance_type: str, market: str) -> int | None:
        """Return how many machines of this type the account may run in this market; None: the cloud does not tell."""
        ...

    def notices(self, node_id: str) -> Sequence[Mapping[str, str]]:
        """Return interruption and rebalance notices for a node (`kind`, `at`)."""
        ...

    def terminate(self, node_id: str) -> None:
        """End one machine."""
        ...


def short_ids(ids: Sequence[str]) -> Mapping[str, str]:
    """Return id -> the id without the path that all of its kind begin with: enough to tell them apart on a screen.

    Ids of one kind (of one cloud) have the same first step; `i-1` is no path.
    """
    kinds: dict[str, list[list[str]]] = {}
    paths = [each.split("/") for each in ids]
    for path in paths:
        kinds.setdefault(path[0], []).append(path)
    shared = {first: _shared(kind) for first, kind in kinds.items()}
    short = ["/".join(path[shared[path[0]] :]) for path in paths]
    return dict(zip(ids, short if len(set(short)) == len(set(ids)) else ids, strict=True))


def _shared(paths: Sequence[Sequence[str]]) -> int:
    """Return how many steps all paths begin with together, the last one of each left out."""
    count = 0
    while all(len(each) > count + 1 and each[count] == paths[0][count] for each in paths):
        count += 1
    return count


@runtime_checkable
class StoreWatch(Protocol):
    """What the API has of a cloud that deletes a store together with its data, unasked; others lack it."""

    def holds_data(self, store: str) -> bool | None:
        """Return whether a cluster's store holds data; None: it cannot be told, which counts as yes."""
        ...


@dataclass(frozen=True, slots=True)
class Cloud:
    """One cloud's folder, described without importing Pulumi or its SDK. Objects are named `module:attribute`."""

    name: str
    """The provider name of its offers (`aws`)."""
    plugin: str
    """Name of its provider plugin (`aws`, `gcp`, `azure-native`)."""
    sdk: str
    """Its Pulumi SDK's Python module (`pulumi_aws`)."""
    extra: str
    """The extra of this package that installs the SDK."""
    default_region: str
    cluster: str
    """The component that builds a pinned placement."""
    api: str
    """Factory of the real `CloudApi`: `(region) -> CloudApi`."""
    stand_in: str
    """The rules of its stand-in provider plugin (`emporion.localcloud` reads them)."""
    errors: Mapping[str, CloudError]
    not_deployable: Callable[[Offer], str | None]
    """Return why an offer of this cloud cannot be stood up, or None when it can."""
    shell_command: Callable[[str, str], Sequence[str]]
    """Return the argument list that opens a shell on a node: `(region, node id)`."""
    shell_tools: Sequence[str] = field(default=())
    """Programs that the shell command needs beside itself."""
    region_env: Sequence[str] = field(default=())
    """Environment variables that hold the default region."""


@cache
def installed_clouds() -> Mapping[str, Cloud]:
    """Return the clouds that have a component, by provider name, sorted."""
    found = [entry.load() for entry in entry_points(group="emporion.clouds")]
    return {cloud.name: cloud for cloud in sorted(found, key=lambda cloud: cloud.name)}


def fact_sources() -> Mapping[str, FactSource]:
    """Return what turns resources into facts, by provider name, sorted: a program is judged without a component too."""
    return {
        entry.name: entry.load() for entry in sorted(entry_points(group="emporion.facts"), key=lambda one: one.name)
    }


def stand_up_problem(clouds: Mapping[str, Cloud], offer: Offer) -> str | None:
    """Return why no component of this version stands an offer up, or None."""
    cloud = clouds.get(offer.provider)
    return f"no component for {offer.provider} in this version" if cloud is None else cloud.not_deployable(offer)


def open_api(cloud: Cloud, region: str, world: str) -> CloudApi:
    """Return the API of a cloud's region in a world: `real`, or one registered under `emporion.worlds` (`local`)."""
    if world == "real":
        module, _, attribute = cloud.api.partition(":")
        from importlib import import_module  # noqa: PLC0415 - the SDK is imported only when a placement uses it

        api: CloudApi = getattr(import_module(module), attribute)(region)
        return api
    (entry,) = entry_points(group="emporion.worlds", name=world)
    opened: CloudApi = entry.load()(cloud, region)
    return opened


def identity(project: str, stack: str, urn: str, generation: int) -> str:
    """Return the `emporion-id` of a resource: 20 hex digits of SHA-256 over what makes it itself."""
    import hashlib  # noqa: PLC0415 - start-up

    return hashlib.sha256("\n".join([project, stack, urn, str(generation)]).encode()).hexdigest()[:20]
