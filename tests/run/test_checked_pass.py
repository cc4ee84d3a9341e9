"""Checked runs of unchanged code are not repeated; those of changed code always are."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metalbench import _core, build_cache
from metalbench.kernel.header import parse, read
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import Builds
from metalbench.measure.measurement import Plan
from metalbench.run import runner
from metalbench.run.attempt import attempt
from metalbench.run.trial import Silent, Trial
from metalbench.store.result import Result, Status
from metalbench.verify import CheckedPass, checked

SOURCE = """
// The larger of x and 0.
// dispatch: relu  threads_in_grid=(rows * cols)  threads=(256)
// tune: STEP = 1, 2
#include <metal_stdlib>
#include "of_test.h"
using namespace metal;
kernel void relu(device const DTYPE* x, device DTYPE* y, constant uint& rows, constant uint& cols,
                 uint i [[thread_position_in_grid]]) {
  y[i] = larger(x[i]);
}
"""
HEADER = """
#include <metal_stdlib>
template <typename T> T larger(T x) { return metal::max(x, T(0)); }
"""
# Right, but for a read beyond the end.
BEYOND = SOURCE.replace("larger(x[i])", "larger(x[i]) + (x[i + 1] > 3e38f ? 1.0f : 0.0f)")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The sizes of the checked runs, in order."""
    found: list[str] = []
    run = checked._run

    def note(built: Any, size: str, *rest: Any) -> None:
        found.append(size)
        run(built, size, *rest)

    monkeypatch.setattr(checked, "_run", note)
    return found


def make_trial(folder: Path, source: str = SOURCE, header: str = HEADER, **options: Any) -> Trial:
    folder.mkdir(exist_ok=True)
    (folder / "relu.metal").write_text(source)
    (folder / "of_test.h").write_text(header)
    kernel = read(folder / "relu.metal", "relu")
    plan = Plan(seconds=0.01, warmup_ns=0)
    return Trial(
        Library().entry("relu"), kernel, "float32", size="small", plan=plan, timed=False, **options
    )


def judge(folder: Path, source: str = SOURCE, header: str = HEADER, **options: Any) -> Result:
    return attempt(_core.open("cpu"), make_trial(folder, source, header, **options), Silent())


def test_unchanged_code_is_checked_once(tmp_path: Path, sizes: list[str]) -> None:
    first = judge(tmp_path / "a")
    assert first.status is Status.CORRECT, first.failures
    assert not [each for each in first.notes if "checked again" in each]
    ran = len(sizes)
    assert ran >= 3
    # Other seeds: the pass holds for the code.
    again = judge(tmp_path / "a", seed=7)
    assert again.status is Status.CORRECT
    assert len(sizes) == ran
    (note,) = [each for each in again.notes if "checked again" in each]
    assert time.strftime("%Y-%m-%d", time.gmtime())[:4] in note
    assert "--recheck" in note


@pytest.mark.parametrize(
    "change",
    [
        {"source": SOURCE.replace("y[i] = larger", "if (i < rows * cols) y[i] = larger")},
        {"header": HEADER.replace("T(0)", "T(0.0f)")},
        {"tunables": {"STEP": 2}},
        {"recheck": True},
    ],
    ids=["source", "header", "tunables", "recheck"],
)
def test_changed_code_is_checked_again(
    tmp_path: Path, sizes: list[str], change: dict[str, Any]
) -> None:
    judge(tmp_path / "a")
    ran = len(sizes)
    result = judge(tmp_path / "a", **change)
    assert result.status is Status.CORRECT, result.failures
    assert len(sizes) == 2 * ran
    assert not [each for each in result.notes if "checked again" in each]


