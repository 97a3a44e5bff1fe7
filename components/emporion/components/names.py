"""Names and tags: what every created thing carries, so that a killed update can be recovered (DESIGN.md section 8).

A name or tag must be known before the resource is registered, so the URN is put together here from the types of the
parents; a test compares it with the engine's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import pulumi

from emporion.market.clouds import identity
from emporion.market.errors import UserError

__all__ = ["Names", "ignored_paths", "logical_name", "parent_types"]

_LOGICAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9-]+")
_PREFIX = "emporion"


def logical_name(name: object) -> str:
    """Return `name` when it can be a resource's logical name.

    The engine only warns about an output in a name and puts the text of its warning into the URN.
    Raises: UserError E-NAME: when it is not a string of letters, digits, `_`, `.` and `-` with a letter or digit first.
    """
    if isinstance(name, str) and _LOGICAL.fullmatch(name):
        return name
    seen = repr(name[:60]) if isinstance(name, str) else f"a value of type {type(name).__name__}"
    if isinstance(name, pulumi.Output):
        seen = "an output"
    raise UserError(
        "E-NAME",
        f"{seen} cannot be the name of a component, which must be known before anything is made",
        None,
        "give a plain string of letters, digits, `_`, `.` and `-`",
    )


def parent_types(opts: pulumi.ResourceOptions | None) -> tuple[str, ...]:
    """Return the type token of the parent in `opts`, nothing for a component at the top of its stack."""
    parent = opts.parent if opts else None
    return (parent.pulumi_resource_type,) if isinstance(parent, pulumi.ComponentResource) else ()


@dataclass(frozen=True, slots=True)
class Names:
    """Names and tags of the resources below one component."""

    project: str
    stack: str
    generation: int = 0
    """Raised only by `emporion recover`; part of every `emporion-id`."""
    parents: tuple[str, ...] = ()
    """Type tokens of the components above, outermost first."""
    extra: tuple[tuple[str, str], ...] = ()
    """The intent's own tags."""

    def inside(self, type_token: str) -> Names:
        """Return the names below a component of this type."""
        return replace(self, parents=(*self.parents, type_token))

    def urn(self, type_token: str, name: str) -> str:
        """Return the URN that the engine gives to a child of this type and logical name."""
        chain = "$".join((*self.parents, type_token))
        return f"urn:pulumi:{self.stack}::{self.project}::{chain}::{logical_name(name)}"

    def id(self, resource: type[pulumi.Resource], name: str) -> str:
        """Return the `emporion-id` of a child: 20 hex digits."""
        token: str = getattr(resource, "pulumi_type")  # noqa: B009 - every SDK class has it, the base class does not
        return identity(self.project, self.stack, self.urn(token, name), self.generation)

    def physical(self, resource: type[pulumi.Resource], name: str, limit: int) -> str:
        """Return the child's name in the cloud, at most `limit` characters of a-z, 0-9 and `-`; the id is never cut."""
        emporion_id = self.id(resource, name)
        stack = _NOT_IN_A_NAME.sub("-", self.stack.lower()).strip("-")
        room = limit - len(f"{_PREFIX}--{emporion_id}")
        return "-".join(part for part in (_PREFIX, stack[: max(room, 0)].strip("-"), emporion_id) if part)

    def tags(self, resource: type[pulumi.Resource], name: str, pool: str | None = None) -> dict[str, str]:
        """Return the child's tags; the intent's own never replace ours."""
        return {**self.shared_tags(name, pool), "emporion-id": self.id(resource, name)}

    def shared_tags(self, name: str, pool: str | None = None) -> dict[str, str]:
        """Return the tags without an identity, for what another resource makes (a template's disks)."""
        ours = {"emporion-stack": f"{self.project}/{self.stack}", "Name": f"{self.stack}-{name}"}
        return {**dict(self.extra), **ours, **({"emporion-pool": pool} if pool else {})}


_SEGMENT = re.compile(r"(?P<key>[A-Za-z_][A-Za-z0-9_]*)(?P<index>(?:\[(?:\d+|\*|\"[^\"]+\")\])*)")
_NESTED = re.compile(r"outputs\.(\w+)")


def ignored_paths(resource: type[pulumi.Resource], *paths: str) -> list[str]:
    """Return `paths` in the spelling that `ignore_changes` heeds.

    The engine knows camel case only and passes over a nested snake-case path in silence.
    Raises: UserError E-PATH: when the resource has no such property.
    """
    return [_ignored_path(resource, path) for path in paths]


def _ignored_path(resource: type, path: str) -> str:
    import importlib  # noqa: PLC0415 - only a caller with a nested path pays for the SDK's second module
    import typing  # noqa: PLC0415 - likewise

    holder: type | None = resource
    spelled: list[str] = []
    for part in path.split("."):
        match = _SEGMENT.fullmatch(part)
        names = _properties(holder) if holder else {}
        key = match["key"] if match else part
        python = key if key in names else next((name for name, wire in names.items() if wire == key), None)
        if match is None or python is None:
            raise UserError(
                "E-PATH",
                f"{resource.__name__} has no property {part!r} in {path!r}",
                None,
                f"one of {', '.join(sorted(names)) or 'none: the path is too deep'}",
            )
        spelled.append(names[python] + match["index"])
        getter = vars(holder)[python].fget
        nested = _NESTED.search(str(typing.cast("dict[str, object]", getter.__annotations__).get("return", "")))
        package = resource.__module__.rpartition(".")[0]
        holder = getattr(importlib.import_module(f"{package}.outputs"), nested[1]) if nested else None
    return ".".join(spelled)


def _properties(holder: type) -> dict[str, str]:
    """Return Python name -> wire name of an SDK class's properties."""
    return {
        name: getattr(value.fget, "_pulumi_name", None) or name
        for name, value in vars(holder).items()
        if isinstance(value, property)
    }
