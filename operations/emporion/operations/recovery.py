"""After a killed update: find what it made in the cloud, put it into the state, and only then go on.

A plain `pulumi up` after a kill makes a paid resource twice and forgets the first (facts: the engine leaves a pending
`creating` entry without an id). Here each such entry is looked up in the cloud by its `emporion-id` and adopted with
the parent, provider and dependencies that the engine recorded; what was not made is dropped from the pending list.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from emporion.market.clouds import CloudApi, Pending, identity
from emporion.market.errors import ExitCode, UserError
from emporion.operations.pulumi import Pulumi

__all__ = ["Lock", "Recovered", "recover", "release_dead_lock"]

WRAPPED = "4dabf18193072939515e22adb298388d"
"""Marks a wrapped value in Pulumi's wire format and state (pulumi sdk, `resource.SigKey`)."""
BUSY_WAITS_S = (1.0, 2.0, 4.0)
"""How long `up` waits for a lock of a living engine before it gives up."""


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock file of the file backend."""

    path: Path
    pid: int
    host: str
    user: str

    @property
    def here(self) -> bool:
        """Whether it was taken on this host."""
        return self.host == socket.gethostname()

    @property
    def alive(self) -> bool:
        """Whether its process may still be running; a foreign host's is taken to be."""
        return not self.here or _is_engine(self.pid)


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a recovery did."""

    lock_removed: bool
    adopted: tuple[str, ...]
    """URNs of resources that the dead update had made."""
    dropped: tuple[str, ...]
    """URNs of pending operations that had made nothing, or whose resource is in the state already."""
    looked_again: tuple[str, ...]
    """URNs whose update or delete was under way: read again from the cloud."""

    @property
    def anything(self) -> bool:
        """Whether there was something to recover."""
        return self.lock_removed or bool(self.adopted or self.dropped or self.looked_again)


def release_dead_lock(pulumi: Pulumi, stack: str, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Remove the lock of a dead engine; return whether there was one.

    Waits a few seconds for a living one. Raises: UserError E-BUSY: when it is still held, or its host is another one.
    """
    for wait_s in (*BUSY_WAITS_S, None):
        locks = list(_locks(pulumi, stack))
        held = [lock for lock in locks if lock.alive]
        if not held:
            break
        if wait_s is None or not held[0].here:
            raise _busy(stack, held[0])
        sleep(wait_s)
    if locks:
        pulumi.cancel(stack)
    return bool(locks)


def recover(
    pulumi: Pulumi, stack: str, generation: int, open_api: Callable[[str], CloudApi], report: Callable[[str], None]
) -> Recovered:
    """Bring the state of `stack` in line with what a killed update left behind; nothing to do is the usual case.

    `open_api(region)` opens the cloud in which the stack lives. Raises: UserError E-BUSY, E-CLOUD.
    """
    lock_removed = release_dead_lock(pulumi, stack)
    if lock_removed:
        report(f"an earlier update of {stack} died; its lock is removed")
    document = pulumi.export(stack)
    deployment = document["deployment"]
    operations = deployment.get("pending_operations") or []
    if not operations:
        return Recovered(lock_removed, (), (), ())
    resources: list[dict[str, Any]] = deployment.get("resources") or []
    adopted: list[str] = []
    dropped: list[str] = []
    again: list[str] = []
    apis: dict[str, CloudApi] = {}
    for operation in operations:
        resource = operation["resource"]
        urn = resource["urn"]
        if operation["type"] != "creating":
            again.append(urn)
            continue
        region = _region(resource, resources)
        api = apis.setdefault(region, open_api(region)) if region not in apis else apis[region]
        found = api.find(_pending(pulumi, stack, generation, resource))
        if found is None or any(one.get("id") == found and one["urn"] == urn for one in resources):
            dropped.append(urn)
            report(f"{_short(urn)}: nothing was made")
        else:
            _adopt(resources, resource, found)
            adopted.append(urn)
            report(f"{_short(urn)}: found in the cloud as {found}, taken over")
    deployment["resources"] = resources
    deployment.pop("pending_operations", None)
    pulumi.replace_state(stack, document)
    _read_again(pulumi, stack, adopted + again)
    return Recovered(lock_removed, tuple(adopted), tuple(dropped), tuple(again))


