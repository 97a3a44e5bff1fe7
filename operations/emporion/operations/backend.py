"""The file backend of Pulumi's state as a crash leaves it: locks of dead engines, files cut short in the middle.

Other backends (object stores, Pulumi Cloud) lock and write by themselves; for them there is nothing to do here.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlparse

from emporion.market.errors import ExitCode, UserError
from emporion.operations.pulumi import Pulumi

__all__ = ["Lock", "is_locked_by_the_dead", "mend_torn_files"]

BUSY_WAITS_S = (1.0, 2.0, 4.0)
"""How long a command waits for the lock of a living engine before it gives up."""


@dataclass(frozen=True, slots=True)
class Lock:
    """One lock file."""

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


def is_locked_by_the_dead(pulumi: Pulumi, stack: str, sleep: Callable[[float], None] = time.sleep) -> bool:
    """Return whether the lock of a dead engine is left.

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
    return bool(locks)


def mend_torn_files(pulumi: Pulumi, stack: str) -> bool:
    """Put back what a killed engine or a full disk cut short while it was written; return whether there was anything.

    The state is restored from the copy that the engine keeps of the one before; the attributes beside a file (a
    checksum that nothing reads) are dropped. Only for a stack that nobody is updating.
    Raises: UserError E-STATE: when neither the state nor its copy can be read.
    """
    folder = _folder(pulumi, "stacks")
    if folder is None:
        return False
    mended = False
    state, copy = folder / f"{stack}.json", folder / f"{stack}.json.bak"
    for attributes in folder.glob(f"{stack}.json*.attrs"):
        if not _is_json(attributes):
            attributes.unlink()
            mended = True
    if state.exists() and not _is_json(state):
        if not _is_json(copy):
            raise UserError(
                "E-STATE",
                f"the state of {stack!r} is damaged and so is its copy",
                str(state),
                f"a checkpoint of an earlier update lies in {_folder(pulumi, 'history')}; copy one to this place",
                ExitCode.FAILED,
            )
        draft = state.with_suffix(".mended")
        draft.write_bytes(copy.read_bytes())
        draft.replace(state)
        mended = True
    return mended


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return True


def _folder(pulumi: Pulumi, kind: str) -> Path | None:
    """Return the backend's folder of one kind for this project; None for a backend that is not a folder."""
    url = urlparse(pulumi.environ.get("PULUMI_BACKEND_URL", ""))
    if url.scheme != "file":
        return None
    base = Path(unquote(url.path)) / ".pulumi" / kind
    return (base / "organization" if kind == "locks" else base) / pulumi.project.name


def _locks(pulumi: Pulumi, stack: str) -> Sequence[Lock]:
    folder = _folder(pulumi, "locks")
    locks = []
    for path in sorted((folder / stack).glob("*.json")) if folder else ():
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
