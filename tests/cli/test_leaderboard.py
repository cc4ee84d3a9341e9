"""Records on the command line: brought in, shown, certified and measured by somebody else."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from example_results import CPU, correct
from msgspec import structs

from metalbench import compare
from metalbench.cli import main
from metalbench.compare import certificate
from metalbench.compare.certificate import Reproduction, ReproductionVerdict, read_exported
from metalbench.errors import StoreError
from metalbench.report.warnings import SIMULATION
from metalbench.stats import Interval
from metalbench.store.environment import environment
from metalbench.store.records import RecordClaim
from metalbench.store.store import Store

Command = Callable[..., Result]
QUICK = ("--time", "0.05", "--in-process")


@pytest.fixture
def command(tmp_path: Path, kernels: Path) -> Command:
    def invoke(*arguments: object) -> Result:
        words = [str(each) for each in arguments]
        if words[0] not in ("leaderboard", "summary"):
            words += ["--kernels", str(kernels), "--device", "cpu"]
        return CliRunner().invoke(main, [*words, "--db", str(tmp_path / "results.db")])

    return invoke


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A store with the records of two tasks."""
    path = tmp_path / "results.db"
    with Store(path) as store:
        for task in ("softmax", "relu"):
            number = store.record(store.begin_run({}, CPU, environment()), correct(task))
            assert store.keep_record(store.place_of(number), RecordClaim(number, "//", "test"))
    return path


def test_leaderboard_without_records_names_the_command_for_them(
    command: Command, tmp_path: Path
) -> None:
    shown = command("leaderboard")
    assert shown.exit_code == 0
    assert shown.stdout.endswith("results.db; `metalbench run --record` makes some\n")
    pages = [tmp_path / name for name in ("a.html", "a.json", "a.csv")]
    named = [word for page in pages for word in (f"--{page.suffix[1:]}", page)]
    assert command("leaderboard", *named).exit_code == 0
    assert "No records yet" in pages[0].read_text()
    assert all(page.exists() for page in pages)
    assert not (tmp_path / "results.db").exists()
    Store(tmp_path / "results.db").close()
    assert "no such records" in command("leaderboard").stdout


def test_leaderboard_prints_the_history_on_request(command: Command, recorded: Path) -> None:
    assert recorded.exists()
    assert "against the record before" not in command("leaderboard", "softmax").stdout
    told = command("leaderboard", "softmax", "--history")
    assert told.exit_code == 0, told.output
    assert told.stdout.count("against the record before") == 1
    assert "the first" in told.stdout
    assert "the first" not in command("leaderboard", "softmax").stdout


def test_run_record_enters_correct_kernels(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = []

    def heard(_: Any, store: Store, trial: Any, result: int, **options: Any) -> Any:
        entered.append((trial.entry.name, store.result(result).task, options["origin"]))
        ruling = compare.Ruling
        place = store.place_of(result)
        return ruling(result, place, None, compare.Decision.FIRST, "there was none")

    monkeypatch.setattr(compare, "enter", heard)
    done = command("run", "thrice", "twice", "--record", *QUICK)
    assert done.exit_code == 1
    # Of two kernels the one that is right.
    assert entered == [("twice", "twice", "run")]
    assert "Records: 1 first. `metalbench leaderboard` shows them." in done.stdout
    entered.clear()
    command("run", "twice", *QUICK)
    assert entered == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StoreError("[store] the disk is full"), "twice: no record: [store] the disk is full"),
        (KeyboardInterrupt(), "Interrupted: the rest have not met their records."),
    ],
)
def test_run_writes_results_although_a_record_fails(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    error: BaseException,
    said: str,
) -> None:
    def fail(*_: Any, **__: Any) -> Any:
        raise error

    monkeypatch.setattr(compare, "enter", fail)
    file = tmp_path / "results.json"
    done = command("run", "twice", "--record", "--json", file, *QUICK)
    assert said in done.stdout
    assert json.loads(file.read_text())["results"][0]["status"] == "correct"


def test_leaderboard_prints_and_exports_every_format(
    command: Command, recorded: Path, tmp_path: Path
) -> None:
    files = {name: tmp_path / f"records.{name}" for name in ("html", "json", "csv", "md")}
    options = [word for name, path in files.items() for word in (f"--{name}", path)]
    shown = command("leaderboard", *options)
    assert shown.exit_code == 0, shown.output
    assert [line.split()[0] for line in shown.stdout.splitlines() if "float32" in line] == [
        "relu",
        "softmax",
    ]
    for path in files.values():
        assert SIMULATION.split(":")[0] in path.read_text() or path.suffix == ".csv"
        assert "softmax" in path.read_text()
    assert files["html"].read_text().startswith("<!doctype html>")
    assert len(json.loads(files["json"].read_text())["devices"][0]["records"]) == 2


def test_leaderboard_selects_by_name_set_or_device(command: Command, recorded: Path) -> None:
    assert "relu" not in command("leaderboard", "softmax").stdout
    assert "no such records" in command("leaderboard", "--device", "metal").stdout
    assert "no such records" in command("leaderboard", "--set", "full").stdout
    unknown = command("leaderboard", "softmaxx")
    assert unknown.exit_code == 2
    assert "no record of 'softmaxx'; did you mean 'softmax'?" in unknown.output
    piped = command("leaderboard", "--json", "-")
    assert json.loads(piped.stdout)["schema"] == 1


