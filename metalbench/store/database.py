"""The path of the store."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from metalbench.errors import ResultTooLargeError, StoreError

FILE_NAME = "results.db"


def store_path(explicit: str | Path | None = None) -> Path:
    """Return `explicit`, else the path in `$METALBENCH_HOME`, else in the user's data folder."""
    if explicit is not None:
        return Path(explicit)
    home = os.environ.get("METALBENCH_HOME")
    if home:
        return Path(home) / FILE_NAME
    from platformdirs import user_data_path

    return user_data_path("metalbench", appauthor=False) / FILE_NAME


# The tables. `SCHEMA_VERSION` is the file's `user_version`; older files are upgraded.
#
# Times are nanoseconds of one pass, instants ISO 8601 in UTC. An interval has three columns: the
# estimate, `_low` and `_high`; both ends are NULL if the samples are too few for an interval.

SCHEMA_VERSION = 14

TABLES = """
CREATE TABLE environments (
    id INTEGER PRIMARY KEY,
    json TEXT NOT NULL UNIQUE               -- metalbench.store.environment.Environment
);
CREATE TABLE sources (
    hash TEXT PRIMARY KEY,                  -- SHA-256 of text
    text TEXT NOT NULL
);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    started_at TEXT NOT NULL,
    finished_at TEXT,                       -- NULL: still running, or killed
    outcome TEXT,                           -- 'finished', 'interrupted', 'stopped'
    options TEXT NOT NULL,                  -- JSON: the command line's options
    device_kind TEXT NOT NULL,
    device_name TEXT NOT NULL,
    device_chip TEXT,
    device_cores INTEGER NOT NULL,
    environment INTEGER NOT NULL REFERENCES environments (id),
    device_capabilities TEXT,               -- JSON: what the device tells of itself
    project TEXT,                           -- metalbench.store.project; NULL: of any project
    project_revision TEXT                   -- git's, of the project; NULL: none, or not known
);
CREATE TABLE results (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL REFERENCES runs (id),
    recorded_at TEXT NOT NULL,
    task TEXT NOT NULL,
    task_set TEXT NOT NULL,
    size TEXT NOT NULL,
    sizes TEXT NOT NULL,                    -- JSON: name -> extent
    dtype TEXT NOT NULL,
    kernel TEXT NOT NULL,                   -- file name, which tells the chip's variant
    source TEXT NOT NULL REFERENCES sources (hash),
    tunables TEXT NOT NULL,                 -- JSON: macro -> value
    status TEXT NOT NULL,                   -- 'correct', 'incorrect', 'failed',
                                            -- 'not by its own kernels'
    failures TEXT NOT NULL,                 -- JSON: [{stage, kind, message}]
    checks TEXT NOT NULL,                   -- JSON: [{size, seed, passed, worst, where, message}]
    seconds REAL NOT NULL,
    kernel_ns REAL, kernel_ns_low REAL, kernel_ns_high REAL,
    reference_ns REAL, reference_ns_low REAL, reference_ns_high REAL,
    ratio REAL, ratio_low REAL, ratio_high REAL,    -- reference / kernel
    verdict TEXT,
    gflops REAL, gbytes_per_s REAL,
    stability REAL,
    floor_ns REAL,
    stopped TEXT,                           -- why sampling ended
    gpu_ns REAL, gpu_ns_low REAL, gpu_ns_high REAL, -- the kernel on the GPU's own clock
    clock TEXT,                             -- of the other times, ratio and verdict: 'GPU time',
                                            -- 'wall time'
    device_state TEXT,                      -- JSON: of the device when the kernel had been timed
    notes TEXT,                             -- JSON: [what was not checked, or is doubtful]
    p_value REAL,                           -- of the ratio, were there no difference that counts
    reasons TEXT,                           -- JSON: [{cause, seen, remedy}], of no verdict
    mode TEXT,                              -- 'warm', 'cold'; NULL is warm
    effective_pairs REAL,
    outliers INTEGER,
    discarded INTEGER,                      -- pairs dropped because the clock was throttled
    retries INTEGER,                        -- rests after throttling
    probe_spread REAL,                      -- of a probe of the clock: p95 / least - 1
    forms TEXT,                             -- JSON: [{name, value, low, high, compared, fault}]
    gpu_ratio REAL, gpu_ratio_low REAL, gpu_ratio_high REAL,        -- by each of two clocks; one of
    wall_ratio REAL, wall_ratio_low REAL, wall_ratio_high REAL,     -- them is `ratio`
    gpu_floor_ns REAL,                      -- an empty kernel on the GPU's own clock
    tuning TEXT                             -- where the tunables come from, if from a search
);
CREATE INDEX results_by_task ON results (task, id);
CREATE TABLE samples (
    result INTEGER NOT NULL REFERENCES results (id),
    series TEXT NOT NULL,                   -- 'kernel', 'reference', 'floor', 'kernel_first',
                                            -- 'look', which older results lack; 'probe', 'long'
                                            -- where there are such, and of a GPU 'gpu',
                                            -- 'counter', 'wall', 'encode', 'floor_gpu'; of its
                                            -- reference 'reference_gpu', 'reference_wall',
                                            -- 'reference_long'
    passes INTEGER NOT NULL,                -- that one sample averages over
    dtype TEXT NOT NULL,                    -- numpy's, little-endian
    data BLOB NOT NULL,
    PRIMARY KEY (result, series)
) WITHOUT ROWID;
"""

