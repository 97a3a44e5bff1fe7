"""After an update that died: find what it made in the cloud, put it into the state, and only then go on.

A plain `pulumi up` after a kill makes a paid resource twice and forgets the first. When the engine died, its state
holds pending `creating` entries without an id; when a provider plugin died or an answer was lost, it holds nothing at
all. So whenever the last operation did not succeed, every resource that the program wants and the state lacks is looked
up in the cloud by its `emporion-id` and adopted with the parent, provider and dependencies that the engine gives it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from emporion.market.clouds import CloudApi, Pending, identity
from emporion.market.errors import ExitCode, UserError
from emporion.market.wire import SECRET, SECRET_SHOWN, SIGNATURE, UNKNOWN_TEXT
from emporion.operations.backend import is_locked_by_the_dead, mend_torn_files
from emporion.operations.pulumi import Pulumi

__all__ = ["Recovered", "recover"]

RECORD = (
    "urn", "custom", "type", "inputs", "parent", "dependencies", "provider", "propertyDependencies",
    "additionalSecretOutputs", "protect", "aliases", "customTimeouts", "ignoreChanges", "replaceOnChanges",
)  # fmt: skip
"""Fields of a planned resource that its state keeps."""


@dataclass(slots=True)
class Recovered:
    """What a recovery did."""

    lock_removed: bool = False
    adopted: list[str] = field(default_factory=list)
    """URNs of resources that the dead update had made."""
    dropped: list[str] = field(default_factory=list)
    """URNs of pending creates that had made nothing, or what the state holds already."""
    looked_again: list[str] = field(default_factory=list)
    """URNs whose update or delete was under way: read again from the cloud."""

    @property
    def anything(self) -> bool:
        """Whether there was something to recover."""
        return self.lock_removed or bool(self.adopted or self.dropped or self.looked_again)


@dataclass(frozen=True, slots=True)
class _Search:
    """Looks for one stack's resources in its clouds."""

    pulumi: Pulumi
    stack: str
    generation: int
    open_api: Callable[[str, str], CloudApi]
    report: Callable[[str], None]
    apis: dict[tuple[str, str], CloudApi] = field(default_factory=dict)

    def find(self, resource: Mapping[str, Any], around: Sequence[Mapping[str, Any]]) -> str | None:
        """Return the id under which the cloud holds a resource, None when it does not.

        `around` holds its provider, and what the state has of it already.
        """
        plugin, region = str(resource["type"]).partition(":")[0], _region(resource, around)
        if (plugin, region) not in self.apis:
            self.apis[plugin, region] = self.open_api(plugin, region)
        urn = resource["urn"]
        inputs = {key: _plain(value) for key, value in (resource.get("inputs") or {}).items() if key != "__defaults"}
        mark = identity(self.pulumi.project.name, self.stack, urn, self.generation)
        known = (one.get("id") for one in around if one["urn"] == urn and not one.get("pendingReplacement"))
        return self.apis[plugin, region].find(
            Pending(urn, resource["type"], mark, inputs, frozenset(filter(None, known)))
        )

    def adopt(
        self,
        resources: list[dict[str, Any]],
        resource: Mapping[str, Any],
        found: str,
        around: Sequence[Mapping[str, Any]],
    ) -> None:
        """Append a resource as the engine describes it, with its id; an older one of its URN is due for deletion.

        What it stands on and the state lacks (its provider, components above it) is taken from `around`.

        Its outputs are its inputs until it is read: without any, a provider takes the read for an import, and some
        types are imported by another id than the state holds (routes, associations, event targets).
        """
        _put_under(resources, resource, around)
        for older in list(resources):
            if older["urn"] == resource["urn"]:
                if older.get("pendingReplacement"):  # deleted before the replacement was made
                    resources.remove(older)
                else:
                    older["delete"] = True
        resources.append({**resource, "id": found, "outputs": _visible(resource)})
        self.report(f"{_short(resource['urn'])}: found in the cloud as {found}, taken over")


