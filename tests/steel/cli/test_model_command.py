"""`agent_steel model` as it is typed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from network_files import MLX, TORCH, write_network
from steel.model_server import KEY, ModelServer, kernel

from agent_steel.attempt import Status
from agent_steel.cli import main
from agent_steel.history import History
from agent_steel.loop.profiler import NOT_MEASURED, Profiler
from agent_steel.loop.verifier import CandidateJudgement, Verifier
from metalbench.stats import Interval, Verdict
from metalbench.store.store import Store

# WORK is in vain, so that less of it is faster.
SLOW_RELU = """// ReLU after work in vain.
// dispatch: relu  threads_in_grid=(rows * cols)  threads=(64)
// tune: WORK = 400, 0
#include <metal_stdlib>
using namespace metal;

kernel void relu(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  float v = x[i];
  for (uint k = 0; k < WORK; ++k) {
    v = fma(v, 1.0000001f, 1e-30f);
  }
  y[i] = v == 12345.0f ? 0.0f : (isnan(x[i]) ? x[i] : max(x[i], 0.0f));
}
"""
# The task of the library with fewer and smaller sizes.
TASK = '''"""max(x, 0)."""

import mlx.core as mx
import numpy as np

from metalbench.task import normal, output, task


@task(
    sizes=dict(small=dict(rows=4, cols=9), seed=dict(rows=32, cols=32)),
    inputs=dict(x=normal("rows", "cols")),
    outputs=dict(y=output("rows", "cols")),
    oracle=lambda x: np.maximum(x, 0),
    flops="rows * cols",
)
def relu(x):
    return mx.maximum(x, 0)
'''
# The kernel alone takes most of the time.
RELU = MLX.replace("y = self.down(nn.gelu(self.up(self.norm(x))))\n", "return self.relu(x)\n")
KEPT = CandidateJudgement(Status.KEPT, ratio=Interval(4.0, 3.9, 4.1))
QUICK = ("--device", "cpu", "--profile-seconds", "0.05", "--time", "0.3", "--seed", "1")


@pytest.fixture
def invoke(tmp_path: Path) -> Any:
    """Run the command on a network's text, with a store of its test."""

    def run(text: str, *arguments: str) -> Result:
        path = write_network(tmp_path, text)
        words = ["model", str(path), *QUICK, "--db", str(tmp_path / "results.db"), *arguments]
        return CliRunner().invoke(main, words)

    return run


@pytest.fixture
def kernels(tmp_path: Path) -> tuple[str, str]:
    """A folder with a task `relu` and a slow kernel."""
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels" / "relu.py").write_text(TASK)
    (tmp_path / "kernels" / "relu.metal").write_text(SLOW_RELU)
    return "--kernels", str(tmp_path / "kernels")


