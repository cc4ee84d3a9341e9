CREATE TABLE environments (
    id INTEGER PRIMARY KEY,
    json TEXT NOT NULL UNIQUE               -- metalbench.environment.Environment
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
    environment INTEGER NOT NULL REFERENCES environments (id)
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
    status TEXT NOT NULL,                   -- 'correct', 'incorrect', 'failed'
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
    stopped TEXT                            -- why sampling ended
);
CREATE INDEX results_by_task ON results (task, id);
CREATE TABLE samples (
    result INTEGER NOT NULL REFERENCES results (id),
    series TEXT NOT NULL,                   -- 'kernel', 'reference', 'floor', 'kernel_first'
    passes INTEGER NOT NULL,                -- that one sample averages over
    dtype TEXT NOT NULL,                    -- numpy's, little-endian
    data BLOB NOT NULL,
    PRIMARY KEY (result, series)
) WITHOUT ROWID;
PRAGMA user_version = 1;
INSERT INTO environments VALUES (1, '{}');
INSERT INTO sources VALUES ('abc', 'kernel void relu() {}');
INSERT INTO runs VALUES
    (1, '2026-01-02T03:04:05+00:00', NULL, 'finished', '{}', 'cpu', 'Example CPU', NULL, 2, 1);
INSERT INTO results VALUES
    (1, 1, '2026-01-02T03:04:06+00:00', 'relu', 'common', 'seed', '{}', 'float32', 'relu.metal', 'abc',
     '{}', 'correct', '[]', '[]', 1.5, 100.0, 99.0, 101.0, 200.0, 199.0, 201.0, 2.0, 1.9, 2.1,
     'FASTER', 5.0, 6.0, 0.9, 7.0, 'time limit');
INSERT INTO samples VALUES (1, 'kernel', 10, '<f8', x'0000000000005940');
