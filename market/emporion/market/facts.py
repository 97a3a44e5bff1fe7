"""Neutral facts: what a rule needs to know of a resource, whichever cloud it belongs to.

A cloud's folder turns resources into facts (`components/<cloud>/facts.py`); rules (policies/) know no cloud. A field
without a value from the cloud is `UNKNOWN`; reading it raises `UnknownFactError`, so that what nobody knows is reported
and never passes. None means: known to be absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, TypeVar

from emporion.market.resources import UNKNOWN, Others, Resource

__all__ = [
    "MACHINE",
    "Address",
    "AuditLog",
    "Bucket",
    "Budget",
    "Disk",
    "Fact",
    "FactSource",
    "FileSystem",
    "FlowLog",
    "Grant",
    "Ingress",
    "Key",
    "LogGroup",
    "Node",
    "Purchase",
    "SecurityGroup",
    "Spot",
    "UnknownFactError",
    "Unreadable",
    "known",
    "read_facts",
]

T = TypeVar("T")
MACHINE = "machine"
"""The item of a purchase whose variant is a machine type."""


class UnknownFactError(Exception):
    """Something that a rule asks for is not known (yet)."""

    def __init__(self, fact: Fact, name: str) -> None:
        super().__init__(name)
        self.fact = fact
        self.field = name


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Fact:
    """What is known of one resource."""

    name: str
    """Its name in the program."""
    urn: str = ""
    type: str = ""
    """Pulumi's type token."""
    provider: str = ""
    region: str | None = UNKNOWN
    """None: the cloud knows no region for it."""
    tags: Mapping[str, str] = UNKNOWN
    """Tags or labels."""

    def __post_init__(self) -> None:
        """Take a value of another type than its field's for unknown: a file may hold anything in any place."""
        for name, kinds in _field_kinds(type(self)).items():
            value = object.__getattribute__(self, name)
            if value is not UNKNOWN and type(value) not in kinds and not isinstance(value, kinds):
                object.__setattr__(self, name, UNKNOWN)

    def __getattribute__(self, name: str) -> Any:  # noqa: ANN401 - any field
        """Return a field. Raises: UnknownFactError: when its value is not known."""
        value = object.__getattribute__(self, name)
        if value is UNKNOWN:
            raise UnknownFactError(self, name)
        return value


_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "bool": (bool,),
    "Decimal": (Decimal,),
    "None": (type(None),),
    "Sequence[str]": (tuple, list),
    "tuple[int, int]": (tuple,),
    "Mapping[str, str]": (Mapping,),
}
"""Annotation of a field -> the types that it takes."""


_FIELDS: dict[str, Mapping[str, tuple[type, ...]]] = {}
"""Kind of fact by its name -> the types that each of its fields takes."""


def _field_kinds(kind: type[Fact]) -> Mapping[str, tuple[type, ...]]:
    found = _FIELDS.get(kind.__qualname__)
    if found is None:
        found = _FIELDS[kind.__qualname__] = {
            field.name: tuple(one for part in str(field.type).split(" | ") for one in _KINDS[part])
            for field in fields(kind)
        }
    return found