def recover(
    pulumi: Pulumi,
    stack: str,
    generation: int,
    open_api: Callable[[str, str], CloudApi],
    report: Callable[[str], None],
    *,
    always: bool = False,
) -> Recovered:
    """Bring the state of `stack` in line with what a dead update left behind; nothing to do is the usual case.

    `open_api(plugin, region)` opens the cloud behind a provider plugin; `always` looks after a success too.
    Raises: UserError E-BUSY, E-STATE, E-CLOUD, E-RECOVER.
    """
    done = Recovered(lock_removed=is_locked_by_the_dead(pulumi, stack))
    torn = mend_torn_files(pulumi, stack)
    if done.lock_removed:
        pulumi.cancel(stack)
        report(f"an earlier update of {stack} died; its lock is removed")
    if torn:
        report(f"the state of {stack} was cut short while it was written; the copy before it is used")
    pulumi.ensure_stack(stack)
    search = _Search(pulumi, stack, generation, open_api, report)
    pending = _settle_pending(search, done)
    if not (always or pending or torn or done.lock_removed or pulumi.last_result(stack) in {"failed", "in-progress"}):
        return done
    _read_again(search, [*done.adopted, *done.looked_again])
    while _settle_planned(search, done):
        continue  # what was adopted may have made the inputs of others known
    return done


def _settle_pending(search: _Search, done: Recovered) -> bool:
    """Settle what the engine itself recorded as under way; return whether there was anything."""
    document = search.pulumi.export(search.stack)
    deployment = document["deployment"]
    operations = deployment.get("pending_operations") or []
    if not operations:
        return False
    resources: list[dict[str, Any]] = deployment.get("resources") or []
    around = [*resources, *(operation["resource"] for operation in operations)]
    for operation in operations:
        resource = operation["resource"]
        urn = resource["urn"]
        if resource["type"].startswith("pulumi:"):
            continue  # a provider exists in the state alone
        if operation["type"] != "creating":
            done.looked_again.append(urn)
            continue
        found = search.find(resource, around)
        if found is None:
            done.dropped.append(urn)
            search.report(f"{_short(urn)}: nothing more was made")
        else:
            search.adopt(resources, resource, found, around)
            done.adopted.append(urn)
    deployment["resources"] = resources
    deployment.pop("pending_operations", None)
    search.pulumi.replace_state(search.stack, document)
    return True


def _settle_planned(search: _Search, done: Recovered) -> bool:
    """Adopt what the program wants, the state lacks and the cloud has; return whether there was anything."""
    planned = search.pulumi.planned_creates(search.stack)
    if planned is None:
        search.report(f"{search.stack}: no preview, so what a failed update may have made is not looked for")
        return False
    document = search.pulumi.export(search.stack)
    resources: list[dict[str, Any]] = document["deployment"].get("resources") or []
    around = [*resources, *planned]
    adopted = []
    for new in planned:
        urn = new["urn"]
        if urn in done.adopted or not new.get("custom") or new["type"].startswith("pulumi:") or _is_open(new):
            continue
        try:
            found = search.find(new, around)
        except UserError as error:
            if error.code != "E-NO-FINDER":
                raise
            search.report(f"{error.what}: look for it yourself")  # a type of the user's own beside the cluster
            continue
        if found is not None:
            search.adopt(resources, _record(new), found, around)
            adopted.append(urn)
    if adopted:
        document["deployment"]["resources"] = resources
        search.pulumi.replace_state(search.stack, document)
        _read_again(search, adopted)
        done.adopted += adopted
    return bool(adopted)


