"""The file of a world: its tables, how it is opened, and what can be wrong with it."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from emporion.market.errors import ExitCode, UserError

__all__ = ["SCHEMA_VERSION", "connect", "file_errors", "prepare"]

BUSY_TIMEOUT_S = 30.0

FIRST = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE resources (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, provider TEXT NOT NULL, scope TEXT NOT NULL, region TEXT NOT NULL,
    token TEXT NOT NULL, id TEXT NOT NULL, emporion_id TEXT, project TEXT, stack TEXT, urn TEXT,
    owner INTEGER REFERENCES resources(seq) ON DELETE CASCADE,
    inputs TEXT NOT NULL, outputs TEXT NOT NULL, facts TEXT NOT NULL, created_at TEXT NOT NULL,
    UNIQUE (provider, scope, token, id));
CREATE INDEX resources_by_identity ON resources (emporion_id);
CREATE TABLE capacity (provider TEXT, region TEXT, zone TEXT, instance_type TEXT, machines INTEGER NOT NULL,
    PRIMARY KEY (provider, region, zone, instance_type));
CREATE TABLE quotas (provider TEXT, region TEXT, instance_type TEXT, market TEXT, machines INTEGER NOT NULL,
    PRIMARY KEY (provider, region, instance_type, market));
CREATE TABLE images (seq INTEGER PRIMARY KEY AUTOINCREMENT, provider TEXT NOT NULL, region TEXT NOT NULL,
    id TEXT NOT NULL, name TEXT NOT NULL, purpose TEXT NOT NULL, arch TEXT NOT NULL, published_at TEXT NOT NULL,
    driver_version TEXT, efa_version TEXT, UNIQUE (provider, region, id));
CREATE TABLE faults (seq INTEGER PRIMARY KEY AUTOINCREMENT, provider TEXT NOT NULL, kind TEXT NOT NULL,
    operation TEXT NOT NULL, token TEXT NOT NULL, skip INTEGER NOT NULL, times INTEGER NOT NULL, detail TEXT NOT NULL);
CREATE TABLE calls (seq INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, pid INTEGER NOT NULL,
    provider TEXT NOT NULL, region TEXT NOT NULL, operation TEXT NOT NULL, token TEXT NOT NULL, urn TEXT NOT NULL,
    id TEXT NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE plugins (pid INTEGER PRIMARY KEY, born TEXT NOT NULL, provider TEXT NOT NULL, engine INTEGER NOT NULL);
CREATE TABLE notices (seq INTEGER PRIMARY KEY AUTOINCREMENT, node TEXT NOT NULL, kind TEXT NOT NULL, at TEXT NOT NULL);
INSERT INTO meta VALUES ('running', '1');
INSERT INTO meta VALUES ('made', '0');
"""
CLOCK = """
INSERT INTO meta VALUES ('clock', '{"rate": 1.0, "real_s": 0.0, "world_s": 0.0}');
"""
FAULTS = """
ALTER TABLE faults ADD COLUMN region TEXT NOT NULL DEFAULT '*';
ALTER TABLE faults ADD COLUMN zone TEXT NOT NULL DEFAULT '*';
ALTER TABLE faults ADD COLUMN instance_type TEXT NOT NULL DEFAULT '*';
ALTER TABLE faults ADD COLUMN market TEXT NOT NULL DEFAULT '*';
ALTER TABLE faults ADD COLUMN starts_s REAL NOT NULL DEFAULT 0;
ALTER TABLE faults ADD COLUMN ends_s REAL;
"""
SEED = """
INSERT INTO meta VALUES ('seed', '');
"""
MODELS = """
INSERT INTO meta VALUES ('delays', 'none');
INSERT INTO meta VALUES ('delays_since', '0');
INSERT INTO meta VALUES ('interruptions', 'none');
INSERT INTO meta VALUES ('interruptions_since', '0');
INSERT INTO meta VALUES ('prices', 'fixed');
INSERT INTO meta VALUES ('prices_since', '0');
CREATE TABLE ordinals (key TEXT PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE interruptions (seq INTEGER PRIMARY KEY AUTOINCREMENT, plugin TEXT NOT NULL, region TEXT NOT NULL,
    machine INTEGER NOT NULL, node TEXT NOT NULL, notice_s REAL NOT NULL, ends_s REAL NOT NULL,
    done INTEGER NOT NULL DEFAULT 0);
CREATE INDEX interruptions_of_nodes ON interruptions (node);
CREATE TABLE quota_requests (seq INTEGER PRIMARY KEY AUTOINCREMENT, plugin TEXT NOT NULL, region TEXT NOT NULL,
    instance_type TEXT NOT NULL, market TEXT NOT NULL, machines INTEGER, answer_s REAL NOT NULL);
CREATE TABLE price_records (provider TEXT NOT NULL, region TEXT NOT NULL, zone TEXT NOT NULL,
    instance_type TEXT NOT NULL, at_s REAL NOT NULL, usd_per_hour TEXT NOT NULL,
    PRIMARY KEY (provider, region, zone, instance_type, at_s));
"""
VERSIONS = (FIRST, CLOCK, FAULTS, SEED, MODELS)
"""What each version of the schema adds. A new file takes all of them, an older one those that it lacks."""
SCHEMA_VERSION = len(VERSIONS)


