"""`metalbench compare` and `metalbench history`, from the command line to the exit code."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from example_results import CPU, correct, incorrect, measurement

from metalbench.cli import main
from metalbench.compare.head_to_head import MatchOutcome
from metalbench.store.environment import environment
from metalbench.store.result import DeviceFacts
from metalbench.store.store import Store
from metalbench.workers.pool import Workers

SLOW = "float s = 0; for (int k = 0; k < 400; ++k) s += x[(i + k) % n]; y[i] = 2 * x[i] + 0 * s"


def command(*arguments: object) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def git(folder: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(("git", "-C", str(folder), *identity, *arguments), check=True)


@pytest.fixture
def history(kernels: Path) -> Path:
    """The kernels in a repository: twice was slow, then wrong, and is quick now."""
    path = kernels / "twice.metal"
    quick = path.read_text()
    git(kernels, "init", "-q")
    for text in (
        quick.replace("uint i", "constant uint& n, uint i").replace("y[i] = 2 * x[i]", SLOW),
        quick.replace("2 * x[i]", "3 * x[i]"),
    ):
        path.write_text(text)
        git(kernels, "add", "-A")
        git(kernels, "commit", "-q", "-m", "twice")
    path.write_text(quick)
    return kernels


def test_compare_runs_both_versions_alternately(history: Path, tmp_path: Path) -> None:
    written = tmp_path / "comparison.json"
    arguments = ("--kernels", history, "--time", 0.1, "--size", "large", "--json", written)
    result = command("compare", "twice@HEAD~1", *arguments)
    assert result.exit_code == 0, result.output
    assert "twice@HEAD~1" in result.stdout
    assert "in pairs of random order, on the same inputs" in result.stdout
    (compared,) = json.loads(written.read_text())["compared"]
    assert (compared["same_source"], compared["by"]) == (False, "pairs")
    assert compared["before_ns"]["value"] > 0


def test_compare_ends_a_version_that_does_not_end(history: Path) -> None:
    path = history / "twice.metal"
    path.write_text(path.read_text().replace("y[i] =", "while (y[i] != 3) y[i] = 2; y[i] ="))
    result = command("compare", "twice@HEAD~1", "--kernels", history, "--kernel-timeout", 3)
    assert result.exit_code == 1, result.output
    assert "is not correct, so it has no time" in result.output
    assert "--kernel-timeout" in result.output


def test_compare_tells_versions_apart_that_differ_only_in_a_header(
    history: Path, tmp_path: Path
) -> None:
    """The header is wrong at first, then right, and wrong again in the working tree."""
    path, included = history / "twice.metal", history / "factor.h"
    text = path.read_text().replace("2 * x[i]", "FACTOR * x[i]")
    path.write_text(text.replace("using", '#include "factor.h"\nusing', 1))
    for factor in (3, 2):
        included.write_text(f"#define FACTOR {factor}\n")
        git(history, "add", "-A")
        git(history, "commit", "-q", "-m", "factor")
    included.write_text("#define FACTOR 4\n")
    written = tmp_path / "comparison.json"
    options = ("--kernels", history, "--time", 0.05, "--json", written)
    result = command("compare", "twice@HEAD~1", "twice@HEAD", *options)
    assert result.exit_code == 1
    assert "twice@HEAD~1 is not correct, so it has no time: " in result.stderr
    result = command("compare", "twice@HEAD", *options)
    assert result.exit_code == 1
    assert "twice is not correct, so it has no time: " in result.stderr
    included.write_text("#define FACTOR 2\n")
    assert command("compare", "twice@HEAD", *options).exit_code == 0
    (compared,) = json.loads(written.read_text())["compared"]
    assert compared["same_source"]
    included.write_text("#define FACTOR (1 + 1)\n")
    assert command("compare", "twice@HEAD", *options).exit_code == 0
    (compared,) = json.loads(written.read_text())["compared"]
    assert not compared["same_source"]


@pytest.mark.parametrize(("factor", "verdict", "code"), [(2.0, "FASTER", 0), (0.5, "SLOWER", 1)])
def test_compare_fails_for_a_slower_version_on_request(
    history: Path, monkeypatch: pytest.MonkeyPatch, factor: float, verdict: str, code: int
) -> None:
    def played(_: Workers, device: DeviceFacts, *__: object) -> MatchOutcome:
        return MatchOutcome(device, None, measurement(reference=factor))

    monkeypatch.setattr(Workers, "play", played)
    arguments = ("--kernels", history, "--fail-on", "slower")
    result = command("compare", "twice@HEAD~1", "twice", *arguments)
    assert result.exit_code == code, result.output
    assert f"twice against twice@HEAD~1: 1 {verdict}." in result.stdout


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["twice@nowhere"], "twice.metal@nowhere: git says:"),
        (["twice@HEAD~1", "thrice"], "expected twice or twice@REVISION"),
        (["latest", "twice@HEAD"], "NAME@REVISION compares with NAME"),
        (["twise@HEAD"], "did you mean 'twice'"),
        (["nothing.json"], "there is no such file"),
        (["latest~1"], "there are no runs yet"),
    ],
)
def test_compare_explains_why_versions_cannot_be_compared(
    history: Path, tmp_path: Path, names: list[str], words: str
) -> None:
    options = ("--kernels", history, "--db", tmp_path / "none.db", "--time", 0.05)
    result = command("compare", *names, *options)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())


def test_compare_has_no_time_of_a_wrong_version(history: Path) -> None:
    result = command("compare", "twice@HEAD", "--kernels", history, "--time", 0.05)
    assert result.exit_code == 1
    assert "twice@HEAD is not correct, so it has no time: " in result.stderr


@pytest.fixture
def installed(history: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same kernels as the library of an installation in no repository, and as a checkout."""
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    library = tmp_path / "site" / "kernels"
    shutil.copytree(history, library / "common", ignore=shutil.ignore_patterns(".git"))
    shutil.copytree(history, checkout / "kernels" / "common")
    # A checkout's own repository begins at its top.
    (checkout / "kernels" / "common" / ".git").rename(checkout / ".git")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "thrice is twice")
    path = checkout / "kernels" / "common" / "twice.metal"
    path.write_text(path.read_text().replace("2 * x[i]", "of_the_checkout"))
    git(checkout, "commit", "-q", "-a", "-m", "broken")
    monkeypatch.setattr("metalbench.kernel.source_files.library_folder", lambda: library)
    return checkout