def known(fact: Fact, name: str, otherwise: T) -> T:
    """Return a field of a fact, `otherwise` when its value is not known."""
    value: T = object.__getattribute__(fact, name)
    return otherwise if value is UNKNOWN else value


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Spot(Fact):
    """A place where a program asks for interruptible machines."""

    renews: str | None = UNKNOWN
    """How the cloud brings an interrupted or expired one back unasked; None: it does not."""
    falls_back: str | None = UNKNOWN
    """How it silently becomes an on-demand one; None: it does not."""
    max_usd_per_hour: Decimal | None = UNKNOWN
    """The most per machine and hour; None: up to the on-demand price."""
    interruption: str | None = UNKNOWN
    """What happens to an interrupted one, where the program says it."""
    instance_type: str | None = UNKNOWN
    count: int = UNKNOWN
    """The most machines of it."""
    checkpoint: str | None = UNKNOWN
    """Where its work is saved, where a tag says so."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Node(Fact):
    """A machine, or the template that machines are made from."""

    instance_type: str | None = UNKNOWN
    gpus: int = UNKNOWN
    """Of one machine."""
    gpu: str | None = UNKNOWN
    """The id of gpus.csv; None: it has none."""
    public_ip: bool = UNKNOWN
    session_tokens: bool = UNKNOWN
    """Whether its metadata service answers only to a session's token or header (IMDSv2 on AWS)."""
    metadata_hops: int = UNKNOWN
    """How many network hops an answer of the metadata service travels."""
    secrets: Sequence[str] = UNKNOWN
    """Kinds of secrets found in its start script, never the secrets."""
    fast_network: bool = UNKNOWN
    """Whether it asks for an RDMA interface that needs rules of its own (EFA)."""
    placed_together: bool = UNKNOWN
    """Whether it asks to stand near the others of its pool."""
    role: bool = UNKNOWN
    """Whether it has an identity of its own in the cloud."""
    broad_role: bool = UNKNOWN
    """Whether that identity is the cloud's default with all rights."""
    image: str | None = UNKNOWN
    secure_boot: bool = UNKNOWN
    dedicated: bool = UNKNOWN
    """Whether no other customer's machines share its host."""
    ends: bool = UNKNOWN
    """Whether something ends it by itself: a longest run, an end date, a time to live."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Disk(Fact):
    """A block device: of its own, or of a machine or template."""

    device: str = ""
    """Which of a machine's disks; empty: a disk of its own."""
    encrypted: bool = UNKNOWN
    own_key: bool = UNKNOWN
    """Whether the key is the customer's."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FileSystem(Fact):
    """A shared file system."""

    encrypted: bool = UNKNOWN
    own_key: bool = UNKNOWN
    encrypted_in_transit: bool = UNKNOWN


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Bucket(Fact):
    """A store of objects, with everything that other resources of the program set for it."""

    private: bool = UNKNOWN
    """Whether public access is closed off, whatever its objects or policies say."""
    encrypted: bool = UNKNOWN
    own_key: bool = UNKNOWN
    tls_only: bool = UNKNOWN
    locked: bool = UNKNOWN
    """Whether objects cannot be overwritten or deleted for a time."""
    versioned: bool = UNKNOWN
    expires: bool = UNKNOWN
    """Whether something removes old objects or versions."""
    protected: bool = UNKNOWN
    """Whether it cannot be deleted together with its content by taking it out of the program."""
    shared_keys: bool = UNKNOWN
    """Whether an account-wide key opens it."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Ingress(Fact):
    """One opening through which traffic may come in."""

    protocol: str = UNKNOWN
    """`tcp`, `udp`, `icmp`, …; `all`: any."""
    ports: tuple[int, int] = UNKNOWN
    """First and last."""
    sources: Sequence[str] = UNKNOWN
    """CIDR blocks."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SecurityGroup(Fact):
    """A group of machines that rules of traffic name."""

    fast: bool = UNKNOWN
    """Whether an RDMA interface lies in it."""
    all_in_from_itself: bool = UNKNOWN
    all_out_to_itself: bool = UNKNOWN


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Address(Fact):
    """A public address."""

    gpu_node: str | None = UNKNOWN
    """The GPU machine to which it is given."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Grant(Fact):
    """Rights that something is given."""

    wildcards: Sequence[str] = UNKNOWN
    """What is granted without bounds, each as a phrase."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Key(Fact):
    """A credential that lives until somebody removes it."""

    of: str = ""
    """What it opens, as a phrase."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Purchase(Fact):
    """Something that is paid for by the hour or month while it stands."""

    part: str = "compute"
    """One of the parts of a cost (`cost_lines.PARTS`)."""
    item: str | None = None
    """`machine`, or an item of the price book; None: nothing here knows its price."""
    variant: str | None = UNKNOWN
    """The machine's type, or the item's variant."""
    quantity: Decimal = UNKNOWN
    """Machines, or units of the item's price."""
    spot: bool = UNKNOWN
    """Whether a machine is interruptible."""
    max_usd_per_hour: Decimal | None = UNKNOWN
    """The most that is paid for one interruptible machine; None: up to the on-demand price."""
    says: str = ""
    """What it is beside its name (`root disk`)."""
    attached: str | None = None
    """GPUs attached to a machine whose type has none, as `model:count`; empty: none; None: the type decides."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Budget(Fact):
    """A budget object of the cloud."""

    notifies: bool = UNKNOWN


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AuditLog(Fact):
    """A record of who did what."""

    complete: bool = UNKNOWN
    """Whether it covers every region and service that it can."""
    tamper_evident: bool = UNKNOWN
    own_key: bool = UNKNOWN


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class FlowLog(Fact):
    """A record of a network's traffic."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LogGroup(Fact):
    """Where logs are kept."""

    kept_days: int | None = UNKNOWN
    """None: for ever."""
    own_key: bool = UNKNOWN


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Unreadable(Fact):
    """A resource whose properties no cloud allows, or that nobody here understands: nothing of it can be judged."""

    properties: str = UNKNOWN
    """Never known."""


FactSource = Callable[[Resource, Others | None], Iterable[Fact]]
"""A cloud's `facts.py`: the facts of one resource, none of another cloud's.

Without `others` it tells what the resource alone says, before anything is made; what only the whole stack tells (a
bucket's settings, a template's machines) is then `UNKNOWN`.
"""


def read_facts(resource: Resource, others: Others | None, sources: Iterable[FactSource]) -> list[Fact]:
    """Return the facts of a resource; properties of impossible types, as in an edited file, are a fact themselves."""
    found: list[Fact] = []
    for source in sources:
        try:
            found.extend(source(resource, others))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            found.append(Unreadable(name=resource.name, urn=resource.urn, type=resource.type))
    return found