def connect(path: Path) -> sqlite3.Connection:
    """Open the file, readable by its owner alone; it may be empty still."""
    # A file made by sqlite3 takes the umask; secrets of the world's programs lie in it.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA foreign_keys = ON")
    # Whole after any kill of a process; a power cut may lose the last calls.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables, or those that an older Emporion did not make; two processes at once make them once.

    Raises: UserError E-WORLD: when the file comes from a newer Emporion, or lacks what its version should have.
    """
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == SCHEMA_VERSION:
        return
    if version > SCHEMA_VERSION:
        raise UserError(
            "E-WORLD",
            f"the local world has schema {version}, this version reads {SCHEMA_VERSION}",
            str(path),
            "use the newer emporion, or start over: emporion local reset",
        )
    with FileLock(path.with_suffix(".making"), timeout=BUSY_TIMEOUT_S, mode=0o600):
        try:
            _make(connection)
        except sqlite3.OperationalError as error:
            if "no such" in str(error) or "already" in str(error):
                raise _damaged(path, error) from error
            raise


def _make(connection: sqlite3.Connection) -> None:
    """Make what is missing; held apart from other processes, since SQLite does not wait for a change to WAL."""
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        for statements in VERSIONS[version:]:  # none, where another process made them in the meantime
            for statement in statements.strip().split(";\n"):
                connection.execute(statement)
        connection.execute("INSERT OR IGNORE INTO meta VALUES ('world', ?)", (uuid.uuid4().hex,))
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _damaged(path: Path, error: sqlite3.Error) -> UserError:
    return UserError(
        "E-WORLD",
        f"the local world is damaged: {error}",
        str(path),
        "start over: emporion local reset",
        ExitCode.FAILED,
    )


def _busy(path: Path) -> UserError:
    return UserError(
        "E-BUSY",
        f"the local world stayed locked for {BUSY_TIMEOUT_S:.0f} s",
        str(path),
        "try again; `emporion local status` shows who uses it",
        ExitCode.FAILED,
    )


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn what goes wrong with the file inside the block into the user's words.

    Raises: UserError E-DISK: when it cannot be written; E-BUSY: when it stays locked; E-WORLD: when it is damaged.
    """
    try:
        yield
    except sqlite3.OperationalError as error:
        text = str(error)
        if "full" in text or "readonly" in text or "unable to open" in text or "disk I/O" in text:
            raise UserError(
                "E-DISK",
                f"the local world cannot be written: {text}",
                str(path),
                "free space or set EMPORION_HOME",
                ExitCode.FAILED,
            ) from error
        if "locked" in text:
            raise _busy(path) from error
        raise
    except Timeout as error:
        raise _busy(path) from error
    except sqlite3.DatabaseError as error:
        if isinstance(error, (sqlite3.IntegrityError, sqlite3.ProgrammingError)):
            raise
        raise _damaged(path, error) from error
    except OSError as error:
        if isinstance(error, UserError):
            raise
        raise UserError(
            "E-DISK",
            f"the local world cannot be written: {error.strerror}",
            str(path),
            "free space or set EMPORION_HOME",
            ExitCode.FAILED,
        ) from error
