"""`agent_steel` as it is typed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result
from work_in_vain import KERNEL, TASK, kernel_with

from agent_steel.cli import main
from agent_steel.cli.run import _repeat_options
from agent_steel.history import History
from metalbench.kernel.header import read
from metalbench.store.store import Store

QUICK = ("--time", "0.3", "--device", "cpu")


@pytest.fixture
def invoke(folder: Path, tmp_path: Path) -> Any:
    """Runs the command on the folder's kernels; the first words may be a command's name."""
    db = ("--db", str(tmp_path / "results.db"))

    def run(*arguments: str, kernels: bool = True) -> Result:
        own = ("--kernels", str(folder)) if kernels else ()
        return CliRunner().invoke(main, [*arguments, *own, *db])

    return run


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with kernels and the store of a search that has found something."""
    place = tmp_path_factory.mktemp("search")
    (place / "kernels").mkdir()
    (place / "kernels" / "twice.py").write_text(TASK.replace("NAME", "twice"))
    (place / "kernels" / "twice.metal").write_text(KERNEL)
    where = ("--kernels", str(place / "kernels"), "--db", str(place / "results.db"))
    asked = ("--kernel-name", "twice", "--candidates", "2", "--device", "cpu")
    # Long enough for what is four times as fast to be so on a busy machine, too.
    done = CliRunner().invoke(main, [*asked, "--time", "1.5", *where])
    assert done.exit_code == 0, done.output
    assert "kept" in done.output
    (place / "output").write_text(done.output)
    return place


@pytest.fixture
def searched(search: Path, invoke: Any, folder: Path, tmp_path: Path) -> Any:
    """The same after that search."""
    shutil.copy(search / "results.db", tmp_path / "results.db")
    return invoke


def test_help_has_examples() -> None:
    done = CliRunner().invoke(main, ["--help"])
    assert done.exit_code == 0
    assert "agent_steel --kernel-name relu --loop --max-rounds 5" in done.output
    for command in ("history", "show", "diff", "export", "plot"):
        assert CliRunner().invoke(main, [command, "--help"]).exit_code == 0
    assert CliRunner().invoke(main, []).output == done.output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--loop"], "expected --kernel-name NAME, --set SET or --all"),
        (["--kernel-name", "twcie"], "did you mean 'twice'"),
        (["--kernel-name", ","], "expected names of kernels"),
        (["--kernel-name", "twice", "--provider", "tunr"], "is not one of 'tuner'"),
        (["--kernel-name", "twice", "--size", "huge"], "huge"),
        (["--kernel-name", "twice", "--gputrace", "traces"], "made by Metal, on a Mac"),
        (["--resume"], "no session in"),
        (["--kernel-name", "twice", "--workers", "2"], "--workers: expected --cluster"),
        (["--kernel-name", "twice", "--cluster", "nowhere"], "--cluster: "),
        (
            ["--kernel-name", "twice", "--objective", "predict:m4"],
            "expected time or predicted:CHIP",
        ),
        (["--kernel-name", "twice", "--objective", "predicted:m99"], "unknown chip 'm99'"),
        (["--kernel-name", "twice", "--objective", "predicted:m4", "--record"], "--record:"),
        (
            ["--kernel-name", "twice", "--objective", "predicted:m4", "--target", "stable"],
            "--target: expected speed",
        ),
    ],
)
def test_wrong_usage_is_reported_with_a_remedy(
    invoke: Any, arguments: list[str], said: str
) -> None:
    done = invoke(*arguments, "--device", "cpu")
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_a_dry_run_prints_its_plan_and_stores_nothing(
    invoke: Any, folder: Path, tmp_path: Path
) -> None:
    done = invoke("--kernel-name", "twice", "--loop", "--max-rounds", "5", "--dry-run", *QUICK)
    assert done.exit_code == 0, done.output
    assert "tuner would be asked for up to 20 versions of each" in done.output
    assert "WORK = 400" in done.output
    with Store(tmp_path / "results.db") as store:
        assert History(store).of_task("twice") == ()
        assert History(store).broken_off() is None


def test_a_search_is_shown_by_history_and_exported(
    searched: Any, folder: Path, tmp_path: Path
) -> None:
    before = (folder / "twice.metal").read_text()
    tree = searched("history", "twice", kernels=False).output
    assert "1 twice.metal as it is: baseline" in tree
    assert re.search(r"[└├]── \d tunables \(WORK = \d+\): kept", tree)
    assert "in all" in tree
    best = searched("history", "twice", "--top", "1", kernels=False).output
    number = re.search(r"^(\d) tunables \(WORK = (\d+)\)", best, re.M)
    assert number is not None
    techniques = searched("history", "twice", "--techniques", kernels=False).output
    assert "tunables: tried 2, kept" in techniques
    # Its proposer was the tuner.
    told = searched("log", "twice", kernels=False)
    assert told.exit_code == 0, told.output
    assert (told.stdout, told.stderr) == (
        "",
        "The tuner makes no requests to a model. `agent_steel history twice` shows its 2 "
        "attempts.\n",
    )
    nothing = searched("log", "twice", "--attempt", "77", kernels=False)
    assert nothing.exit_code == 2
    assert "no such requests to a model" in nothing.output
    shown = searched("show", number[1], kernels=False).output
    assert "attempt  " in shown
    assert "made from  1" in shown
    assert KERNEL.splitlines()[-3] in shown
    changed = searched("diff", "1", number[1], kernels=False).output
    assert "-// tune: WORK = 400, 0, 100" in changed
    assert f"+// tune: WORK = {number[2]}, 400" in changed
    assert (folder / "twice.metal").read_text() == before
    refused = searched("export", "twice", *QUICK[2:])
    assert refused.exit_code == 2
    assert "--force replaces it" in refused.output
    piped = searched("export", "twice", "--out", "-", *QUICK[2:])
    assert f"// tune: WORK = {number[2]}, 400" in piped.output
    wrote = searched("export", "twice", "--force", *QUICK[2:])
    assert wrote.exit_code == 0, wrote.output
    assert read(folder / "twice.metal").resolve_tunables() == {"WORK": int(number[2])}
    # What was applied is the best that is known.
    again = searched("export", "twice", "--out", "-", *QUICK[2:])
    assert read(folder / "twice.metal").source == again.output