def test_run_writes_a_page(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    done = command("run", "thrice", "twice", "--html", file, *QUICK)
    assert done.exit_code == 1
    text = file.read_text()
    assert text.startswith("<!doctype html>")
    for part in ("1 of 2 correct", "every element is 1.5 times", SIMULATION, "twice.metal"):
        assert part in text


def test_control_options_refuse_the_option_record(command: Command) -> None:
    done = command("run", "twice", "--ab-control", "--record")
    assert done.exit_code == 2
    assert "expected no --record" in done.output


def test_certify_writes_a_file_that_reproduce_reads(command: Command, tmp_path: Path) -> None:
    done = command("certify", "twice", "thrice", "--out", tmp_path, *QUICK)
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith("### twice (seed): correct")
    assert "### thrice (seed): incorrect" in done.stdout
    assert "every element is 1.5 times" in done.stderr
    assert not (tmp_path / "thrice-float32-seed.record.json").exists()
    made = read_exported(tmp_path / "twice-float32-seed.record.json")
    assert (made.task, made.machine.kind) == ("twice", "cpu")
    assert made.sha256 in done.stdout
    again = command("reproduce", tmp_path / "twice-float32-seed.record.json", *QUICK)
    # How busy the machine is decides between the two.
    assert again.exit_code in (0, 1), again.output
    (line,) = again.stdout.splitlines()
    word = "REPRODUCED: " if again.exit_code == 0 else "NOT REPRODUCED: "
    assert line.startswith(f"{word}twice (seed): ")


def test_certify_requires_names(command: Command) -> None:
    assert "Missing argument 'NAME...'" in command("certify").output


def test_reproduce_does_not_run_incomparable_records(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("certify", "twice", "--out", tmp_path, *QUICK)
    file = tmp_path / "twice-float32-seed.record.json"
    made = read_exported(file)
    moved = structs.replace(
        made, machine=structs.replace(made.machine, name="Another CPU", mlx="0.1")
    )
    file.write_text(structs.replace(moved, sha256=moved.digest).text)
    monkeypatch.setattr(certificate, "run_trials", None)
    done = command("reproduce", file)
    assert done.exit_code == 3, done.output
    assert done.stdout.startswith("NOT COMPARABLE: twice (seed): another device: cpu Another CPU")
    assert "another version of MLX: 0.1 there" in done.stdout


@pytest.mark.parametrize(
    ("word", "code"),
    [
        (ReproductionVerdict.REPRODUCED, 0),
        (ReproductionVerdict.NOT_REPRODUCED, 1),
        (ReproductionVerdict.NOT_COMPARABLE, 3),
    ],
)
def test_verdicts_have_exit_codes(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    word: ReproductionVerdict,
    code: int,
) -> None:
    command("certify", "twice", "--out", tmp_path, *QUICK)
    ends = Interval(0.95, 0.93, 0.97), Interval(1.9, 1.85, 1.95), Interval(2.0, 1.96, 2.04)
    said = Reproduction(word, "why", *ends)
    monkeypatch.setattr(certificate, "reproduce", lambda *_, **__: said)
    done = command("reproduce", tmp_path / "twice-float32-seed.record.json", "--within", "5%")
    assert done.exit_code == code
    assert done.stdout == (
        f"{word.value}: twice (seed): why; 0.95x [0.93, 0.97] of the claim "
        "(1.90x [1.85, 1.95] MLX's speed here, 2.00x [1.96, 2.04] there)\n"
    )


def test_reproduce_refuses_other_files(command: Command, tmp_path: Path) -> None:
    file = tmp_path / "notes.json"
    file.write_text("{}")
    done = command("reproduce", file)
    assert done.exit_code == 2
    assert "notes.json: expected a file of `metalbench certify`" in done.output


def test_a_summary_is_a_few_lines_of_the_comparison(command: Command, tmp_path: Path) -> None:
    with Store(tmp_path / "results.db") as store:
        for save, factor in (("main", 1.0), (None, 1.5)):
            run = store.begin_run({"save": save}, CPU, environment())
            for task in ("softmax", "relu"):
                result = correct(task)
                measured = result.measurement
                assert measured is not None
                if task == "relu":
                    ratio = measured.ratio.scale(factor)  # type: ignore[union-attr]
                    result = replace(result, measurement=replace(measured, ratio=ratio))
                store.record(run, result)
            store.finish_run(run, "finished")
    done = command("summary")
    assert done.exit_code == 0, done.output
    first, second = done.stdout.splitlines()[:2]
    assert first.startswith("relu (seed): 1.50x [")
    assert first.endswith("FASTER")
    assert second.startswith("run:2 against main: 1 FASTER, 1 INCONCLUSIVE.")
    # As a table says it.
    compared = CliRunner().invoke(main, ["compare", "main", "--db", str(tmp_path / "results.db")])
    assert second in compared.stdout
    assert command("summary", "latest", "main", "--fail-on", "slower").exit_code == 1
    assert command("summary", "nothing").exit_code == 2