def _read_again(search: _Search, urns: Sequence[str]) -> None:
    """Read resources from the cloud into the state: `urns`, and every adopted one, whose outputs come from here."""
    resources = search.pulumi.export(search.stack)["deployment"].get("resources") or []
    known = {one["urn"] for one in resources}
    bare = [one["urn"] for one in resources if one.get("custom") and _is_bare(one)]
    bare = [urn for urn in bare if not urn.split("::")[2].split("$")[-1].startswith("pulumi:")]
    targets = [word for urn in dict.fromkeys([*urns, *bare]) if urn in known for word in ("--target", urn)]
    if not targets:
        return
    outcome = search.pulumi.operate("refresh", search.stack, "--yes", "--skip-preview", *targets)
    if not outcome.succeeded:
        raise UserError(
            "E-RECOVER",
            f"{search.stack}: reading what a dead update left behind failed: {'; '.join(outcome.errors)}",
            search.stack,
            f"emporion recover {search.stack}",
            ExitCode.FAILED,
        )


def _record(planned: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the state keeps of a planned resource; a secret stays one, though its value is not told."""
    return {key: _secret_again(planned[key]) if key == "inputs" else planned[key] for key in RECORD if key in planned}


def _secret_again(value: Any) -> Any:  # noqa: ANN401 - JSON
    if isinstance(value, dict):
        return {key: _secret_again(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_secret_again(item) for item in value]
    return {SIGNATURE: SECRET, "plaintext": json.dumps(SECRET_SHOWN)} if value == SECRET_SHOWN else value


def _put_under(
    resources: list[dict[str, Any]], resource: Mapping[str, Any], around: Sequence[Mapping[str, Any]]
) -> None:
    """Append what `resource` stands on and the state lacks: components above it, outermost first, then its provider."""
    there = {one["urn"] for one in resources}
    known = {one["urn"]: one for one in around}
    above: list[dict[str, Any]] = []
    parent = resource.get("parent")
    while parent and parent not in there and parent in known:
        above.insert(0, _record(known[parent]))
        parent = known[parent].get("parent")
    resources.extend(above)
    urn, _, provider_id = str(resource.get("provider", "")).rpartition("::")
    if urn not in there and urn in known:
        record = _record(known[urn])
        resources.append({**record, "id": provider_id, "outputs": _visible(record)})


def _visible(resource: Mapping[str, Any]) -> dict[str, Any]:
    """Return a resource's inputs without the engine's own marks."""
    return {key: value for key, value in (resource.get("inputs") or {}).items() if not key.startswith("__")}


def _is_bare(resource: Mapping[str, Any]) -> bool:
    """Return whether a resource was adopted and not yet read; the same secret reads differently in each place."""
    return bool(_plain(resource.get("outputs")) == _plain(_visible(resource)))


def _is_open(resource: Mapping[str, Any]) -> bool:
    """Return whether an input is not known yet: what it depends on was not made, so neither was this."""
    return UNKNOWN_TEXT in str(resource.get("inputs"))


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a value without wrappers; a secret stays unknown (None): nothing is ever found by a secret."""
    if isinstance(value, dict):
        if SIGNATURE in value:
            return None
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return None if value == SECRET_SHOWN else value


def _region(resource: Mapping[str, Any], around: Sequence[Mapping[str, Any]]) -> str:
    """Return the region in which a resource was being made: its own `region`, else its provider's.

    A provider calls it `region`, Azure's `location`.
    """
    inputs = resource.get("inputs") or {}
    if isinstance(inputs.get("region"), str):
        return str(inputs["region"])
    provider = str(resource.get("provider", "")).rpartition("::")[0]
    for one in around:
        given = (one.get("inputs") or {}) if one["urn"] == provider else {}
        found = given.get("region") or given.get("location")
        if isinstance(found, str):
            return found
    raise UserError(
        "E-RECOVER",
        f"{_short(resource['urn'])}: the state does not say in which region it was being made",
        resource["urn"],
        "look for it in the cloud's console, then: pulumi refresh --clear-pending-creates",
        ExitCode.FAILED,
    )


def _short(urn: str) -> str:
    return "::".join(urn.split("::")[2:])