def test_released_code_is_checked_only_on_request(
    tmp_path: Path, sizes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    passed = CheckedPass(make_trial(tmp_path / "a").builds(_core.open("cpu")))
    digest = passed.code[: checked.DIGITS]
    monkeypatch.setattr(checked, "_list_released", lambda: frozenset({digest}))
    result = judge(tmp_path / "a")
    assert result.status is Status.CORRECT
    assert checked.NOTE_OF_RELEASED in result.notes
    assert sizes == []
    changed = judge(tmp_path / "a", SOURCE.replace("larger of", "greater of"))
    assert checked.NOTE_OF_RELEASED not in changed.notes
    assert sizes
    sizes.clear()
    assert checked.NOTE_OF_RELEASED not in judge(tmp_path / "a", recheck=True).notes
    assert sizes


def test_a_change_of_the_checks_or_the_engine_is_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = make_trial(tmp_path / "a")
    passed = CheckedPass(trial.builds(_core.open("cpu")))
    passed.store()
    assert passed.load_note() is not None
    for name, value in (
        ("digest_trees", lambda _: "other code of the checks"),
        ("read_file_state", lambda _: [1, 2]),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(build_cache, name, value)
            assert passed.load_note() is None
    with monkeypatch.context() as patch:
        patch.setattr(
            checked, "find_toolchain", lambda: type("Other", (), {"key": "other headers"})
        )
        assert passed.load_note() is None
    assert passed.load_note() is not None


def test_another_task_or_element_type_is_another_key(tmp_path: Path) -> None:
    device, trial = _core.open("cpu"), make_trial(tmp_path / "a")
    builds = trial.builds(device)
    CheckedPass(builds).store()
    task = builds.task
    for other in (
        replace(builds, dtype_name="float16"),
        replace(builds, task=replace(task, name="another")),
        replace(builds, task=replace(task, sizes={**task.sizes, "more": {"rows": 3, "cols": 5}})),
    ):
        assert CheckedPass(other).load_note() is None
    assert CheckedPass(Builds(device, trial.kernel, task)).load_note() is not None


def test_findings_are_not_kept(tmp_path: Path, sizes: list[str]) -> None:
    for _ in range(2):
        result = judge(tmp_path / "a", BEYOND)
        assert [each.kind for each in result.failures] == ["OUT_OF_BOUNDS"]
    assert len(sizes) == 2


def test_a_pass_of_right_code_does_not_help_wrong_code(tmp_path: Path) -> None:
    judge(tmp_path / "a")
    result = judge(tmp_path / "a", BEYOND)
    assert [each.kind for each in result.failures] == ["OUT_OF_BOUNDS"]


def test_an_incomplete_check_is_not_kept(
    tmp_path: Path, sizes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked, "MOST_BYTES", 0)  # the random size is left out
    judge(tmp_path / "a")
    ran = len(sizes)
    judge(tmp_path / "a")
    assert len(sizes) == 2 * ran


def test_a_pass_lasts_a_week(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    passed = CheckedPass(make_trial(tmp_path / "a").builds(_core.open("cpu")))
    passed.store()
    now = time.time()
    for later, holds in ((0.9 * checked.LASTS_S, True), (1.1 * checked.LASTS_S, False)):
        with monkeypatch.context() as patch:
            patch.setattr(checked.time, "time", lambda later=later: now + later)
            assert (passed.load_note() is not None) is holds


def test_a_damaged_record_is_none(tmp_path: Path) -> None:
    passed = CheckedPass(make_trial(tmp_path / "a").builds(_core.open("cpu")))
    passed.store()
    path = build_cache.locate_file(passed._key, ".json")
    path.write_text(path.read_text().replace('"at": 1', '"at": 2'))
    assert passed.load_note() is None


def test_the_checked_build_is_made_only_if_it_will_run(tmp_path: Path) -> None:
    device, trial = _core.open("cpu"), make_trial(tmp_path / "a")
    assert runner.needs_checked_build(device, trial)
    CheckedPass(trial.builds(device)).store()
    assert not runner.needs_checked_build(device, trial)
    assert runner.needs_checked_build(device, replace(trial, recheck=True))
    broken = parse(SOURCE.replace("of_test.h", "absent.h"), name="relu")
    assert runner.needs_checked_build(device, replace(trial, kernel=broken))


def test_a_gpus_kernel_is_always_checked_first(tmp_path: Path) -> None:
    device, trial = _core.open("cpu"), make_trial(tmp_path / "a")
    CheckedPass(trial.builds(device)).store()

    class Gpu:
        checked_builds = False

    assert runner.needs_checked_build(Gpu(), trial)  # type: ignore[arg-type]


def test_wrong_results_are_explained_though_the_code_has_passed(
    tmp_path: Path, sizes: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = HEADER.replace("T(0)", "T(1)")
    CheckedPass(make_trial(tmp_path / "a", header=wrong).builds(_core.open("cpu"))).store()
    result = judge(tmp_path / "a", header=wrong)
    assert [each.kind for each in result.failures] == ["WRONG_RESULT"]
    assert sizes
