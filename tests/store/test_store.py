"""Nothing that finished is lost, and everything that was put in comes out."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from example_results import CPU, GPU, STATE, correct, failed, incorrect, on_gpu, without_interval

from metalbench.errors import StoreError
from metalbench.stats import Interval
from metalbench.store.database import SCHEMA_VERSION, store_path
from metalbench.store.environment import environment
from metalbench.store.result import Tuning
from metalbench.store.store import Store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "results.db"


def begin(store: Store) -> int:
    return store.begin_run({"names": ["softmax"]}, CPU, environment())


def test_a_result_round_trips_with_its_intervals(path: Path) -> None:
    result = correct()
    assert result.measurement is not None
    with Store(path) as store:
        store.record(begin(store), result)
    with Store(path) as store:
        (entry,) = store.history("softmax")
    assert (entry.status, entry.verdict, entry.dtype) == ("correct", "FASTER", "float32")
    assert entry.kernel_ns == result.measurement.candidate_ns
    assert entry.ratio == result.measurement.ratio
    assert entry.source_hash == result.case.source_hash


def test_raw_samples_round_trip_bit_for_bit(path: Path) -> None:
    result = correct()
    assert result.measurement is not None
    with Store(path) as store:
        number = store.record(begin(store), result)
        kept = store.samples(number)
    samples = result.measurement.samples
    assert np.array_equal(kept["kernel"], samples.candidate_ns)
    assert np.array_equal(kept["reference"], samples.reference_ns)
    assert np.array_equal(kept["floor"], samples.floor_ns)
    assert np.array_equal(kept["kernel_first"].astype(bool), samples.candidate_first)
    assert np.array_equal(kept["look"], samples.batch)


def test_history_is_of_one_task_and_latest_first(path: Path) -> None:
    with Store(path) as store:
        run = begin(store)
        numbers = [store.record(run, correct(seed=seed)) for seed in range(4)]
        store.record(run, incorrect("relu"))
        assert [entry.id for entry in store.history("softmax", limit=3)] == numbers[:0:-1]
        assert [entry.status for entry in store.history("relu")] == ["incorrect"]
        assert store.history("unheard_of") == []


def test_a_failed_kernel_is_a_result_without_times(path: Path) -> None:
    with Store(path) as store:
        store.record(begin(store), failed("gelu"))
        (entry,) = store.history("gelu")
    assert (entry.status, entry.kernel_ns, entry.ratio) == ("failed", None, None)


def test_an_unbounded_interval_round_trips(path: Path) -> None:
    with Store(path) as store:
        store.record(begin(store), without_interval(correct()))
        (entry,) = store.history("softmax")
    assert entry.kernel_ns is not None
    assert not entry.kernel_ns.is_bounded


def test_equal_sources_and_environments_are_kept_once(path: Path) -> None:
    with Store(path) as store:
        for _ in range(3):
            store.record(begin(store), correct())
    with sqlite3.connect(path) as raw:
        counts = [
            raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("sources", "environments", "runs", "results")
        ]
        (text,) = raw.execute("SELECT json FROM environments").fetchone()
    raw.close()
    assert counts == [1, 1, 3, 3]
    assert json.loads(text)["versions"]["numpy"] == np.__version__


KILLED = """
import sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from example_results import CPU, correct
from metalbench.store.environment import environment
from metalbench.store.store import Store
store = Store(Path(sys.argv[1]))
run = store.begin_run({}, CPU, environment())
while True:
    print(store.record(run, correct()), flush=True)