def _read_again(pulumi: Pulumi, stack: str, urns: Sequence[str]) -> None:
    """Read resources from the cloud into the state; the outputs of an adopted one come from here."""
    known = {one["urn"] for one in pulumi.export(stack)["deployment"].get("resources") or []}
    targets = [argument for urn in dict.fromkeys(urns) if urn in known for argument in ("--target", urn)]
    if not targets:
        return
    outcome = pulumi.operate("refresh", stack, "--yes", "--skip-preview", *targets)
    if not outcome.succeeded:
        raise UserError(
            "E-RECOVER",
            f"{stack}: reading the resources of a killed update failed: {'; '.join(outcome.errors)}",
            stack,
            f"emporion recover {stack}",
            ExitCode.FAILED,
        )


def _adopt(resources: list[dict[str, Any]], resource: Mapping[str, Any], found: str) -> None:
    """Append the resource as the engine recorded it, now with its id; an older one of the URN is due for deletion."""
    for older in list(resources):
        if older["urn"] == resource["urn"]:
            if older.get("pendingReplacement"):  # deleted before the replacement was made
                resources.remove(older)
            else:
                older["delete"] = True
    resources.append({**resource, "id": found, "outputs": resource.get("outputs") or resource.get("inputs") or {}})


def _pending(pulumi: Pulumi, stack: str, generation: int, resource: Mapping[str, Any]) -> Pending:
    project = pulumi.project.name
    urn = resource["urn"]
    inputs = {key: _plain(value) for key, value in (resource.get("inputs") or {}).items() if key != "__defaults"}
    return Pending(urn, resource["type"], identity(project, stack, urn, generation), inputs)


def _plain(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a value without wrappers; an encrypted secret stays unknown (None): nothing is ever found by a secret."""
    if isinstance(value, dict):
        if WRAPPED in value:
            return None
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _region(resource: Mapping[str, Any], resources: Sequence[Mapping[str, Any]]) -> str:
    """Return the region in which a resource was being made: its own `region`, else its provider's."""
    inputs = resource.get("inputs") or {}
    if isinstance(inputs.get("region"), str):
        return str(inputs["region"])
    provider = str(resource.get("provider", "")).rpartition("::")[0]
    for one in resources:
        if one["urn"] == provider and isinstance((one.get("inputs") or {}).get("region"), str):
            return str(one["inputs"]["region"])
    raise UserError(
        "E-RECOVER",
        f"{_short(resource['urn'])}: the state does not say in which region it was being made",
        resource["urn"],
        "look for it in the cloud's console, then: pulumi refresh --clear-pending-creates",
        ExitCode.FAILED,
    )


def _locks(pulumi: Pulumi, stack: str) -> Sequence[Lock]:
    """Return the locks of `stack`; empty for a backend that is not a folder (it locks by itself)."""
    url = urlparse(pulumi.environ.get("PULUMI_BACKEND_URL", ""))
    if url.scheme != "file":
        return ()
    folder = Path(unquote(url.path)) / ".pulumi" / "locks" / "organization" / pulumi.project.name / stack
    locks = []
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            locks.append(Lock(path, int(content["pid"]), str(content["hostname"]), str(content["username"])))
        except FileNotFoundError:
            continue  # released while we looked
        except (OSError, ValueError, KeyError):
            locks.append(
                Lock(path, 0, socket.gethostname(), "unknown")
            )  # torn while it was written: its writer is dead
    return locks


def _is_engine(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    status = Path(f"/proc/{pid}/stat")  # a zombie holds nothing, and a reused pid is another program
    try:
        name, _, rest = status.read_text(encoding="utf-8").partition("(")[2].rpartition(")")
    except OSError:
        return True
    return "pulumi" in name and not rest.split()[0].startswith("Z")


def _busy(stack: str, lock: Lock) -> UserError:
    where = f"process {lock.pid} of {lock.user} on {lock.host}"
    return UserError(
        "E-BUSY",
        f"stack {stack!r} is being updated by {where}",
        str(lock.path),
        "wait for it" if lock.here else f"wait for it, or if that host is gone: pulumi cancel {stack}",
        ExitCode.FAILED,
    )


def _short(urn: str) -> str:
    return "::".join(urn.split("::")[2:])
