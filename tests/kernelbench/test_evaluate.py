"""From a folder of generations to a table, by the commands."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import samples
from click.testing import CliRunner, Result

from metalbench.cli import main
from metalbench.kernelbench.folder import read_plan
from metalbench.store.store import Store


class Shell:
    """Runs commands on one folder of generations."""

    def __init__(self, folder: Path, problems: list[list[str]]) -> None:
        self.kernels = samples.tasks_in(folder / "kernels", len(problems))
        self.root = samples.write_samples(folder / "run", problems)
        self.db = folder / "results.db"

    def evaluate(self, *options: object) -> Result:
        where = ["--kernels", self.kernels, "--db", self.db, "--device", "cpu"]
        command = ["evaluate", self.root, *where, "--time", 0.05, *options]
        return CliRunner().invoke(main, list(map(str, command)))

    def analyse(self, *options: object) -> Result:
        command = ["analyse", self.root, "--db", self.db, *options]
        return CliRunner().invoke(main, list(map(str, command)))

    def classes(self) -> dict[tuple[int, int], str]:
        with Store(self.db) as store:
            found = store.evaluations(read_plan(self.root).id)
        return {(each.place.problem, each.place.sample): each.outcome for each in found}

    def counts(self) -> tuple[int, int]:
        with Store(self.db) as store, store.reading() as connection:
            rows = connection.execute("SELECT count(*), count(DISTINCT text_hash) FROM evaluations")
            return tuple(rows.fetchone())


def compute_figures(path: Path) -> Mapping[str, Any]:
    (run,) = json.loads(path.read_text())["runs"]
    return dict(run["levels"][samples.SET])


def test_a_failure_of_the_reference_is_not_one_of_the_sample(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.RIGHT], [samples.RIGHT]])
    task = shell.kernels / samples.SET / "twice01.py"
    given = task.read_text()
    said = 'raise RuntimeError("cudaMallocAsync failed: out of memory")'
    task.write_text(
        given.replace("    return x + x", f"    if x.size > 100:\n        {said}\n    return x + x")
    )
    done = shell.evaluate()
    assert done.exit_code == 1
    assert shell.classes() == {(2, 0): "correct"}
    assert "problem_1/sample_0: not judged, through no fault of the sample" in done.output
    assert "out of memory; take fewer --workers" in done.output
    task.write_text(given)
    again = shell.evaluate()
    assert again.exit_code == 0
    assert shell.classes() == {(1, 0): "correct", (2, 0): "correct"}


def test_evaluate_evaluates_a_folder_once_and_prints_the_stored_table(tmp_path: Path) -> None:
    shell = Shell(
        tmp_path,
        [[samples.RIGHT, samples.PROSE], [samples.WRONG, samples.UNBOUND], [samples.SEVERAL]],
    )
    done = shell.evaluate("--workers", 2)
    assert done.exit_code == 0, done.output
    assert shell.classes() == {
        (1, 0): "correct",
        (1, 1): "prose",
        (2, 0): "wrong result",
        (2, 1): "does not bind",
        (3, 0): "several code blocks",
    }
    assert "no such input" in done.output
    assert "5 of 6 samples are here, 5 evaluated before" in shell.evaluate().output
    assert shell.counts()[0] == 5
    # What is written anew is evaluated anew.
    (shell.root / samples.SET / "problem_1/sample_1.metal").write_text("")
    assert shell.evaluate().exit_code == 0
    assert shell.classes()[1, 1] == "empty"
    assert shell.counts()[0] == 6
    shown = shell.analyse("--json", tmp_path / "a.json", "--csv", tmp_path / "a.csv")
    assert shown.exit_code == 0, shown.output
    found = compute_figures(tmp_path / "a.json")
    assert found["compilation_rate"]["value"] == pytest.approx(2 / 3)
    assert found["correctness_rate"]["value"] == pytest.approx(1 / 3)
    # One correct of two samples of one problem in three.
    at = {(each["k"], each["p"]): each["value"] for each in found["at_k"]}
    assert at[1, None] == pytest.approx((1 / 2) / 3)
    assert at[2, None] == pytest.approx(1 / 3)
    assert found["classes"]["missing"] == 1
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    (correct,) = [each for each in rows if each["figure"] == "correct"]
    assert float(correct["value"]) == pytest.approx(1 / 3)


def test_without_timing_samples_are_verified_and_timed_later(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.RIGHT], [samples.WRONG]])
    done = shell.evaluate("--no-timing", "--csv", tmp_path / "a.csv")
    assert done.exit_code == 0, done.output
    assert shell.classes() == {(1, 0): "correct", (2, 0): "wrong result"}
    with (tmp_path / "a.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(each["problem"], each["outcome"], each["ratio"]) for each in rows] == [
        ("1", "correct", ""),
        ("2", "wrong result", ""),
    ]
    assert "2 of 2 samples are here, 2 evaluated before" in shell.evaluate("--no-timing").output
    # Only what is correct lacks a time.
    timed = shell.evaluate("--json", tmp_path / "a.json")
    assert "2 of 2 samples are here, 1 evaluated before" in timed.output
    first, second = json.loads((tmp_path / "a.json").read_text())
    assert first["ratio"] > 0
    assert first["kernel_ns"] > 0
    assert (second["ratio"], second["outcome"]) == (None, "wrong result")
    assert "2 evaluated before" in shell.evaluate("--no-timing").output


def test_evaluate_prints_a_line_for_each_sample(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.PROSE, ""], [samples.SEVERAL]])
    told = shell.evaluate("--problems", "*_1")
    for part in ("tiny/1/0", "tiny/1/1", "prose", "empty", "expected a kernel, got nothing"):
        assert part in told.output
    assert "tiny/2/0" not in told.output
    # What was evaluated before is in the table, too.
    assert "tiny/2/0" in (again := shell.evaluate().output)
    assert "tiny/1/1" in again


def test_analyse_reports_sizes_and_partial_evaluations(tmp_path: Path) -> None:
    copies = samples.kernel("y[i] = x[i];")
    shell = Shell(tmp_path, [[copies], [samples.PROSE]])
    done = shell.evaluate("--no-timing", "--problems", "problem_1")
    # In the line of progress, and in the table.
    assert done.output.count("it is a copy of the input x (size small") == 2
    files = [tmp_path / f"a.{ending}" for ending in ("json", "csv", "html")]
    told = shell.analyse(*(f"--{each.suffix[1:]}={each}" for each in files))
    assert told.exit_code == 0, told.output
    run = json.loads(files[0].read_text())["runs"][0]
    assert (run["sizes"], run["dtype"], run["not_evaluated"]) == (["seed"], "float32", 1)
    assert run["levels"][samples.SET]["classes"] == {"wrong result": 1, "not evaluated": 1}
    with files[1].open() as file:
        assert {each["sizes"] for each in csv.DictReader(file)} == {"seed"}
    for text in (told.output, files[2].read_text()):
        assert "float32, size seed)" in text
        assert "the evaluation is partial: 1 sample is in the folder and not evaluated" in text
    # Times of one task at two sizes do not mix.
    assert shell.evaluate("--no-timing", "--size", "small").exit_code == 0
    told = shell.analyse()
    assert told.exit_code == 2
    assert "got twice01 at seed and small; choose with --size" in told.output
    told = shell.analyse("--size", "small")
    assert told.exit_code == 0, told.output
    assert "float32, size small)" in told.output
    assert "partial" not in told.output
    told = shell.analyse("--size", "large")
    assert told.exit_code == 2
    assert "--size large:" in told.output
    assert "has evaluations at seed, small" in told.output


def test_the_page_has_the_problems_and_a_curve_that_begins_at_fast_0(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.RIGHT, samples.PROSE], [samples.WRONG, samples.RIGHT]])
    assert shell.evaluate("--no-timing").exit_code == 0
    told = shell.analyse("--html", tmp_path / "a.html", "--json", tmp_path / "a.json")
    assert told.exit_code == 0, told.output
    figures = compute_figures(tmp_path / "a.json")
    first = figures["fast_p"][0]
    assert (first["p"], first["value"]) == (0.0, 0.5)
    assert figures["curve"][0] == {name: first[name] for name in ("p", "value", "low", "high")}
    text = (tmp_path / "a.html").read_text()
    for part in (
        *("fast_p: share of problems", "p: times as fast as MLX", "run: fast_0 is 0.500"),
        *("tiny 1", "tiny 2", "wrong result", "1 of 2", "expected"),
    ):
        assert part in text
    assert "of all samples, over p" not in text


def test_curves_are_drawn_for_several_folders(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.PROSE], [""]])
    assert shell.evaluate().exit_code == 0
    shown = shell.analyse(shell.root, "--plot", tmp_path / "a.svg")
    assert shown.exit_code == 0, shown.output
    picture = ElementTree.parse(tmp_path / "a.svg").getroot()
    assert "fast_p" in "".join(picture.itertext())
    wrong = shell.analyse("--plot", tmp_path / "a.png")
    assert wrong.exit_code == 2
    assert "expected a name that ends in .svg" in wrong.output


def test_evaluate_reports_bad_folders_and_ks(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.PROSE]])
    told = shell.analyse()
    assert told.exit_code == 2
    assert "nothing is known of it; run `metalbench evaluate` first" in told.output
    assert shell.evaluate().exit_code == 0
    assert "-k 5: expected 1 to 1" in shell.analyse("-k", 5).output
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "getloadavg", lambda: (1000.0, 1000.0, 1000.0))
        assert "keep this machine busy" in shell.evaluate("--no-timing").output
        told = CliRunner().invoke(main, ["evaluate", str(tmp_path / "none"), "--device", "cpu"])
    assert told.output == (
        f"Error: {tmp_path / 'none'}: expected a folder of generations, found none\n"
    )
    (shell.root / samples.SET).rename(shell.root / "tinny")
    told = shell.evaluate()
    assert told.exit_code == 2
    assert "tinny: expected level_N, or a set of tasks; did you mean 'tiny'" in told.output
    (shell.root / "tinny").rename(shell.root / "levle_2")
    assert "or a set of tasks; did you mean 'level_2'" in shell.evaluate().output


def test_evaluate_names_misplaced_files_and_counts_the_chosen_samples(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.PROSE], [samples.PROSE]])
    (shell.root / samples.SET / "problem_1" / "answer.metal").write_text(samples.RIGHT)
    (shell.root / samples.SET / "prob_3").mkdir()
    (shell.root / samples.SET / "prob_3" / "sample_0.metal").write_text(samples.RIGHT)
    done = shell.evaluate("--problems", "problem_1")
    assert done.exit_code == 0, done.output
    assert "1 sample of these problems, 0 evaluated before" in done.output
    names = f"{samples.SET}/prob_3/sample_0.metal, {samples.SET}/problem_1/answer.metal"
    assert f"Left out 2 files: {names}; expected names such as level_1" in done.output


@pytest.mark.slow
def test_every_class_of_bad_generation(tmp_path: Path) -> None:
    texts = {
        "correct": samples.RIGHT,
        "wrong result": samples.WRONG,
        "time limit": samples.HANGS,
        "does not compile": samples.BROKEN,
        "does not bind": samples.UNBOUND,
        "forbidden": samples.READS,
        "no or wrong header": samples.HEADLESS,
        "Python, not Metal": samples.PYTHON,
        "prose": samples.PROSE,
        "empty": "",
    }
    shell = Shell(tmp_path, [list(texts.values())])
    assert shell.evaluate("--kernel-timeout", 60, "--workers", 2).exit_code == 0
    assert [each for _, each in sorted(shell.classes().items())] == list(texts)
    with Store(shell.db) as store:
        for each in store.evaluations(read_plan(shell.root).id):
            assert bool(each.message) == (each.outcome != "correct")


def test_problems_of_the_suite_are_found_by_level_and_number(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.PROSE]])
    (shell.root / samples.SET).rename(shell.root / "level_3")
    done = shell.evaluate()
    assert done.exit_code == 0, done.output
    assert "level_3/problem_1/sample_0 (kb3_001_" in done.output


def test_evaluate_makes_a_run_of_existing_kernels(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.WRONG], [samples.WRONG]])
    (shell.kernels / samples.SET / "twice01.metal").write_text(samples.RIGHT)
    shell.root = tmp_path / "ours"
    for evaluated_before in (0, 1):
        done = shell.evaluate("--collect", samples.SET, "--time", 0.05)
        assert done.exit_code == 0, done.output
        assert f"1 of 2 samples are here, {evaluated_before} evaluated before" in done.output
    assert shell.classes() == {(1, 0): "correct"}
    shell.analyse("--json", tmp_path / "figures.json")
    assert compute_figures(tmp_path / "figures.json")["correctness_rate"]["value"] == 0.5
    assert "--collect tinny: did you mean" in shell.evaluate("--collect", "tinny").output


def test_evaluate_takes_the_problems_of_a_pattern_only(tmp_path: Path) -> None:
    shell = Shell(tmp_path, [[samples.RIGHT], [samples.WRONG], [samples.RIGHT]])
    done = shell.evaluate("--problems", "problem_2")
    assert done.exit_code == 0, done.output
    assert set(shell.classes()) == {(2, 0)}
    done = shell.evaluate("--problems", "*/problem_[13]")
    assert set(shell.classes()) == {(1, 0), (2, 0), (3, 0)}
    done = shell.evaluate("--problems", "problem_9")
    assert done.exit_code == 2
    assert "--problems problem_9: expected a pattern of problems such as" in done.output
