"""Stores of earlier versions: undo what each version of the schema has brought."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from metalbench.store.database import SCHEMA_VERSION

# By the version before the change, as `MIGRATIONS` of the store.
_UNDO = {
    5: tuple(
        f"DROP TABLE {name}" for name in ("attempt_samples", "attempts", "sessions", "records")
    ),
    6: tuple(
        f"ALTER TABLE attempts DROP COLUMN {name}"
        for name in ("steadiness", "steadiness_low", "steadiness_high")
    ),
    7: ("DROP TABLE evaluations",),
    8: ("ALTER TABLE runs DROP COLUMN project",),
    9: ("DROP TABLE exchanges",),
    10: ("ALTER TABLE runs DROP COLUMN project_revision",),
    11: ("ALTER TABLE records DROP COLUMN author",),
    12: (
        *(
            f"ALTER TABLE attempts DROP COLUMN {name}"
            for name in ("objectives", "island", "crossed")
        ),
        "ALTER TABLE exchanges DROP COLUMN call",
        "DROP TABLE diagnoses",
    ),
    13: ("DROP TABLE spending",),
}


def downgrade(path: Path, version: int) -> None:
    """Make the store at `path` one of schema `version`, which is 5 or later."""
    with sqlite3.connect(path) as raw:
        for each in range(SCHEMA_VERSION - 1, version - 1, -1):
            for statement in _UNDO[each]:
                raw.execute(statement)
        raw.execute(f"PRAGMA user_version = {version}")
    raw.close()