@pytest.fixture
def keeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every candidate as four times as fast, without a measurement."""
    monkeypatch.setattr(Verifier, "judge", lambda *_, **__: KEPT)
    monkeypatch.setattr(Profiler, "diagnose", lambda *_, **__: NOT_MEASURED)


def join(text: str) -> str:
    return " ".join(text.split())


def test_help_has_the_form_of_the_file_and_examples() -> None:
    done = CliRunner().invoke(main, ["model", "--help"])
    assert done.exit_code == 0
    for each in ("def get_inputs()", "--top", "--budget-minutes", "predicted:m2", "--max-cost"):
        assert each in done.output
    assert "agent_steel model my_model.py" in CliRunner().invoke(main, ["--help"]).output


def test_a_dry_run_prints_the_profile_and_stores_nothing(invoke: Any, tmp_path: Path) -> None:
    done = invoke(MLX, "--dry-run", "--top", "2")
    assert done.exit_code == 0, done.output
    said = join(done.output)
    assert "softmax (2, 16, 32) -> (2, 16, 32)" in said
    assert "relu (2, 16, 32) -> (2, 16, 32) 2 " in said
    assert "no task: the library has no task for this operation" in said
    assert "Without a task: " in said
    assert "multiply" in said.partition("Without a task: ")[2]
    assert "The search is for 2 operations" in said
    assert "x as fast" in said
    assert "tuner would be asked for up to 40 versions of each" in said
    with Store(tmp_path / "results.db") as store:
        assert History(store).broken_off() is None


def test_json_has_the_profile(invoke: Any) -> None:
    done = invoke(MLX, "--dry-run", "--top", "1", "--output", "json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    shares = {each["name"]: each["share"] for each in found["operations"]}
    assert sum(each["share"] for each in found["operations"]) == pytest.approx(1)
    (searched,) = (each for each in found["operations"] if each["searched"])
    assert found["bound"] == pytest.approx(1 / (1 - searched["share"]))
    assert shares.keys() >= {"softmax", "multiply"}
    assert found["search"] is found["end_to_end"] is None
    assert found["framework"].startswith("MLX ")


@pytest.mark.usefixtures("keeps")
def test_a_better_kernel_is_found_and_checked_in_the_network(
    invoke: Any, kernels: tuple[str, str], tmp_path: Path
) -> None:
    asked = (*kernels, "--max-rounds", "1", "--candidates", "1", "--no-held-out")
    done = invoke(RELU, *asked)
    assert done.exit_code == 0, done.output
    said = join(done.output)
    assert "The search is for 1 operation (relu), which is 100 % of the time" in said
    assert "no bound on the gain" in said
    assert "[relu (rows=32,cols=32)] attempt 2" in said
    assert "tunables (WORK = 0): kept" in said
    assert "End to end: 1 of 1 call of these operations ran as kernels." in said
    assert "The outputs agree: largest difference 0," in said
    assert "File's network / network with the best kernels:" in said
    assert "Network with the library's kernels / with the best ones:" in said
    assert "x [" in said.rpartition("with the best ones:")[2]
    with Store(tmp_path / "results.db") as store:
        attempts = History(store).of_task("relu")
        (session,) = {each.session for each in attempts}
        recorded = History(store).session(session)
    assert {each.size for each in attempts} == {"rows=32,cols=32"}
    assert recorded is not None
    assert recorded.options["subjects"] == [["relu", "float32", "rows=32,cols=32"]]


@pytest.mark.usefixtures("keeps")
def test_the_next_session_begins_with_the_best_version(
    invoke: Any, kernels: tuple[str, str]
) -> None:
    asked = (*kernels, "--max-rounds", "1", "--candidates", "1", "--no-held-out")
    assert invoke(RELU, *asked).exit_code == 0
    again = invoke(RELU, *asked, "--output", "json")
    assert again.exit_code == 0, again.output
    found = json.loads(again.stdout)
    (kernel,) = found["search"]["kernels"]
    assert kernel["gain"] > 2
    assert found["end_to_end"]["passed"]
    assert found["end_to_end"]["library"]["verdict"] in list(Verdict)


@pytest.mark.usefixtures("keeps")
def test_a_language_model_proposes_with_the_size_of_the_network(
    invoke: Any, kernels: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    better = SLOW_RELU.replace("WORK = 400, 0", "WORK = 0, 400")
    with ModelServer([kernel(better, technique="less work")]) as server:
        asked = ("--provider", "openai", "--model", "m", "--base-url", server.url("openai"))
        done = invoke(RELU, *kernels, *asked, "--max-rounds", "1", "--no-held-out")
        (question,) = server.asked
    assert done.exit_code == 0, done.output
    assert "less work: kept" in join(done.output)
    assert "The outputs agree" in done.output
    prompt = question.turns[-1][1]
    assert "size `rows=32,cols=32` (rows = 32, cols = 32)" in prompt
    assert "# Techniques of the library" in prompt


def test_the_network_of_the_page_is_profiled(invoke: Any) -> None:
    page = Path(__file__).parents[3] / "docs/how-to/agent_steel_networks.md"
    (text,) = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    done = invoke(text, "--dry-run")
    assert done.exit_code == 0, done.output
    assert "linear_bias (rows=64,inputs=128,outputs=512)" in done.output


def test_a_wrong_kernel_is_not_searched(
    invoke: Any, kernels: tuple[str, str], tmp_path: Path
) -> None:
    (tmp_path / "kernels" / "relu.metal").write_text(SLOW_RELU.replace("max(x[i]", "min(x[i]"))
    done = invoke(RELU, *kernels, "--max-rounds", "1")
    assert done.exit_code == 1
    assert "relu is not correct" in join(done.output)
    assert "End to end" not in done.output


def test_an_interrupted_search_goes_on_by_resume(
    invoke: Any, kernels: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Profiler, "diagnose", lambda *_, **__: NOT_MEASURED)

    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    asked = (*kernels, "--max-rounds", "1", "--candidates", "1", "--no-held-out")
    with monkeypatch.context() as patch:
        patch.setattr(Verifier, "judge", interrupt)
        done = invoke(RELU, *asked)
    assert done.exit_code == 130, done.output
    assert "agent_steel --resume" in done.output
    assert "End to end" not in done.output
    monkeypatch.setattr(Verifier, "judge", lambda *_, **__: KEPT)
    resumed = CliRunner().invoke(main, ["--resume", "--db", str(tmp_path / "results.db")])
    assert resumed.exit_code == 0, resumed.output
    said = join(resumed.output)
    assert "tunables (WORK = 0): kept" in said
    assert "agent_steel export relu" in said
    assert "--size rows=32,cols=32" in said.partition("agent_steel export relu")[2]


def test_predicted_times_rank_operations_and_nothing_is_timed(invoke: Any) -> None:
    done = invoke(
        MLX, "--objective", "predicted:m2", "--top", "1", "--max-rounds", "1", "--candidates", "1"
    )
    assert done.exit_code == 0, done.output
    said = join(done.output)
    assert "Predicted for Apple M2, not measured:" in said
    assert ">= " in said
    assert "The outputs agree" in said
    assert "File's network /" not in said
    assert "the operations with the library's kernels / with the best ones:" in said


def test_a_network_without_tasks_ends_after_the_profile(invoke: Any) -> None:
    done = invoke(RELU.replace("self.relu(x)", "x * 2.5"))
    assert done.exit_code == 0, done.output
    assert "there is nothing to search" in done.output


@pytest.mark.parametrize(
    ("text", "arguments", "said"),
    [
        (MLX.replace("Model", "Net"), (), "expected a class 'Model'"),
        (MLX, ("--top", "0"), "--top"),
        (MLX, ("--objective", "predicted:m99"), "unknown chip 'm99'"),
        (MLX, ("--provider", "anthropic"), "ANTHROPIC_API_KEY"),
        (MLX.replace("return softmax", "return nothing"), (), "line 19: NameError"),
    ],
)
def test_wrong_usage_is_reported_with_a_remedy(
    invoke: Any,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    done = invoke(text, *arguments)
    assert done.exit_code == 2, done.output
    assert said in join(done.output)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nothing.py"
    done = CliRunner().invoke(main, ["model", str(path), "--device", "cpu"])
    assert done.exit_code == 2
    assert f"{path}: expected a Python file, found none" in join(done.output)


def test_pytorch_networks_are_profiled(invoke: Any) -> None:
    pytest.importorskip("torch", reason="extra kernelbench")
    done = invoke(TORCH, "--dry-run")
    assert done.exit_code == 0, done.output
    assert "PyTorch " in done.output
    assert "linear_bias (rows=32,inputs=32,outputs=64)" in done.output
