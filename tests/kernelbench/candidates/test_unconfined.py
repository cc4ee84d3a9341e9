"""A candidate runs where the system confines its process, and elsewhere only if that is allowed."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
import samples
from candidates import answers
from click.testing import CliRunner

from metalbench import _core
from metalbench.cli import main
from metalbench.errors import MachineError
from metalbench.kernel.library import Library
from metalbench.kernelbench.candidates import player
from metalbench.kernelbench.candidates.attempt import UNCONFINED, attempt
from metalbench.kernelbench.candidates.source import read
from metalbench.measure.measurement import Plan
from metalbench.report.ci import to_markdown
from metalbench.report.export import to_json
from metalbench.run.trial import Silent, Trial
from metalbench.store.environment import environment
from metalbench.store.result import Result

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="macOS has one sandbox for all")


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    library = Library([samples.tasks_in(tmp_path / "kernels")])
    path = tmp_path / "answer.py"
    path.write_text(answers.named(answers.FUNCTION, "twice01"))
    plan = Plan(seconds=0.05)
    return Trial(library.entry("twice01"), read(path, "twice01"), "float32", plan=plan)


def tried(trial: Trial, monkeypatch: pytest.MonkeyPatch, lacks: str) -> Result:
    """Return the result of a candidate on a system without some protection."""
    monkeypatch.setattr(player, "WORKER", "candidates.playing_without")
    monkeypatch.setenv("METALBENCH_TEST_LACKS", lacks)
    return attempt(_core.open("cpu"), trial, Silent())


@pytest.mark.parametrize(
    ("lacks", "words"),
    [("seccomp", "seccomp: Function not implemented"), ("landlock", "landlock: this kernel has")],
)
def test_a_candidate_is_refused_without_confinement(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, lacks: str, words: str
) -> None:
    with pytest.raises(MachineError, match="with --unconfined if you trust") as caught:
        tried(trial, monkeypatch, lacks)
    assert words in str(caught.value)
    assert "answer.py" in str(caught.value)


def test_a_refused_candidate_has_not_run(
    trial: Trial, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without seccomp and Landlock it could have written anywhere."""
    mark = tmp_path / "mark"
    text = f"import dataclasses\ndataclasses.sys.modules['io'].open({str(mark)!r}, 'w')\n"
    loud = replace(trial, kernel=replace(trial.kernel, source=text + trial.kernel.source))
    with pytest.raises(MachineError):
        tried(loud, monkeypatch, "seccomp landlock")
    assert not mark.exists()


def test_unconfined_candidates_run_and_reports_say_so(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = tried(replace(trial, unconfined=True), monkeypatch, "seccomp landlock")
    assert "seccomp: Function not implemented" in result.unconfined
    assert any(each.startswith(UNCONFINED) for each in result.notes), result.notes
    exported = to_json([result], result.device, environment(), {})
    assert '"unconfined": "landlock' in exported
    assert UNCONFINED in to_markdown([result], 1.0)


def test_a_candidate_that_starts_processes_has_no_time(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "import dataclasses\n\nos = dataclasses.sys.modules['os']\n\n\n"
        "def stay():\n"
        "    if os.fork() == 0:\n"
        "        if os.fork():\n            os._exit(0)\n"
        "        dataclasses.sys.modules['signal'].pause()\n\n\nstay()\n"
    )
    source = trial.kernel.source + text
    loud = replace(trial, unconfined=True, kernel=replace(trial.kernel, source=source))
    result = tried(loud, monkeypatch, "seccomp landlock")
    assert result.failures[0].kind == "FORGED_TIMES", result.failures
    assert "has started others" in result.failures[0].message


def test_with_full_confinement_there_is_no_note(trial: Trial) -> None:
    if not _confines():
        pytest.skip("this system lacks seccomp or Landlock")
    result = attempt(_core.open("cpu"), replace(trial, unconfined=True), Silent())
    assert result.unconfined == ""
    assert not any(each.startswith(UNCONFINED) for each in result.notes)


def test_the_commands_pass_the_option_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from metalbench.workers.pool import Workers

    seen: list[bool] = []

    def attempted(_: Workers, device: object, trial: Trial, *__: object) -> Result:
        seen.append(trial.unconfined)
        raise MachineError("enough")

    monkeypatch.setattr(Workers, "attempt", attempted)
    path = tmp_path / "relu.py"
    path.write_text(answers.named(answers.MLX_ONLY, "relu"))
    for options in ([], ["--unconfined"]):
        command = ["run", str(path), "--db", str(tmp_path / "a.db"), "--device", "cpu", *options]
        CliRunner().invoke(main, command)
    assert seen == [False, True]


def _confines() -> bool:
    from metalbench.sandbox.proof import run_proofs

    held = {each.name: each.holds for each in run_proofs()}
    return held["files"] and held["system calls"]