TUNINGS = """
CREATE TABLE tunings (
    device_kind TEXT NOT NULL,
    device_name TEXT NOT NULL,
    device_cores INTEGER NOT NULL,
    task TEXT NOT NULL,
    dtype TEXT NOT NULL,
    size TEXT NOT NULL,
    source TEXT NOT NULL,                   -- SHA-256 of the kernel's text
    engine TEXT NOT NULL,                   -- of the cpu device; '' of a GPU
    tunables TEXT NOT NULL,                 -- JSON: macro -> value
    ratio REAL, ratio_low REAL, ratio_high REAL,    -- defaults / values; NULL: the defaults won
    candidates INTEGER NOT NULL,
    found_at TEXT NOT NULL,
    PRIMARY KEY (device_kind, device_name, device_cores, dtype, source, engine, size)
) WITHOUT ROWID;
"""
TABLES += TUNINGS

RECORDS = """
CREATE TABLE records (
    id INTEGER PRIMARY KEY,                 -- of one place the latest is the record
    result INTEGER NOT NULL UNIQUE REFERENCES results (id),
    device_kind TEXT NOT NULL,
    device_name TEXT NOT NULL,
    device_chip TEXT,
    device_cores INTEGER NOT NULL,
    engine TEXT NOT NULL,                   -- of the cpu device; '' of a GPU
    task TEXT NOT NULL,
    dtype TEXT NOT NULL,
    size TEXT NOT NULL,
    sizes TEXT NOT NULL,                    -- JSON: name -> extent, by name
    header TEXT NOT NULL,                   -- the lines above the kernel's first line of code
    over INTEGER REFERENCES records (id),   -- the record before; NULL: the first
    gains TEXT NOT NULL,                    -- JSON: [[before / after, low, high]], of two pairings
    origin TEXT NOT NULL,                   -- what brought it in, such as 'run'
    accepted_at TEXT NOT NULL
);
CREATE INDEX records_by_place ON records (task, dtype, size, device_kind, device_name);
"""
TABLES += RECORDS

# The name of a person or team, by METALBENCH_AUTHOR; NULL: none was given.
AUTHORS = """
ALTER TABLE records ADD COLUMN author TEXT;
"""
TABLES += AUTHORS

