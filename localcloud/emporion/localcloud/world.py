"""The world: one SQLite file that holds everything the stand-in clouds made, shared by several processes at once.

Every change is one short transaction in WAL mode, so kill -9 of any process leaves all of a change or none of it.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from emporion.localcloud.clock import REAL, VirtualClock
from emporion.localcloud.model_kinds import MODELS
from emporion.localcloud.world_file import connect, file_errors, prepare

__all__ = ["Resource", "World", "iso_time", "world_path"]

NAMES = (
    "seq",
    "provider",
    "region",
    "token",
    "id",
    "emporion_id",
    "project",
    "stack",
    "urn",
    "owner",
    "inputs",
    "outputs",
    "facts",
    "created_at",
)
COLUMNS = ", ".join(NAMES)
TO_FORGET = (
    "resources",
    "capacity",
    "quotas",
    "quota_requests",
    "images",
    "faults",
    "calls",
    "notices",
    "interruptions",
    "ordinals",
    "price_records",
)
JSON_COLUMNS = frozenset({"inputs", "outputs", "facts"})


@dataclass(frozen=True, slots=True)
class Resource:
    """One thing that exists in the world."""

    seq: int
    provider: str
    region: str
    token: str
    id: str
    emporion_id: str | None
    project: str | None
    stack: str | None
    urn: str | None
    owner: int | None
    """What made it by itself (a group its machines); None: a program did."""
    inputs: Mapping[str, Any]
    outputs: Mapping[str, Any]
    facts: Mapping[str, Any]
    """What the world alone knows: a machine's launch, its addresses."""
    created_at: str


def world_path(home: Path) -> Path:
    """Return where the world of an Emporion home lies."""
    return home / "world" / "world.db"


