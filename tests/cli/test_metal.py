"""The commands on a Metal device, whose every answer is scripted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from scripted_gpu import SHARE, ScriptedGpu

from metalbench import _core, reference
from metalbench.cli.doctor import Health, _metal
from metalbench.errors import Unsupported
from metalbench.reference import Reference
from metalbench.report.warnings import SIMULATION
from metalbench.store.store import Store
from metalbench.task import declaration


@pytest.fixture
def plug_in(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make a scripted GPU the one that `--device metal` and `auto` open."""
    opened = _core.open

    def plug(*, with_mlx: bool = True, **changes: Any) -> ScriptedGpu:
        gpu = ScriptedGpu(**changes)
        monkeypatch.setattr(_core, "open", lambda kind: opened(kind) if kind == "cpu" else gpu)
        monkeypatch.setattr(_core, "devices", lambda: ["metal", "cpu"])
        if with_mlx:
            beside = lambda _, work, **options: (Reference(work, **options), ())  # noqa: E731
            monkeypatch.setattr(reference, "create_reference", beside)
        return gpu

    return plug


def test_run_json_distinguishes_gpu_time_and_wall_time(shell: Any, plug_in: Any) -> None:
    gpu = plug_in()
    result = shell("run", "twice", "--json", "-")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    (entry,) = document["results"]
    assert document["note"] is None
    assert document["device"]["capabilities"] == gpu.capabilities
    assert entry["state"] == gpu.told
    assert entry["gpu_ns"]["value"] == pytest.approx(SHARE * entry["kernel_ns"]["value"], rel=1e-3)
    for part in ("metal (Apple M4, m4, 10 cores)", "GPU time", "are wall times of equal windows"):
        assert part in result.stderr
    assert SIMULATION not in result.output
    with Store(shell.db) as store:
        (kept,) = store.history("twice")
        assert set(store.samples(kept.id)) >= {"gpu", "counter", "wall", "encode"}