def test_compare_finds_the_kernels_of_a_checkout(
    installed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(installed / "kernels")
    result = command("compare", "twice@HEAD~1", "twice@HEAD~1", "--time", 0.05)
    assert result.exit_code == 0, result.output
    # What is compared with is the checkout's file, too, not the one that is installed.
    result = command("compare", "twice@HEAD~1", "--time", 0.05)
    assert result.exit_code == 1
    assert "of_the_checkout" in result.stderr


def test_compare_reads_the_headers_of_a_checkout(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The installed header of the same name is wrong."""
    for folder, factor in ((tmp_path / "site", 3), (installed, 2)):
        included = folder / "kernels" / "include" / "metalbench" / "factor.h"
        included.parent.mkdir(parents=True)
        included.write_text(f"#define FACTOR {factor}\n")
    path = installed / "kernels" / "common" / "twice.metal"
    text = path.read_text().replace("of_the_checkout", "FACTOR * x[i]")
    path.write_text(text.replace("using", '#include "metalbench/factor.h"\nusing', 1))
    git(installed, "add", "-A")
    git(installed, "commit", "-q", "-m", "factor")
    monkeypatch.chdir(installed)
    for names in (["twice@HEAD"], ["twice@HEAD", "twice@HEAD"]):
        result = command("compare", *names, "--time", 0.05)
        assert result.exit_code == 0, result.output


def test_compare_of_an_installed_kernel_needs_a_repository(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = command("compare", "twice@HEAD~1", "--time", 0.05)
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert "twice.metal is the installed copy, which lies in no repository" in said
    assert "run it within a checkout of MetalBench, or name the folder with --kernels" in said


def test_compare_with_a_kernel_folder_needs_a_repository(kernels: Path) -> None:
    result = command("compare", "twice@HEAD~1", "--kernels", kernels, "--time", 0.05)
    assert result.exit_code == 2
    assert f"{kernels} lies in no repository of git" in " ".join(result.stderr.split())


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """A store with three runs, of which the last is half as fast."""
    path = tmp_path / "results.db"
    with Store(path) as store:
        for _ in range(3):
            run = store.begin_run({}, CPU, environment())
            store.record(run, correct())
            store.record(run, correct("relu", seed=1))
        number = store.results(run)[0].id
        store._connection.execute(
            "UPDATE results SET ratio = ratio / 2, ratio_low = ratio_low / 2,"
            f" ratio_high = ratio_high / 2 WHERE id = {number}"
        )
    return path


def test_runs_of_the_store_compare(db: Path) -> None:
    result = command("compare", "latest~1", "--db", db, "--fail-on", "slower")
    assert result.exit_code == 1, result.output
    # Three runs of one source are too few to know how much its runs differ.
    assert ": 1 SLOWER, 1 INCONCLUSIVE." in result.stdout
    assert command("compare", "run:1", "run:2", "--db", db, "--fail-on", "slower").exit_code == 0


def test_history_reports_a_regression(db: Path) -> None:
    result = command("history", "softmax", "--db", db)
    assert result.exit_code == 0, result.output
    assert "██▁" in result.stdout
    assert "latest against previous: 0.50" in result.stdout
    assert command("history", "softmax", "--db", db, "--fail-on", "slower").exit_code == 1
    assert command("history", "relu", "--db", db, "--fail-on", "slower").exit_code == 0


@pytest.mark.parametrize("clock", ["wall time", "GPU time"])
def test_history_shows_that_the_latest_result_is_incorrect(db: Path, clock: str) -> None:
    with Store(db) as store:
        # An incorrect result has no clock, and is in the row of those that were timed.
        store._connection.execute("UPDATE results SET clock = ?", (clock,))
    one, every = (command("history", *name, "--db", db).stdout for name in (["relu"], []))
    assert "!" not in one + every
    with Store(db) as store:
        run = store.begin_run({}, CPU, environment())
        store.record(run, incorrect("relu"))
    one, every = (command("history", *name, "--db", db) for name in (["relu"], []))
    meaning = "! is a result without such a score: not correct"
    assert "latest    incorrect  (" in one.stdout
    assert f"run:{run}, source" in one.stdout
    assert meaning in " ".join(one.stdout.split())
    (row,) = [line for line in every.stdout.splitlines() if line.startswith("relu")]
    assert "!" in row
    assert "incorrect" in row
    assert f"Not correct in the latest run: relu (incorrect in run:{run})." in every.stdout
    assert meaning in " ".join(every.stdout.split())
    assert command("history", "relu", "--db", db, "--fail-on", "slower").exit_code == 1


def test_history_json_on_standard_output_is_pure_json(db: Path) -> None:
    result = command("history", "softmax", "--db", db, "--json", "-")
    document = json.loads(result.stdout)
    assert [each["id"] for each in document["pasts"][0]["results"]] == [5, 3, 1]
    assert "latest against" in result.stderr


def test_history_of_all_tasks_prints_a_line_for_each(db: Path) -> None:
    result = command("history", "--db", db)
    assert result.exit_code == 0, result.output
    relu, softmax = (line.split() for line in result.stdout.splitlines()[2:4])
    assert (relu[0], softmax[0]) == ("relu", "softmax")
    assert "██▁" in softmax
    assert softmax[-3] == "SLOWER"
    assert "SLOWER" not in relu
    assert "Slower than before: softmax; " in result.stdout
    assert command("history", "--db", db, "--fail-on", "slower").exit_code == 1
    document = json.loads(command("history", "--db", db, "--json", "-").stdout)
    assert [each["task"] for each in document["tasks"]] == ["relu", "softmax"]
    assert document["tasks"][1]["pasts"][0]["regressed"]


def test_history_of_an_empty_store_names_the_command(tmp_path: Path) -> None:
    result = command("history", "--db", tmp_path / "none.db")
    assert result.exit_code == 0
    assert result.stdout.startswith("no results in ")
    assert "`metalbench run` makes some" in result.stdout


def test_no_history_says_how_to_make_some(tmp_path: Path) -> None:
    result = command("history", "softmax", "--db", tmp_path / "none.db")
    assert result.exit_code == 0
    assert "`metalbench run softmax` makes some" in result.stdout


def add_run(db: Path, ratios: dict[str, float]) -> None:
    with Store(db) as store:
        run = store.begin_run({}, CPU, environment())
        for task, ratio in ratios.items():
            measured = measurement(reference=ratio, pairs=400)
            store.record(run, replace(correct(task), measurement=measured))
        store.finish_run(run, "finished")


def test_comparisons_of_runs_are_written_as_markdown(tmp_path: Path) -> None:
    db, written = tmp_path / "results.db", tmp_path / "comparison.md"
    add_run(db, {"relu": 2.0, "gelu": 2.0, "softmax": 2.0})
    add_run(db, {"relu": 1.0, "gelu": 2.0, "softmax": 4.0})
    told = command("compare", "latest~1", "--db", db, "--markdown", written)
    assert told.exit_code == 0, told.output
    lines = written.read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and "verdict" not in line]
    assert [row.split(" | ")[0].strip("| ") for row in rows] == ["relu", "softmax", "gelu"]
    assert "**SLOWER** |" in rows[0]
    assert "| FASTER |" in rows[1]
    folded = lines.index("<details><summary>1 kernel without a significant change</summary>")
    assert lines.index(rows[1]) < folded < lines.index(rows[2])
    assert lines[-1].startswith("Times are host times of a simulation")
    brief = command("summary", "latest~1", "--db", db, "--markdown", "-")
    assert "gelu" not in brief.stdout
    assert "softmax" in brief.stdout
    assert "run:2 against run:1: 1 FASTER, 1 SLOWER" in brief.stderr