# For agent_steel, whose queries are in agent_steel.history.
ATTEMPTS = """
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY,
    started_at TEXT NOT NULL,
    finished_at TEXT,                       -- NULL: still running, interrupted, or killed
    outcome TEXT,                           -- why it ended
    options TEXT NOT NULL                   -- JSON: the command line's options
);
CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id),
    device_kind TEXT NOT NULL,
    device_name TEXT NOT NULL,
    device_cores INTEGER NOT NULL,
    engine TEXT NOT NULL,                   -- of the cpu device; '' of a GPU
    task TEXT NOT NULL,
    dtype TEXT NOT NULL,
    size TEXT NOT NULL,
    parent INTEGER REFERENCES attempts (id),    -- that it was made from
    rival INTEGER REFERENCES attempts (id),     -- that it was measured against; NULL: its parent
    round INTEGER NOT NULL,
    source TEXT NOT NULL REFERENCES sources (hash),
    source_key TEXT NOT NULL,               -- of the source without comments and spacing
    tunables TEXT NOT NULL,                 -- JSON: macro -> value
    fate TEXT NOT NULL,                     -- agent_steel.attempt.Fate
    diagnosis TEXT NOT NULL,
    wording TEXT NOT NULL,                  -- the diagnosis in the proposer's words
    summary TEXT NOT NULL,
    technique TEXT NOT NULL,
    proposer TEXT NOT NULL,
    model TEXT NOT NULL,
    ratio REAL, ratio_low REAL, ratio_high REAL,    -- rival / this one, in pairs
    error TEXT NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    cost REAL,                              -- US dollars; NULL: no price is known
    proposed_at TEXT NOT NULL,
    judged_at TEXT NOT NULL,                -- '' of what is pending
    measured_from REAL, measured_to REAL    -- seconds of the system's monotonic clock
);
CREATE INDEX attempts_by_task ON attempts (task, id);
CREATE TABLE attempt_samples (
    attempt INTEGER NOT NULL REFERENCES attempts (id),
    measurement INTEGER NOT NULL,           -- 0: the first one; 1: the confirmation; then two for
                                            -- each time that it was repeated
    series TEXT NOT NULL,                   -- as in samples; 'reference' is the rival
    passes INTEGER NOT NULL,
    dtype TEXT NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (attempt, measurement, series)
) WITHOUT ROWID;
"""
TABLES += ATTEMPTS

# Dispersion of the rival / of the attempt.
STEADINESS = """
ALTER TABLE attempts ADD COLUMN steadiness REAL;
ALTER TABLE attempts ADD COLUMN steadiness_low REAL;
ALTER TABLE attempts ADD COLUMN steadiness_high REAL;
"""
TABLES += STEADINESS

# Requests to models, for `agent_steel log`.
EXCHANGES = """
CREATE TABLE exchanges (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id),
    attempt INTEGER REFERENCES attempts (id),   -- the first one of the answer; NULL: there is none
    task TEXT NOT NULL,
    round INTEGER NOT NULL,
    proposer TEXT NOT NULL,
    model TEXT NOT NULL,
    system TEXT NOT NULL REFERENCES sources (hash),
    prompt TEXT NOT NULL REFERENCES sources (hash), -- the new turn of the conversation
    answer TEXT NOT NULL REFERENCES sources (hash),
    error TEXT NOT NULL,                    -- why there is no answer, or it cannot be used
    asked_at TEXT NOT NULL,
    seconds REAL NOT NULL,
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost REAL                               -- US dollars; NULL: no price is known
);
CREATE INDEX exchanges_by_task ON exchanges (task, id);
"""
TABLES += EXCHANGES

# For agent_steel: several objectives, islands of a population, and recorded sessions.
#
# objectives: JSON, name -> [ratio, low, high]; NULL with one objective. island: of --strategy
# population. crossed: the second parent. call: counts a session's questions to a proposer. json of
# a diagnosis: bound, text and facts as a proposer got them.
SEARCHES = """
ALTER TABLE attempts ADD COLUMN objectives TEXT;
ALTER TABLE attempts ADD COLUMN island INTEGER;
ALTER TABLE attempts ADD COLUMN crossed INTEGER REFERENCES attempts (id);
ALTER TABLE exchanges ADD COLUMN call INTEGER;
CREATE TABLE diagnoses (
    session INTEGER NOT NULL REFERENCES sessions (id),
    attempt INTEGER NOT NULL REFERENCES attempts (id),
    json TEXT NOT NULL,
    PRIMARY KEY (session, attempt)
) WITHOUT ROWID;
"""
TABLES += SEARCHES