def test_run_times_the_headline_size_of_the_device(
    shell: Any, plug_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = shell.kernels / "twice.py"
    text = file.read_text().replace("flops=", 'gpu_headlines=("large", "huge"), flops=')
    file.write_text(text.replace("large=dict(n=8192)", "large=dict(n=8192), huge=dict(n=16384)"))
    # As if an M4 needed 8192 elements for a pass of the length that is asked for.
    monkeypatch.setattr(declaration, "SHORTEST_PASS_S", 2 * 4 * 8192 / 120e9)

    def sizes() -> list[str]:
        result = shell("run", "twice", "--json", "-")
        assert result.exit_code == 0, result.output
        return [entry["size"] for entry in json.loads(result.stdout)["results"]]

    shown = " ".join(shell("show", "twice", "--no-source").stdout.split())
    assert re.search(r" seed n 4096 [^:]* headline large n 8192 [^:]* headline on a GPU", shown)
    assert re.search(r" huge n 16384 [^:]* headline on a fast GPU", shown)
    assert sizes() == ["seed"]
    plug_in()
    assert sizes() == ["large"]
    plug_in(name="Apple M4 Max", chip="m4_max", cores=40)
    assert sizes() == ["huge"]


def test_run_uses_gpu_time_if_all_windows_have_it(shell: Any, plug_in: Any) -> None:
    plug_in(tells_mlx=True)
    result = shell("run", "twice", "--json", "-")
    assert result.exit_code == 0, result.output
    (entry,) = json.loads(result.stdout)["results"]
    assert entry["clock"] == "GPU time"
    assert entry["kernel_ns"] == entry["gpu_ns"]
    assert entry["gpu_ratio"] == entry["ratio"]
    assert entry["wall_ratio"]["value"] == pytest.approx(2.0, rel=1e-3)
    assert entry["wall_ns"]["value"] == pytest.approx(entry["gpu_ns"]["value"] / SHARE, rel=1e-3)
    assert "verdicts are of GPU time" in " ".join(result.stderr.split())
    with Store(shell.db) as store:
        (kept,) = store.history("twice")
        assert (kept.clock, kept.ratio) == ("GPU time", kept.gpu_ratio)
        assert kept.wall_ratio is not None
        assert set(store.samples(kept.id)) >= {"reference_gpu", "reference_wall", "floor_gpu"}


def test_run_without_mlx_gpu_has_no_ratio(
    shell: Any, plug_in: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mx.metal, "is_available", lambda: False)
    plug_in(with_mlx=False)
    result = shell("run", "twice", "--json", "-")
    assert result.exit_code == 0, result.output
    (entry,) = json.loads(result.stdout)["results"]
    assert (entry["reference_ns"], entry["ratio"], entry["verdict"]) == (None, None, None)
    assert "MLX has no GPU here" in entry["notes"][0]
    text = " ".join(result.stderr.split())
    assert "MLX has no GPU here" in text
    assert "MLX / kernel" not in text
    assert re.search(r"\d windows of \d+ passes", text)
    table = shell("run", "twice", "thrice").stdout
    assert "all kernels: MLX" not in table
    assert "twice: MLX has no GPU here" in table


def test_checked_builds_are_the_cpu_devices(shell: Any, plug_in: Any) -> None:
    gpu = plug_in()
    result = shell("run", "beyond")
    assert "beyond.metal:6: read of 4 bytes past the end of `x`" in result.stdout
    assert gpu.compiled
    assert not any(options["checked"] for options in gpu.compiled)


def test_run_reports_doubts_about_times(shell: Any, plug_in: Any) -> None:
    plug_in(told={"low_power_mode": True, "thermal_state": "serious"}, counted=0.8)
    text = " ".join(shell("run", "twice").stdout.split())
    for part in ("Low Power Mode is on", "thermal state serious", "by counters a pass takes 20 %"):
        assert part in text


def test_run_reports_bad_conditions_before_it_starts(shell: Any, plug_in: Any) -> None:
    plug_in(told={"low_power_mode": True})
    first, *_, last = shell("run", "twice").stderr.splitlines()
    assert first.startswith("Warning: Low Power Mode is on")
    assert "twice: correct" in last


def test_show_on_a_gpu_prints_no_simulation(shell: Any, plug_in: Any) -> None:
    assert "a plain loop" in shell("show", "twice", "--history", 0).stdout
    plug_in()
    text = shell("show", "twice", "--history", 0).stdout
    assert "threadgroup memory\n" in text
    assert "a plain loop" not in text


def test_simulations_and_gpus_have_a_history_each(shell: Any, plug_in: Any) -> None:
    shell("run", "twice", "--device", "cpu")
    plug_in()
    shell("run", "twice")
    past = shell("show", "twice", "--no-source").stdout.partition("History\n")[2]
    cpu, gpu = past.split("metal (Apple M4)\n")
    assert cpu.startswith("cpu (")
    assert cpu.count("correct") == gpu.count("correct") == 1
    assert "GPU time" not in cpu
    assert "GPU time" in gpu


def test_a_kernel_is_captured_after_its_run(shell: Any, plug_in: Any, tmp_path: Path) -> None:
    plug_in()
    trace = tmp_path / "twice.gputrace"
    result = shell("run", "twice", "--capture", trace)
    assert result.exit_code == 0, result.output
    assert trace.read_text() == "trace"
    assert f"Captured in {trace}" in result.stdout


def test_run_does_not_capture_a_failing_kernel(shell: Any, plug_in: Any, tmp_path: Path) -> None:
    plug_in()
    result = shell("run", "broken", "--capture", tmp_path / "b.gputrace")
    assert result.exit_code == 1
    assert "Not captured: broken did not run" in result.stdout


def test_run_keeps_the_result_of_a_failed_capture(
    shell: Any, plug_in: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Unsupported("capture: the disk is full")

    plug_in(capture=fail)
    result = shell("run", "twice", "--capture", tmp_path / "t.gputrace")
    assert result.exit_code == 2
    assert "capture: the disk is full" in result.stderr
    with Store(shell.db) as store:
        assert store.history("twice")[0].status == "correct"


@pytest.mark.parametrize(
    ("names", "file", "able", "message"),
    [
        (["twice"], "t.gputrace", False, "run `MTL_CAPTURE_ENABLED=1 metalbench run ...`"),
        (["twice", "thrice"], "t.gputrace", True, "expected one kernel of one element type, got 2"),
        (["twice"], "t.json", True, "expected a name that ends in .gputrace"),
        (["twice"], "there.gputrace", True, "there.gputrace exists already"),
        (["twice"], "no/t.gputrace", True, "does not exist"),
    ],
)
def test_run_refuses_an_impossible_capture_before_it_starts(
    shell: Any, plug_in: Any, tmp_path: Path, names: list[str], file: str, able: bool, message: str
) -> None:
    plug_in(capabilities={"gpu_trace": able})
    (tmp_path / "there.gputrace").mkdir()
    result = shell("run", *names, "--capture", tmp_path / file)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert not shell.db.exists()


def test_the_simulation_makes_no_traces(shell: Any, tmp_path: Path) -> None:
    result = shell("run", "twice", "--device", "cpu", "--capture", tmp_path / "t.gputrace")
    assert result.exit_code == 2
    assert "the cpu device has none" in " ".join(result.stderr.split())


def test_run_without_a_gpu_suggests_the_cpu_device(shell: Any) -> None:
    if "metal" in _core.devices():
        pytest.skip("this machine has a GPU")
    result = shell("run", "twice", "--device", "metal")
    assert result.exit_code == 2
    assert "Use the `cpu` device" in result.stderr


def test_doctor_runs_a_kernel_and_reports_gpu_features(plug_in: Any) -> None:
    plug_in()
    found = _metal()
    assert found.health is Health.GOOD
    for part in ("Apple M4 (m4), 10 cores", "ran correctly", "family apple9", "memory 16.0 GiB"):
        assert part in found.detail


def test_doctor_warns_of_low_power_mode(plug_in: Any) -> None:
    plug_in(told={"low_power_mode": True, "thermal_state": "nominal"})
    found = _metal()
    assert found.health is Health.ABSENT
    assert "turn it off in System Settings" in found.remedy