def test_the_command_of_the_report_exports_the_winner(
    search: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hint has the options of the search, without which nothing is found."""
    said = " ".join((search / "output").read_text().split())
    (command,) = re.findall(r"`agent_steel (export [^`]*)` writes", said)
    (shown,) = re.findall(r"`agent_steel (history [^`]*)` shows", said)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, shlex.split(command))
    assert done.exit_code == 0, done.output
    assert read(tmp_path / "twice.best.metal").resolve_tunables()["WORK"] != 400
    assert "kept" in CliRunner().invoke(main, shlex.split(shown)).output


def test_the_hint_repeats_options_that_are_no_defaults() -> None:
    asked = ["--kernel-name", "relu", "--size", "small", "--db", "a b.db"]
    with main.make_context("agent_steel", asked) as ctx:
        assert _repeat_options("export", ctx.params) == " --size small --db 'a b.db'"
        assert _repeat_options("history", ctx.params) == " --db 'a b.db'"


@pytest.mark.slow
def test_a_winner_by_prediction_is_the_variant_of_the_chip(invoke: Any, folder: Path) -> None:
    (folder / "twice.metal").write_text(kernel_with(4000, 0))
    asked = ("--kernel-name", "twice", "--objective", "predicted:m4", "--apply")
    done = invoke(*asked, "--candidates", "1", *QUICK)
    assert done.exit_code == 0, done.output
    assert "kept, predicted 3" in done.output
    assert "Gains on Apple M4 are predicted by a model, and were not measured." in done.output
    written = folder / "twice.m4.metal"
    assert "// Chosen by predicted times for Apple M4, not measured." in written.read_text()
    assert read(written).resolve_tunables() == {"WORK": 0}
    tree = invoke("history", "twice", kernels=False).output
    assert "as predicted for Apple M4 (10 cores)" in tree
    shown = invoke("show", "2", kernels=False).output
    assert "kept, predicted 3" in shown
    exported = invoke("export", "twice", "--objective", "predicted:m4", "--out", "-", *QUICK[2:])
    assert exported.output == written.read_text()
    dry = invoke(*asked, "--dry-run", *QUICK)
    assert "Times are predicted for Apple M4, not measured." in dry.output


@pytest.mark.slow
def test_the_winner_is_applied_on_request(invoke: Any, folder: Path) -> None:
    done = invoke("--kernel-name", "twice", "--candidates", "2", "--apply", *QUICK)
    assert done.exit_code == 0, done.output
    assert f"Wrote {folder / 'twice.metal'}" in done.output
    assert read(folder / "twice.metal").resolve_tunables()["WORK"] != 400


@pytest.mark.slow
def test_json_on_standard_output_is_pure_json(invoke: Any) -> None:
    done = invoke("--kernel-name", "twice", "--candidates", "1", "--output", "json", *QUICK)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    (kernel,) = found["kernels"]
    assert (found["ended"], kernel["task"], kernel["start"]) == ("finished", "twice", 1)
    (attempt,) = kernel["attempts"]
    assert attempt["number"] == 2
    assert attempt["measured_from"] < attempt["measured_to"]
    assert "round 1 of 1" in done.stderr


def test_plot_writes_a_picture_of_the_search(searched: Any, tmp_path: Path) -> None:
    path = tmp_path / "search.svg"
    done = searched("plot", "twice", "--out", str(path), *QUICK[2:])
    assert done.exit_code == 0, done.output
    assert "best so far" in "".join(ElementTree.parse(path).getroot().itertext())
    refused = searched("plot", "twice", "--out", str(tmp_path / "search.pdf"), *QUICK[2:])
    assert "ends in .svg" in refused.output


def test_export_does_not_change_the_installed_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, searched: Any, folder: Path
) -> None:
    from agent_steel.history import history

    monkeypatch.setattr(history, "library_folder", lambda: folder)
    done = searched("export", "twice", "--force", *QUICK[2:])
    assert done.exit_code == 2
    assert "is the installed library" in done.output


def test_as_a_module_and_as_a_script() -> None:
    for command in ([sys.executable, "-m", "agent_steel"], ["agent_steel"]):
        done = subprocess.run([*command, "--help"], capture_output=True, text=True, check=True)
        assert done.stdout.startswith("Usage: agent_steel")


def test_only_the_store_is_written(searched: Any, tmp_path: Path) -> None:
    raw = sqlite3.connect(tmp_path / "results.db")
    assert raw.execute("PRAGMA foreign_key_check").fetchall() == []
    raw.close()
    assert not os.listdir(tmp_path / "kernels")[2:]
