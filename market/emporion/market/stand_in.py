"""The rules of a stand-in provider plugin: what one cloud's resource types compute, check, replace and refuse.

A cloud's folder fills these types in (`components/<cloud>/stand_in.py`); the local cloud's generic plugin reads them.
Neither imports the other. Templates are `str.format` strings over `Making`: `{id}`, `{region}`, `{account}`, `{hexN}`
(N stable hex digits), `{uuid}`, and every top-level input by its camelCase name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

__all__ = [
    "Compute",
    "EnumSource",
    "GroupLaunch",
    "ImageTemplate",
    "InUse",
    "Invoke",
    "Launch",
    "Making",
    "Reference",
    "Refusal",
    "Row",
    "StandIn",
    "TypeRule",
    "Validate",
]


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that exists in the world."""

    token: str
    id: str
    region: str
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    versions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Inputs of every version, for a type that keeps them (launch templates)."""


class Making(Protocol):
    """One resource while it is made or changed, with a view of the world around it."""

    token: str
    """The Pulumi type token."""
    id: str
    """The provider's id, empty while the id itself is being made."""
    name: str
    """The last part of the URN."""
    region: str
    inputs: Mapping[str, Any]
    old: Mapping[str, Any]
    """The outputs before an update, empty on create."""

    @property
    def account(self) -> str:
        """The reserved account."""
        ...

    def hex(self, digits: int, salt: str = "") -> str:
        """Return hex digits that stay the same for this resource and `salt`."""
        ...

    def find(self, token: str, id_or_name: str) -> Row | None:
        """Return what the world holds under this type and id in this region (or anywhere, for global types)."""
        ...

    def find_by(self, token: str, output: str, value: object) -> Row | None:
        """Return the first of a type in this region one of whose outputs has this value."""
        ...

    def all(self, token: str) -> Sequence[Row]:
        """Return everything of one type in this region, oldest first."""
        ...


