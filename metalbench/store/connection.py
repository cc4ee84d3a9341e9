"""Open the database, and translate its errors."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metalbench.errors import ResultTooLargeError, StoreError
from metalbench.store.schema import MIGRATIONS, SCHEMA_VERSION, TABLES

BUSY_SECONDS = 30.0


def connect(path: Path) -> sqlite3.Connection:
    """Open the store at `path`; creates the file and its folder, and upgrades older versions.

    Raises
    ------
    StoreError
        If the path cannot be written, the file is not a store, or a newer version wrote it.
    """
    with translate_errors(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(_complaint(path, str(error))) from error
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            _prepare(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    # A result that was reported as stored survives a power failure.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    with transaction(connection):
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        scripts = (
            [TABLES] if version == 0 else [MIGRATIONS[v] for v in range(version, SCHEMA_VERSION)]
        )
        for script in scripts:
            for statement in script.split(";\n"):
                connection.execute(statement)
        if scripts:
            connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"[store] {path}: expected schema {SCHEMA_VERSION}, got {version}, which a newer "
            "metalbench wrote; upgrade, or name another file with --db"
        )


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Run a block as one transaction, which other writing processes wait for."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        # With a full disk SQLite has rolled back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raise StoreError, with the path and the next step, for errors of SQLite.

    A value that is too large raises ResultTooLargeError.
    """
    try:
        yield
    except (sqlite3.DataError, OverflowError) as error:
        # SQLite's limit for one value is 10^9 bytes, Python's 2^31 - 1.
        raise ResultTooLargeError(
            f"[store] {path}: a result cannot be stored: {error}; shorten what the "
            "kernel's file, its headers and its task hold"
        ) from error
    except sqlite3.Error as error:
        raise StoreError(_complaint(path, str(error))) from error


def _complaint(path: Path, reason: str) -> str:
    if "full" in reason:
        step = "free some space, or name a file elsewhere with --db; what was kept is safe"
    elif "not a database" in reason or "already exists" in reason:
        step = "that file is something else; name another one with --db"
    elif "locked" in reason:
        step = "another process holds it; wait, or name another file with --db"
    else:
        step = "name a file that can be written with --db, or a folder with METALBENCH_HOME"
    return f"[store] {path}: {reason}; {step}"
