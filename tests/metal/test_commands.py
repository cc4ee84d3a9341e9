"""`metalbench` from the command line to the store, on a Metal device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from metalbench import _core
from metalbench.cli import main
from metalbench.measure.sampling import Sides, measure
from metalbench.report.warnings import SIMULATION
from metalbench.store.store import Store

pytestmark = pytest.mark.metal

COST_NS = 100e3
# One pass, several passes with scratch memory, threadgroup memory, integers as results.
NAMES = ("relu", "mse_loss", "softmax", "argmax")


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "results.db"


def run(db: Path, *arguments: object) -> dict[str, Any]:
    """Run kernels at their small size; the JSON."""
    options = ("--device", "metal", "--size", "small", "--time", "0.05", "--json", "-", "--db", db)
    result = CliRunner().invoke(main, ["run", "--in-process", *map(str, (*arguments, *options))])
    assert result.exit_code == 0, result.output
    assert SIMULATION not in result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def test_kernels_are_correct_and_timed_by_the_gpus_clock(db: Path) -> None:
    document = run(db, *NAMES)
    assert document["device"]["kind"] == "metal"
    assert document["device"]["capabilities"]["unified_memory"] in (True, False)
    assert {entry["task"]: entry["status"] for entry in document["results"]} == dict.fromkeys(
        NAMES, "correct"
    )
    for entry in document["results"]:
        assert entry["gpu_ns"]["value"] > 0
        assert entry["clock"] in ("GPU time", "wall time")
        assert entry["state"]["thermal_state"]
        # Compared with MLX's GPU, or with nothing.
        alone = [note for note in entry["notes"] if "MLX has no GPU" in note]
        assert (entry["ratio"] is None) == bool(alone)


def test_the_store_has_every_window_on_every_clock(db: Path) -> None:
    run(db, "relu")
    with Store(db) as store:
        (entry,) = store.history("relu")
        samples = store.samples(entry.id)
    assert entry.device_kind == "metal"
    assert entry.gpu_ns is not None
    windows = {samples[series].size for series in ("kernel", "gpu", "counter", "wall", "encode")}
    assert len(windows) == 1
    assert (samples["gpu"] > 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(db: Path, dtype: str) -> None:
    (entry,) = run(db, "softmax", "--dtype", dtype)["results"]
    assert entry["status"] == "correct"


def test_a_trace_is_left_for_xcode(db: Path, tmp_path: Path) -> None:
    if not _core.open("metal").capabilities["gpu_trace"]:
        pytest.skip("needs MTL_CAPTURE_ENABLED=1")
    run(db, "relu", "--capture", tmp_path / "relu.gputrace")
    assert (tmp_path / "relu.gputrace").exists()


@pytest.mark.parametrize(("slower", "exit_code"), [(1.0, 0), (1.1, 1)])
def test_the_path_control_is_part_of_the_control(
    db: Path, metal_double: Any, monkeypatch: pytest.MonkeyPatch, slower: float, exit_code: int
) -> None:
    from metalbench import reference
    from metalbench.run import control

    def mlx(repetitions: int) -> None:
        metal_double.mlx(repetitions, per_buffer=20, cost_ns=slower * COST_NS)

    metal_double.set("no_engine", COST_NS)
    metal_double.set("latency_in_ns", 30e3)
    metal_double.set("latency_out_ns", 30e3)
    monkeypatch.setattr(reference, "create_reference", lambda *_: (mlx, ()))
    monkeypatch.setattr(control, "_expect_the_same", lambda *_: None)
    beside_itself = lambda device, work, plan, progress: (  # noqa: E731
        measure(device, Sides(mlx, mlx), plan),
        "mlx",
    )
    monkeypatch.setattr(control, "measure_against_itself", beside_itself)
    options = ("--device", "metal", "--size", "small", "--time", "1", "--db", str(db))
    result = CliRunner().invoke(main, ["run", "relu", "--ab-control", *options])
    assert result.exit_code == exit_code, result.output
    verdict = "SLOWER" if slower < 1 else "FASTER" if slower > 1 else "SAME"
    assert result.output.count(f"which must be SAME: {verdict}, ") == 3
    assert "of GPU time more in a separate command buffer" in result.output
    assert "of GPU time" in result.output
    assert "false: 0 of 1." in result.output


def test_show_and_doctor(db: Path) -> None:
    shown = CliRunner().invoke(main, ["show", "softmax", "--device", "metal", "--db", str(db)])
    assert shown.exit_code == 0, shown.output
    assert "buffer(0)" in shown.output
    told = CliRunner().invoke(main, ["doctor", "--db", str(db)])
    assert told.exit_code == 0, told.output
    assert _core.open("metal").name in told.output


PAGE_FAULT = 3


@pytest.mark.parametrize(
    ("what", "value", "words"),
    [
        ("fail_command_buffer", PAGE_FAULT, "Caused GPU Address Fault"),
        ("hang_command_buffer", 1, "still busy with"),
        ("zero_gpu_time", 1, "no usable GPU time"),
        ("reversed_gpu_time", 1, "no usable GPU time"),
    ],
)
def test_a_kernel_that_fails_while_timed_has_no_time(
    db: Path,
    metal_double: Any,
    monkeypatch: pytest.MonkeyPatch,
    metal: _core.Device,
    what: str,
    value: int,
    words: str,
) -> None:
    def failing(device: _core.Device, *arguments: Any, **options: Any) -> _core.Samples:
        metal_double.set(what, value)
        return sample(device, *arguments, **{**options, "kernel_time_limit": 0.5})

    sample = _core.Device.sample
    monkeypatch.setattr(_core.Device, "sample", failing)
    entry = failed(db)
    assert entry["status"] == "failed"
    assert entry["kernel_ns"] is None
    assert entry["gpu_ns"] is None
    assert words in json.dumps(entry)
    with Store(db) as store:
        assert all(kept.kernel_ns is None for kept in store.history("relu"))
    monkeypatch.undo()
    metal_double.reset()
    (again,) = run(db, "relu")["results"]
    assert again["status"] == "correct"


def failed(db: Path) -> dict[str, Any]:
    """Run a kernel that fails; its entry of the JSON."""
    options = ("--device", "metal", "--size", "small", "--time", "0.05", "--json", "-", "--db", db)
    result = CliRunner().invoke(main, ["run", "relu", "--in-process", *map(str, options)])
    assert result.exit_code == 1, result.output
    (entry,) = json.loads(result.stdout)["results"]
    return dict(entry)