"""


def test_kill_9_loses_no_finished_result(path: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(path), str(Path(__file__).parent.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        first = [child.stdout.readline() for _ in range(5)]
        child.kill()
        told = len([*first, *child.stdout])
    assert all(first)
    with Store(path) as store:
        kept = store.history("softmax", limit=1_000_000)
        # One more may have been committed, and not yet reported.
        assert len(kept) in (told, told + 1)
        assert all(len(store.samples(entry.id)["kernel"]) == 64 for entry in kept[:5])
        store.record(begin(store), correct())
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("SELECT count(*) FROM runs WHERE outcome IS NULL").fetchone() == (2,)
    raw.close()


def fill(store: Store, run: int) -> None:
    for seed in range(100):
        store.record(run, correct(seed=seed))


def test_a_full_disk_is_reported_and_keeps_stored_results(path: Path) -> None:
    with Store(path) as store:
        run = begin(store)
        store.record(run, correct())
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        # SQLite's own limit of a file's size: fails just as a full disk does.
        store._connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match="full; free some space") as raised:
            fill(store, run)
        assert str(path) in str(raised.value)
        assert len(store.history("softmax", limit=1000)) >= 1
    with Store(path) as store:
        kept = store.history("softmax", limit=1000)
        assert all(len(store.samples(entry.id)) == 5 for entry in kept)


def test_two_open_stores_may_write_to_one_file(path: Path) -> None:
    with Store(path) as one, Store(path) as other:
        for store in (one, other, one, other):
            store.record(begin(store), correct())
        assert len(one.history("softmax")) == 4


def test_a_file_of_another_kind_is_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 1000)
    with pytest.raises(StoreError, match=r"notes\.txt: file is not a database; .*--db"):
        Store(path)
    assert path.read_text().startswith("dear diary")


def test_an_invalid_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="METALBENCH_HOME"):
        Store(tmp_path / "file" / "results.db")


def columns(path: Path) -> dict[str, set[tuple[str, str]]]:
    with sqlite3.connect(path) as raw:
        found = {
            table: {(row[1], row[2]) for row in raw.execute(f"PRAGMA table_info({table})")}
            for (table,) in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
    raw.close()
    return found


def test_a_store_of_the_first_version_is_migrated(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as raw:
        raw.executescript((Path(__file__).parent / "schema_1.sql").read_text())
    raw.close()
    for _ in range(2):
        with Store(path) as store:
            (entry,) = store.history("relu")
            assert (entry.status, entry.verdict, entry.gpu_ns) == ("correct", "FASTER", None)
            assert entry.kernel_ns == Interval(100.0, 99.0, 101.0)
            assert store.samples(1)["kernel"].tolist() == [100.0]
            store.record(begin(store), on_gpu(correct()))
            assert store.history("softmax")[0].gpu_ns is not None
    new = path.with_name("new.db")
    Store(new).close()
    assert columns(path) == columns(new)


def test_times_state_and_notes_of_a_gpu_round_trip(path: Path) -> None:
    result = replace(on_gpu(correct()), notes=("the machine is hot",))
    assert result.measurement is not None
    own = result.measurement.samples.own
    assert own is not None
    with Store(path) as store:
        number = store.record(store.begin_run({}, GPU, environment()), result)
        kept = store.samples(number)
        (entry,) = store.history("softmax")
    assert np.array_equal(kept["gpu"], own.device_ns)
    assert np.array_equal(kept["counter"], own.counter_ns)
    assert np.array_equal(kept["wall"], own.wall_ns)
    assert np.array_equal(kept["encode"], own.encode_ns)
    assert entry.gpu_ns == result.measurement.gpu_ns
    assert (entry.gpu_ratio, entry.wall_ratio) == (None, result.measurement.ratio)
    with sqlite3.connect(path) as raw:
        (clock, *described) = raw.execute(
            "SELECT clock, device_state, notes, device_capabilities FROM results, runs"
        ).fetchone()
    raw.close()
    assert clock == "wall time"
    assert [json.loads(text) for text in described] == [
        STATE,
        ["the machine is hot"],
        GPU.capabilities,
    ]


def test_ratios_and_windows_of_both_clocks_are_stored(path: Path) -> None:
    result = on_gpu(correct(), reference_timed=True)
    measured = result.measurement
    assert measured is not None
    own = measured.samples.own
    assert own is not None
    with Store(path) as store:
        number = store.record(store.begin_run({}, GPU, environment()), result)
        kept = store.samples(number)
        (entry,) = store.history("softmax")
    assert (entry.clock, entry.gpu_ratio) == ("GPU time", measured.ratio)
    assert entry.wall_ratio == measured.by_wall.ratio  # type: ignore[union-attr]
    assert np.array_equal(kept["reference_gpu"], own.reference_device_ns)
    assert np.array_equal(kept["reference_wall"], own.reference_wall_ns)
    assert np.array_equal(kept["floor_gpu"], own.floor_ns)


def test_the_latest_tuning_is_returned(path: Path) -> None:
    found = Tuning(
        "softmax", "float32", "seed", "ab" * 32, "fibers", {"TG": 64}, None, 3, "2026-01-01"
    )
    better = replace(found, values={"TG": 32}, ratio=Interval(1.5, 1.4, 1.6), found_at="2026-01-02")
    large = replace(found, size="large", values={"TG": 512}, found_at="2026-01-03")
    device, key = CPU, {"engine": "fibers", "dtype": "float32", "size": "seed"}
    with Store(path) as store:
        for each in (found, better, large):
            store.keep_tuning(device, each)
        kept = {
            size: store.tuning(device, "ab" * 32, engine="fibers", dtype="float32", size=size)
            for size in ("seed", "large", "small")
        }
        assert kept == {"seed": better, "large": large, "small": large}
        assert store.tuning(device, "cd" * 32, **key) is None
        assert store.tuning(device, "ab" * 32, **{**key, "dtype": "float16"}) is None
        assert store.tuning(device, "ab" * 32, **{**key, "engine": "vectors"}) is None
        other = replace(device, name="another")
        assert store.tuning(other, "ab" * 32, **key) is None


def test_a_newer_schema_is_refused_untouched(path: Path) -> None:
    with Store(path) as store:
        store._connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    with pytest.raises(StoreError, match=f"got {SCHEMA_VERSION + 1}, which a newer metalbench"):
        Store(path)


def test_location_prefers_the_option_then_the_variable_then_the_users_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("METALBENCH_HOME", str(tmp_path))
    assert store_path("mine.db") == Path("mine.db")
    assert store_path() == tmp_path / "results.db"
    monkeypatch.delenv("METALBENCH_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert store_path().name == "results.db"
    assert "metalbench" in store_path().parts