# What each request of a session to a model has used. Until its end is known it is the most that it
# may use, so that a session that was killed stays within its limits.
SPENDING = """
CREATE TABLE spending (
    id INTEGER PRIMARY KEY,
    session INTEGER NOT NULL REFERENCES sessions (id),
    tokens_in INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cost REAL
);
CREATE INDEX spending_by_session ON spending (session);
"""
TABLES += SPENDING

# For metalbench.kernelbench: the outcome of each sample of a model.
EVALUATIONS = """
CREATE TABLE evaluations (
    id INTEGER PRIMARY KEY,                 -- of one sample on one device the latest counts
    generation TEXT NOT NULL,               -- which folder of generations, by its run.json
    level TEXT NOT NULL,                    -- the folder in it, such as 'level_1'
    problem INTEGER NOT NULL,
    sample INTEGER NOT NULL,
    text_hash TEXT NOT NULL,                -- SHA-256 of the sample's file
    result INTEGER NOT NULL REFERENCES results (id),
    outcome TEXT NOT NULL,                  -- metalbench.kernelbench.Outcome
    message TEXT NOT NULL,
    measured_from REAL, measured_to REAL    -- seconds of the system's monotonic clock
);
CREATE INDEX evaluations_by_generation ON evaluations (generation, level, problem, sample);
"""
TABLES += EVALUATIONS

# Statements that upgrade each version to the next.
MIGRATIONS = {
    1: """
ALTER TABLE runs ADD COLUMN device_capabilities TEXT;
ALTER TABLE results ADD COLUMN gpu_ns REAL;
ALTER TABLE results ADD COLUMN gpu_ns_low REAL;
ALTER TABLE results ADD COLUMN gpu_ns_high REAL;
ALTER TABLE results ADD COLUMN clock TEXT;
ALTER TABLE results ADD COLUMN device_state TEXT;
ALTER TABLE results ADD COLUMN notes TEXT;
""",
    2: """
ALTER TABLE results ADD COLUMN p_value REAL;
ALTER TABLE results ADD COLUMN reasons TEXT;
ALTER TABLE results ADD COLUMN mode TEXT;
ALTER TABLE results ADD COLUMN effective_pairs REAL;
ALTER TABLE results ADD COLUMN outliers INTEGER;
ALTER TABLE results ADD COLUMN discarded INTEGER;
ALTER TABLE results ADD COLUMN retries INTEGER;
ALTER TABLE results ADD COLUMN probe_spread REAL;
ALTER TABLE results ADD COLUMN forms TEXT;
""",
    3: """
ALTER TABLE results ADD COLUMN gpu_ratio REAL;
ALTER TABLE results ADD COLUMN gpu_ratio_low REAL;
ALTER TABLE results ADD COLUMN gpu_ratio_high REAL;
ALTER TABLE results ADD COLUMN wall_ratio REAL;
ALTER TABLE results ADD COLUMN wall_ratio_low REAL;
ALTER TABLE results ADD COLUMN wall_ratio_high REAL;
ALTER TABLE results ADD COLUMN gpu_floor_ns REAL;
""",
    4: f"""
ALTER TABLE results ADD COLUMN tuning TEXT;
{TUNINGS}
""",
    5: f"{RECORDS}{ATTEMPTS}",
    6: STEADINESS,
    7: EVALUATIONS,
    8: """
ALTER TABLE runs ADD COLUMN project TEXT;
""",
    9: EXCHANGES,
    10: """
ALTER TABLE runs ADD COLUMN project_revision TEXT;
""",
    11: AUTHORS,
    12: SEARCHES,
    13: SPENDING,
}


# Open the database, and translate its errors.

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
