"""``metalbench tune``, and ``run --tuned`` behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from example_results import measurement

from metalbench.cli import main
from metalbench.compare.head_to_head import Match, MatchOutcome
from metalbench.run.trial import Observer
from metalbench.store.result import DeviceFacts, Failure
from metalbench.workers.pool import Workers

KERNEL = """// Twice the input.
// dispatch: twice  threads_in_grid=(n)  threads=(TG)
// tune: TG = 64, 32
#include <metal_stdlib>
using namespace metal;
kernel void twice(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = TG == WRONG ? 0.0f : 2 * x[i];
}
"""


def invoke(home: Path, kernels: Path, *arguments: str) -> Result:
    command = [*arguments, "--kernels", str(kernels), "--db", str(home / "results.db")]
    return CliRunner().invoke(main, command)


@pytest.fixture
def folder(kernels: Path) -> Path:
    """The folder of small kernels, in which `twice` has values to choose from."""
    (kernels / "twice.metal").write_text(KERNEL.replace("WRONG", "1"))
    return kernels


def test_tune_stores_and_uses_the_result(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "tuning.json"
    done = invoke(tmp_path, folder, "tune", "twice", "--time", "5", "--json", str(file))
    assert done.exit_code == 0, done.output
    assert "2 candidates tried, all there are." in done.output
    found = json.loads(file.read_text())
    assert [each["tunables"] for each in found["candidates"]] == [{"TG": 64}, {"TG": 32}]
    assert found["complete"]
    run = invoke(tmp_path, folder, "run", "twice", "--tuned", "--time", "0.01", "--in-process")
    assert run.exit_code == 0, run.output
    said = " ".join(run.output.split())
    assert f"tuned TG = {found['tunables']['TG']} (the" in said
    assert "best of 2 candidates on" in said


def test_without_a_search_a_run_says_so_and_takes_the_defaults(
    folder: Path, tmp_path: Path
) -> None:
    run = invoke(tmp_path, folder, "run", "twice", "--tuned", "--time", "0.01", "--in-process")
    assert run.exit_code == 0, run.output
    assert "Not tuned on this device, so with defaults: twice" in run.output


def test_tune_reports_a_value_that_makes_the_kernel_wrong(folder: Path, tmp_path: Path) -> None:
    (folder / "twice.metal").write_text(KERNEL.replace("WRONG", "32"))
    done = invoke(tmp_path, folder, "tune", "twice", "--time", "5")
    assert done.exit_code == 1, done.output
    assert "Wrong with TG = 32: [twice]" in " ".join(done.output.split())


def test_tune_continues_after_a_value_that_kills_the_process(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def played(_: Workers, device: DeviceFacts, match: Match, __: Observer) -> MatchOutcome:
        if match.tunables[1].get("TG") == 32:
            return MatchOutcome(device, Failure("verify", "CRASH", "it was ended by SIGSEGV"))
        return MatchOutcome(device, None, measurement())

    monkeypatch.setattr(Workers, "play", played)
    done = invoke(tmp_path, folder, "tune", "twice")
    assert done.exit_code == 1, done.output
    said = " ".join(done.output.split())
    assert "Wrong with TG = 32: it was ended by SIGSEGV" in said
    assert "nothing is faster than the defaults, TG = 64" in said


def test_tune_refuses_a_wrong_kernel(folder: Path, tmp_path: Path) -> None:
    (folder / "twice.metal").write_text(KERNEL.replace("WRONG", "64"))
    done = invoke(tmp_path, folder, "tune", "twice")
    assert done.exit_code == 1
    assert (
        "Error: twice with its defaults is not correct, so it has no time: [twice]" in done.output
    )


def test_tune_without_tunables_is_wrong_usage(kernels: Path, tmp_path: Path) -> None:
    done = invoke(tmp_path, kernels, "tune", "twice")
    assert done.exit_code == 2
    assert "has nothing to tune" in done.output