def iso_time(seconds: float) -> str:
    """Return a moment as UTC, ISO 8601 to the millisecond."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds * 1000) % 1000:03d}Z"


class World:
    """One open world. Safe to share between threads; other processes may have it open too."""

    def __init__(self, path: Path, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self.path = path
        self.clock = clock
        """This machine's; the world's own is `time_s`."""
        self._connection = connection
        self._lock = threading.RLock()
        self._pinned_s: float | None = None
        self.name = self.meta("world")
        """Unique to this world until it is reset; the seed of its ids."""

    @classmethod
    def open(cls, home: Path, clock: Callable[[], float] = time.time) -> World:
        """Return the world of an Emporion home, made when it is not there.

        Raises: UserError E-WORLD: when the file is no world, is damaged or comes from a newer Emporion; E-DISK: when it
        cannot be written.
        """
        path = world_path(home)
        with file_errors(path):
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            connection = connect(path)
            try:
                prepare(connection, path)
                return cls(path, connection, clock)
            except BaseException:
                connection.close()
                raise

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection inside one transaction: all of it is kept, or nothing when the block raises."""
        with self._lock, file_errors(self.path):
            if self._connection.in_transaction:
                yield self._connection
                return
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.rollback()
                raise
            self._connection.commit()

    def query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows of a SELECT."""
        with self._lock, file_errors(self.path):
            return self._connection.execute(sql, values).fetchall()

    def meta(self, key: str) -> str:
        """Return one fact about the world itself."""
        ((value,),) = self.query("SELECT value FROM meta WHERE key = ?", key)
        return str(value)

    def set_meta(self, key: str, value: str) -> None:
        """Change one fact about the world itself."""
        with self.transaction() as connection:
            connection.execute("UPDATE meta SET value = ? WHERE key = ?", (value, key))

    @property
    def running(self) -> bool:
        """Whether the local cloud answers."""
        return self.meta("running") == "1"

    def virtual_clock(self) -> VirtualClock:
        """Return how the world's time goes."""
        return VirtualClock.of(self.meta("clock"))

    def set_virtual_clock(self, clock: VirtualClock) -> None:
        """Change how the world's time goes (`time_control` has what users may do)."""
        self.set_meta("clock", clock.text())

    def time_s(self) -> float:
        """Return the world's time, seconds since 1970."""
        return self.virtual_clock().at(self.clock()) if self._pinned_s is None else self._pinned_s

    @contextmanager
    def at(self, moment_s: float) -> Iterator[None]:
        """Let everything inside the block happen at one moment: what came to pass since anybody looked."""
        before_s, self._pinned_s = self._pinned_s, moment_s
        try:
            yield
        finally:
            self._pinned_s = before_s

    def now(self) -> str:
        """Return the world's time, UTC, ISO 8601."""
        return iso_time(self.time_s())

    @property
    def seed(self) -> str:
        """What the world's chances follow from: its name unless somebody chose."""
        return self.meta("seed") or self.name

    def set_seed(self, seed: str) -> None:
        """Let the world's chances follow from a seed; empty: from its name again."""
        self.set_meta("seed", seed)

    def reset(self) -> None:
        """Forget everything: resources, capacity, quotas, faults, images, the call log. The world gets a new name.

        Its clock is this machine's again.
        """
        with self.transaction() as connection:
            for table in TO_FORGET:
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - the names stand above
            self.name = uuid.uuid4().hex
            self.set_meta("world", self.name)
            self.set_virtual_clock(REAL)
            self.set_seed("")
            for each in MODELS.values():
                self.set_meta(each.name, each.values[0])

    # resources

    def resources(
        self,
        provider: str | None = None,
        token: str | None = None,
        region: str | None = None,
        *,
        owner: int | None = None,
        containing: str | None = None,
    ) -> list[Resource]:
        """Return what exists, oldest first; `containing` is text that the outputs hold."""
        where, values = ["1"], []
        filters = (
            ("provider = ?", provider),
            ("token = ?", token),
            ("region = ?", region),
            ("owner = ?", owner),
            ("instr(outputs, ?)", containing),
        )
        for condition, value in filters:
            if value is not None:
                where.append(condition)
                values.append(value)
        sql = f"SELECT {COLUMNS} FROM resources WHERE {' AND '.join(where)} ORDER BY seq"  # noqa: S608 - fixed texts
        return [_resource(row) for row in self.query(sql, *values)]

    def resource(self, provider: str, scope: str, token: str, resource_id: str) -> Resource | None:
        """Return one thing by its id; `scope` is its region, or empty for a global type."""
        rows = self.query(
            f"SELECT {COLUMNS} FROM resources WHERE provider = ? AND scope = ? AND token = ? AND id = ?",  # noqa: S608
            provider,
            scope,
            token,
            resource_id,
        )
        return _resource(rows[0]) if rows else None

    def next_seed(self) -> str:
        """Return a seed that no other thing in this world has or will have."""
        with self.transaction() as connection:
            number = int(self.meta("made")) + 1
            connection.execute("UPDATE meta SET value = ? WHERE key = 'made'", (str(number),))
        return f"{self.name}/{number}"

    def ordinal(self, key: str) -> int:
        """Return how often this was asked with a key: 1 the first time."""
        with self.transaction() as connection:
            ((number,),) = connection.execute(
                "INSERT INTO ordinals VALUES (?, 1) ON CONFLICT (key) DO UPDATE SET number = number + 1"
                " RETURNING number",
                (key,),
            ).fetchall()
        return int(number)

    def insert(
        self,
        *,
        provider: str,
        scope: str,
        region: str,
        token: str,
        resource_id: str,
        inputs: Mapping[str, Any],
        outputs: Mapping[str, Any],
        facts: Mapping[str, Any] | None = None,
        emporion_id: str | None = None,
        project: str | None = None,
        stack: str | None = None,
        urn: str | None = None,
        owner: int | None = None,
    ) -> int:
        """Add one thing and return its number."""
        with self.transaction() as connection:
            cursor = connection.execute(
                "INSERT INTO resources (provider, scope, region, token, id, emporion_id, project, stack, urn, owner,"
                " inputs, outputs, facts, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    provider,
                    scope,
                    region,
                    token,
                    resource_id,
                    emporion_id,
                    project,
                    stack,
                    urn,
                    owner,
                    _json(inputs),
                    _json(outputs),
                    _json(facts or {}),
                    self.now(),
                ),
            )
            return int(cursor.lastrowid or 0)

    def change(self, seq: int, **columns: object) -> None:
        """Change columns of one thing; mappings are stored as JSON."""
        with self.transaction() as connection:
            for column, value in columns.items():
                stored = _json(value) if isinstance(value, Mapping) else value
                connection.execute(f"UPDATE resources SET {column} = ? WHERE seq = ?", (stored, seq))  # noqa: S608

    def remove(self, seq: int) -> None:
        """Remove one thing and what it made by itself."""
        with self.transaction() as connection:
            connection.execute("DELETE FROM resources WHERE seq = ?", (seq,))

    # the call log

    def log_call(
        self,
        *,
        provider: str,
        region: str,
        operation: str,
        token: str,
        urn: str,
        resource_id: str,
        outcome: str,
    ) -> None:
        """Note one provider call; `outcome` is `ok` or an error code, never a value."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT INTO calls (at, pid, provider, region, operation, token, urn, id, outcome)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (self.now(), os.getpid(), provider, region, operation, token, urn, resource_id, outcome),
            )

    def calls(self) -> list[dict[str, Any]]:
        """Return the call log, oldest first."""
        names = ("at", "pid", "provider", "region", "operation", "token", "urn", "id", "outcome")
        rows = self.query(f"SELECT {', '.join(names)} FROM calls ORDER BY seq")  # noqa: S608 - the names stand above
        return [dict(zip(names, row, strict=True)) for row in rows]

    def counts(self) -> dict[str, int]:
        """Return how many things of each type exist, by type token."""
        return dict(self.query("SELECT token, count(*) FROM resources GROUP BY token ORDER BY token"))


def _json(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)


def _resource(row: Sequence[Any]) -> Resource:
    named = dict(zip(NAMES, row, strict=True))
    return Resource(**{**named, **{name: json.loads(named[name]) for name in JSON_COLUMNS}})
