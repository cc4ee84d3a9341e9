"""KernelBench's own result files: read with our figures, written from our store, and round."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from example_results import CPU, case, correct, incorrect

from metalbench.cli import main
from metalbench.kernelbench.folder import SamplePlan, write_plan
from metalbench.kernelbench.result_files import read_results, write_results
from metalbench.measure.measurement import FormTime
from metalbench.store.environment import environment
from metalbench.store.history import SampleOutcome, SamplePlace
from metalbench.store.store import Store


def stats(mean: float, std: float = 0.01, trials: int = 100) -> dict[str, Any]:
    return {"mean": mean, "std": std, "min": mean, "max": mean, "num_trials": trials}


def theirs(number: int, *, runtime: float = -1.0, **fields: Any) -> dict[str, Any]:
    return {
        "sample_id": number,
        "compiled": True,
        "correctness": runtime > 0,
        "metadata": {"hardware": "H100"},
        "runtime": runtime,
        "runtime_stats": stats(runtime) if runtime > 0 else {},
        **fields,
    }


# Of 50 problems: twice as fast, half as fast, fast but not surely so, wrong, not compiled.
RUN = {
    "1": [theirs(0, runtime=1.0)],
    "2": [theirs(0, runtime=2.0, ref_runtime=1.0)],
    "3": [theirs(0, runtime=1.9, runtime_stats=stats(1.9, std=5.0))],
    "4": [theirs(0)],
    "5": [theirs(0, compiled=False)],
}
BASELINE = {
    "level3": {
        "1_MLP.py": stats(2.0),
        "2_Shallow.py": stats(1.0),
        "3_Deep.py": stats(2.0),
        "4_LeNet5.py": stats(1.0),
    }
}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A folder as KernelBench leaves it."""
    root = tmp_path / "runs" / "theirs"
    root.mkdir(parents=True)
    (root / "eval_results.json").write_text(json.dumps(RUN))
    (root / "generation_config.yaml").write_text("dataset_src: local\nlevel: 3\n")
    (tmp_path / "torch.json").write_text(json.dumps(BASELINE))
    return root


def analyse(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["analyse", *map(str, arguments)])


def compute_figures(path: Path) -> Mapping[str, Any]:
    (told,) = json.loads(path.read_text())["runs"]
    (level,) = told["levels"].values()
    return dict(level)


def test_a_run_of_theirs_has_our_figures(run: Path, tmp_path: Path) -> None:
    options = ["--kernelbench-baseline", tmp_path / "torch.json", "--json", tmp_path / "a.json"]
    shown = analyse(run, "--db", tmp_path / "a.db", *options)
    assert shown.exit_code == 0, shown.output
    found = compute_figures(tmp_path / "a.json")
    assert found["total_count"] == 50
    assert found["compilation_rate"]["value"] == pytest.approx(4 / 50)
    assert found["correctness_rate"]["value"] == pytest.approx(3 / 50)
    fast = {each["p"]: each for each in found["fast_p"]}
    # By the means two are faster than the baseline; of one the spread is too wide to say so.
    assert fast[1.0]["naive"]["value"] == pytest.approx(2 / 50)
    assert fast[1.0]["value"] == pytest.approx(1 / 50)
    assert fast[0.0]["value"] == pytest.approx(3 / 50)
    assert found["classes"]["missing"] == 45
    assert found["geo_mean_speedup"]["value"] == pytest.approx((2 * 0.5 * 2 / 1.9) ** (1 / 3))


def test_results_are_written_in_the_format_that_was_read(run: Path, tmp_path: Path) -> None:
    write_results(tmp_path / "again", 3, read_results(run), tmp_path)
    assert json.loads((tmp_path / "again" / "eval_results.json").read_text()) == RUN