Compute = Callable[[Making], Any]
Validate = Callable[[Making], "Refusal | None"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The cloud says no: its own error code and text."""

    code: str
    text: str
    status: int = 400
    """HTTP status; 0: no answer came."""


@dataclass(frozen=True, slots=True)
class Reference:
    """An input that names another thing, which must exist."""

    path: str
    """`subnetId`, or `networkInterfaces.securityGroups` through lists."""
    tokens: tuple[str, ...]
    code: str
    text: str
    """Template with `{value}`."""
    key: str = "id"
    """What of the other thing the value is: `id`, or one of its outputs (`arn`, `name`)."""
    also: tuple[tuple[str, str], ...] = ()
    """(type, output) pairs whose value counts too: a VPC's default security group."""


@dataclass(frozen=True, slots=True)
class InUse:
    """Something that blocks a delete while it names the thing."""

    token: str
    path: str
    code: str = "DependencyViolation"
    text: str = "resource {id} has a dependent object"
    key: str = "id"
    """Which of the deleted thing's values the other names: `id` or an output (`arn`, `name`)."""
    unless: str | None = None
    """A boolean input of the deleted thing that allows it all the same (`forceDestroy`): the others go with it."""
    but_own: str | None = None
    """The input of the other thing that names its owner: a group's rule that names its own group does not block."""


@dataclass(frozen=True, slots=True)
class EnumSource:
    """An enum of the cloud's own service model (botocore): newer than the SDK's open enums."""

    service: str
    shape: str


@dataclass(frozen=True, slots=True)
class TypeRule:
    """What the stand-in knows of one resource type beyond its SDK schema."""

    noun: str
    """How the provider names it in messages: `EC2 VPC`."""
    api: str
    """Service and the noun of its operations: `EC2:Vpc` gives CreateVpc and DeleteVpc."""
    id: str | Compute = "{hex20}"
    outputs: Mapping[str, str | Compute] = field(default_factory=dict)
    """Computed outputs that an input of the same name overrides, unless the value is None."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Inputs that the provider fills in when they are absent."""
    echo: Mapping[str, Compute] = field(default_factory=dict)
    """Outputs that come back in another form than the input of the same name: a list of ids as a map."""
    fills: Mapping[str, Any] = field(default_factory=dict)
    """Outputs that take this value when nothing else sets them."""
    named: str | None = None
    """The input that is autonamed when absent (`name`, `bucket`)."""
    name_limit: int = 255
    name_lower: bool = False
    prefix: str | None = None
    """The input whose presence turns autonaming off (`namePrefix`)."""
    replace: frozenset[str] = frozenset()
    """Inputs, top level or dotted, whose change replaces."""
    replace_if: Mapping[str, Callable[[Mapping[str, Any], Mapping[str, Any]], bool]] = field(default_factory=dict)
    """Inputs whose change replaces in some cases only, by all old and all new inputs; new ones may be unknown."""
    enums: Mapping[str, EnumSource | tuple[str, ...]] = field(default_factory=dict)
    """Dotted input path -> the values allowed now."""
    references: tuple[Reference, ...] = ()
    in_use: tuple[InUse, ...] = ()
    unique: tuple[str, ...] = ()
    """Inputs that together no second thing may have, besides the id."""
    exists: Refusal = Refusal("AlreadyExists", "{noun} {id} already exists", 409)
    put: bool = False
    """Creating it again writes over it, as the cloud's Put operations do."""
    is_global: bool = False
    """One name space for all regions."""
    gone_with: tuple[tuple[str, str], ...] = ()
    """(type, input that names it) of what vanishes with it: a group's own rules."""
    import_id: str | None = None
    """Template of the id that `pulumi import` takes, when it is not the id."""
    on_update: Mapping[str, Compute] = field(default_factory=dict)
    """Computed outputs that an update changes; a preview of the update cannot know them."""
    on_update_unless: frozenset[str] = frozenset()
    """Changes of these inputs alone leave the outputs of `on_update` as they are."""
    keeps_versions: bool = False
    validate: tuple[Validate, ...] = ()
    kind: str = "resource"
    """`machine`, `group` (of machines), `reservation` (of machines) or `resource`."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What it takes to start one machine."""

    instance_type: str
    image_id: str | None
    market: str
    """`on_demand`, `spot` or `capacity_block`."""
    zone: str
    """The zone's name."""
    subnet_id: str
    subnet_cidr: str
    addresses: int
    """Private IPv4 addresses: one per interface that takes one."""
    tags: Mapping[str, str]
    fixed_addresses: tuple[str, ...] = ()
    """Those of the addresses that the program chose itself."""
    reservation_id: str | None = None
    placement_group: str | None = None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """Inputs that the machine is recorded with, when a group starts it."""


@dataclass(frozen=True, slots=True)
class GroupLaunch:
    """What a group of machines wants now."""

    desired: int
    launches: tuple[Launch, ...]
    """One per zone, used in turn."""
    wait: bool
    """Whether a missing machine fails the group (`waitForCapacityTimeout` is not "0")."""
    renew: bool = False
    """Whether running machines of another template version are replaced."""


@dataclass(frozen=True, slots=True)
class ImageTemplate:
    """A machine image that the cloud publishes in every region when the world begins."""

    purpose: str
    """`gpu` or `controller`."""
    arch: str
    name: str
    published_at: str
    driver_version: str | None = None
    efa_version: str | None = None


Invoke = Callable[[Making], "Mapping[str, Any] | str"]
"""Answers a function, or says in the provider's words why it cannot."""


@dataclass(frozen=True, slots=True)
class StandIn:
    """One cloud's rules for its stand-in provider plugin."""

    plugin: str
    """Name of the provider plugin: `aws`."""
    sdk: str
    """Module of the Pulumi SDK: `pulumi_aws`."""
    distribution: str
    """Name of the SDK's distribution, whose version the plugin has: `pulumi-aws`."""
    account: str
    """The reserved account of the local world."""
    types: Mapping[str, TypeRule]
    machine: str
    """Token of the type that is one machine."""
    generic: Callable[[str], TypeRule]
    """Type token -> rule for a type without one of its own."""
    instance: Callable[[Making], Launch | Refusal]
    group: Callable[[Making], GroupLaunch | Refusal]
    reservation: Callable[[Making], tuple[str, str, int]]
    """Zone name, instance type and machines of a reservation."""
    machine_outputs: Callable[[Making, Launch, Sequence[str], str], Mapping[str, Any]]
    """Outputs of a machine from its launch, its private addresses and its launch time."""
    refusals: Mapping[str, Refusal]
    """`capacity` (and `capacity_spot` where spot has another code), `reservation`, `no_reservation`, `quota`,
    `quota_spot`, `addresses` (templates over a `Launch` and `limit`), `not_found` (over `noun` and `id`), and those of
    any call (over `region` and `service`): `throttled`, `server_error`, `unavailable`, `timeout`, `lost_answer`."""
    message: Callable[[TypeRule, str, str, Refusal, str], str]
    """(rule, verb, id, refusal, request id) -> the provider's error text; verb is `creating`, `reading`, …"""
    shortfall: Callable[[str, Refusal], str]
    """(group id, why) -> the provider's text when a group's machines do not come."""
    zones: Callable[[str], Mapping[str, str]]
    """Region -> zone id -> the reserved account's zone name."""
    regions: tuple[str, ...]
    images: tuple[ImageTemplate, ...]
    image_id: Callable[[str, str], str]
    """(region, image name) -> its id."""
    invokes: Mapping[str, Invoke]
    """Function token -> answer; the arguments are `Making.inputs`."""
    vcpus: Callable[[str], int | None]
    tag_inputs: Callable[[Mapping[str, Any]], Mapping[str, str]]
    """A resource's inputs -> its tags as a plain map."""
    config_keys: Callable[[Mapping[str, Any]], Sequence[tuple[str, str]]]
    """Provider configuration -> (key, what is wrong with it)."""
    default_tags: Callable[[Mapping[str, Any]], Mapping[str, str]]
    """Provider configuration -> tags that every resource gets."""
    max_attempts: int
    """How often the provider tries a throttled call."""
    region_key: str = "region"
    """The key of the provider's configuration that holds the region."""
    storage: tuple[str, ...] = ()
    """What the tokens of object storage begin with: they fail with a region's storage."""
    control_planes: Mapping[str, str] = field(default_factory=dict)
    """What tokens begin with -> the one region whose control plane changes them, wherever they are used."""
