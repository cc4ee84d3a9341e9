"""Opening the database, and turning its errors into ours."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metalbench.errors import ResultTooLargeError, StoreError
from metalbench.store.schema import MIGRATIONS, SCHEMA_VERSION, TABLES

BUSY_SECONDS = 30.0


def connect(path: Path) -> sqlite3.Connection:
    """Open the store at `path`; it and its folder are made if missing, older files brought up.

    Raises
    ------
    StoreError
        If the place cannot be written, the file is no store, or a newer version wrote it.
    """
    with explained(path):
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
    # A result that was reported as kept survives a power cut too.
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
    """All or nothing; other processes that write wait."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        # A full disk has rolled back already.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Raise StoreError, with the path and the next step, for what SQLite reports.

    For a value that is too large that is ResultTooLargeError.
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