def evaluated(root: Path, db: Path) -> Path:
    """A run of ours: of 50 problems one is right, one is wrong and does not compile."""
    root.mkdir()
    plan = SamplePlan({"level_3": list(range(1, 51))}, 2, id="ours")
    write_plan(root, plan)
    right = correct()
    assert right.measurement is not None
    assert right.measurement.reference_ns is not None
    form = FormTime("mlx", right.measurement.reference_ns, compared=True)
    right = replace(
        right,
        case=case("kb3_007_googlenet"),
        measurement=replace(right.measurement, forms=(form,)),
    )
    with Store(db) as store:
        number = store.begin_run({}, CPU, environment())
        for problem, sample, result, outcome in (
            (7, 0, right, "correct"),
            (8, 0, incorrect(), "wrong result"),
            (8, 1, incorrect(), "does not compile"),
        ):
            place = SamplePlace(plan.id, "level_3", problem, sample, "0" * 64)
            message = "" if outcome == "correct" else f"{outcome}, at y[3]"
            store.record_evaluation(number, result, place, SampleOutcome(outcome, message))
    return root


def test_a_run_of_ours_is_written_as_theirs_and_has_the_same_figures(tmp_path: Path) -> None:
    db, out = tmp_path / "a.db", tmp_path / "out"
    root = evaluated(tmp_path / "ours", db)
    shown = analyse(root, "--db", db, "--json", tmp_path / "a.json", "--export-kernelbench", out)
    assert shown.exit_code == 0, shown.output
    exported = json.loads((out / "runs/ours/eval_results.json").read_text())
    assert exported["7"][0]["correctness"]
    assert exported["8"][0]["metadata"]["correctness_issue"] == "wrong result, at y[3]"
    assert not exported["8"][1]["compiled"]
    at_k = json.loads((out / "runs/ours/pass_at_k_results.json").read_text())
    assert at_k["averages"]["avg_pass@1"] == pytest.approx(0.5 / 50)
    (timing,) = (out / "results/timing").rglob("baseline_time_mlx.json")
    assert "7_googlenet.py" in json.loads(timing.read_text())["level3"]
    options = ["--kernelbench-baseline", timing, "--json", tmp_path / "b.json"]
    back = analyse(out / "runs/ours", "--db", db, *options)
    assert back.exit_code == 0, back.output
    one, other = compute_figures(tmp_path / "a.json"), compute_figures(tmp_path / "b.json")
    for key in ("total_count", "samples", "compilation_rate", "correctness_rate", "at_k"):
        assert one[key] == other[key], key
    assert one["classes"] == other["classes"]
    assert one["fast_p"] == other["fast_p"]
    assert one["geo_mean_speedup"]["value"] == pytest.approx(
        other["geo_mean_speedup"]["value"], rel=0.02
    )


def test_other_files_are_reported(run: Path, tmp_path: Path) -> None:
    (run / "generation_config.yaml").unlink()
    told = analyse(run, "--db", tmp_path / "a.db")
    assert told.exit_code == 2
    assert "expected a line such as `level: 1`, found none" in told.output
    (run / "eval_results.json").write_text('{"one": []}')
    (run / "generation_config.yaml").write_text("level: 3\n")
    told = analyse(run, "--db", tmp_path / "a.db")
    assert told.exit_code == 2
    assert 'eval_results.json: expected {"1": [{"sample_id": 0' in told.output
    (run / "eval_results.json").write_text(json.dumps(RUN))
    (tmp_path / "torch.json").write_text('{"level3": {"MLP.py": {}}}')
    told = analyse(
        run, "--kernelbench-baseline", tmp_path / "torch.json", "--db", tmp_path / "a.db"
    )
    assert told.exit_code == 2
    assert 'expected {"level1": {"19_ReLU.py"' in told.output


def test_the_page_shows_runs_side_by_side(run: Path, tmp_path: Path) -> None:
    options = ["--kernelbench-baseline", tmp_path / "torch.json", "--db", tmp_path / "a.db"]
    shown = analyse(run, run, *options, "--html", tmp_path / "a.html")
    assert shown.exit_code == 0, shown.output
    page = (tmp_path / "a.html").read_text()
    assert page.count("<polyline") == 2
    assert page.count("<polygon") == 2
    assert page.count("theirs (H100)") == 2
    assert "fast_1.5" in page
    assert "0.060 [" in page
