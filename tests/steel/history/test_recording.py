"""Recorded sessions: what is written can be read, and replays as it went."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from steel.model_server import KEY, ModelServer, fails, kernel, says
from steel_session import Session
from work_in_vain import KERNEL

from agent_steel.attempt import Attempt, Status
from agent_steel.cli import main
from agent_steel.device_lock import DeviceLock
from agent_steel.history.recording import Recording, export_session, read_recording
from agent_steel.loop import Loop, LoopResult
from agent_steel.loop.replay import RecordedProfiler, RecordedVerifier, ReplayProposer
from agent_steel.loop.search import Tools
from agent_steel.loop.settings import SearchSubject, Settings
from agent_steel.models.providers import create
from agent_steel.tuning.tuner import Tuner
from metalbench.errors import DeclarationError

DOCS = Path(__file__).parents[3] / "docs" / "reference" / "recorded-sessions.md"


def faster(work: int) -> str:
    return KERNEL.replace("WORK = 400, 0, 100", f"WORK = {work}")


STORY = [
    says("It has prose only."),
    kernel(faster(200), technique="half"),
    fails(400, "too long"),
    kernel(f"{faster(10)}// WRONG\n", technique="wrong"),
    kernel(faster(100), technique="quarter"),
    kernel("", technique="none"),
]


@pytest.fixture
def recording(
    subject: SearchSubject, session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Recording:
    """A session of a model: a correction, an error, a wrong answer, and nothing left."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer(STORY) as server:
        proposer = create("openai", model="scripted", base_url=server.url("openai"))
        session([subject], proposer, max_rounds=9, max_idle_rounds=9)
    assert session.fates(subject) == ["baseline", "kept", "unusable", "wrong", "kept"]
    return write(session, 1, tmp_path / "a.jsonl")


def write(session: Session, number: int, path: Path) -> Recording:
    found = session.history.session(number)
    assert found is not None
    path.write_text("".join(export_session(session.history, found)), encoding="utf-8")
    return read_recording(path)


def replay(
    recording: Recording, session: Session, subject: SearchSubject, **settings: Any
) -> LoopResult:
    tools = Tools(
        session.history,
        RecordedVerifier(recording),
        RecordedProfiler(recording),
        DeviceLock(session.history.folder, "cpu"),
        ReplayProposer(recording),
        Settings(**{"max_rounds": 9, "max_idle_rounds": 9, **settings}),
        session.heard,
    )
    return Loop(session.history.begin({}), [subject], tools).run()


@pytest.fixture
def other(tmp_path: Path) -> Any:
    made = Session(tmp_path / "other" / "results.db")
    with made.store:
        yield made


def without_times(attempt: Attempt) -> Attempt:
    return replace(attempt, proposed_at="", judged_at="", measured_from=None, measured_to=None)


def test_a_recording_has_the_whole_session(
    recording: Recording, subject: SearchSubject, session: Session
) -> None:
    attempts = {each.number: each for each in session.history.attempts(subject.place)}
    assert recording.attempts == attempts
    assert [len(each.exchanges) for each in recording.calls] == [2, 1, 1, 1, 1]
    assert [(each.round, each.index) for each in recording.calls] == [
        (number, 0) for number in range(1, 6)
    ]
    assert recording.calls[0].exchanges[0].error.startswith("expected a JSON object")
    assert dict(session.history.diagnoses(1)) == dict(recording.diagnoses)
    assert set(recording.diagnoses) == {1, 2, 5}
    assert KEY not in recording.path.read_text()


def test_a_replay_goes_as_the_session_did(
    recording: Recording, subject: SearchSubject, session: Session, other: Session
) -> None:
    ended = replay(recording, other, subject)
    assert not other.workers.played
    before, after = (
        [without_times(each) for each in each.history.attempts(subject.place)]
        for each in (session, other)
    )
    assert after == before
    assert ended.searches[0].best.technique == "quarter"
    assert ended.searches[0].reason == "the proposer has nothing left to try"
    # Exchanges are there as well, with the prompts and costs of the recording.
    assert [asdict(each) for _, each in other.history.exchanges()] == [
        asdict(each) for _, each in session.history.exchanges()
    ]
    again = write(other, 1, recording.path.with_name("b.jsonl"))
    assert again.calls == recording.calls


def test_a_replay_that_leaves_the_recording_says_where(
    recording: Recording, subject: SearchSubject, other: Session
) -> None:
    attempts = dict(recording.attempts)
    kept = next(each for each in attempts.values() if each.technique == "half")
    attempts[kept.number] = replace(kept, status=Status.REVERTED)
    ended = replay(replace(recording, attempts=attempts), other, subject)
    assert re.search(
        r"cost: \[replay\] .*a\.jsonl: twice, round 2: the recorded request 0 is for attempt 2 and "
        r"this one for another text, attempt 1 \(as it was\); replay it with the version",
        ended.reason,
    )


def test_a_recording_of_an_interrupted_session_ends(
    recording: Recording, subject: SearchSubject, other: Session
) -> None:
    cut = replace(recording, calls=recording.calls[:2], outcome=None)
    ended = replay(cut, other, subject)
    assert "round 3: the recording ends here (it was broken off)" in ended.reason
    assert other.fates(subject) == ["baseline", "kept", "unusable"]


def test_proposals_of_the_tuner_replay(
    subject: SearchSubject, session: Session, other: Session, tmp_path: Path
) -> None:
    options = {"candidates": 2, "max_rounds": 3}
    session([subject], Tuner(), **options)
    found = write(session, 1, tmp_path / "a.jsonl")
    replay(found, other, subject, **options)
    assert other.fates(subject) == session.fates(subject)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("no JSON\n", r":1: expected a line of agent_steel.session version 1, got JSONDecodeError"),
        ('{"type": "attempt"}\n', "the first line is not the head"),
        (
            '{"type": "session", "format": "agent_steel.session", "version": 2}\n',
            "version 2; `agent_steel export-session` writes",
        ),
    ],
)
def test_other_files_are_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(text)
    with pytest.raises(DeclarationError, match=said):
        read_recording(path)


def test_unknown_lines_are_ignored(recording: Recording) -> None:
    text = recording.path.read_text() + '{"type": "note", "text": "of another tool"}\n'
    recording.path.write_text(text)
    assert read_recording(recording.path) == recording


def test_the_reference_names_every_field(recording: Recording) -> None:
    documented: dict[str, set[str]] = {}
    for part in DOCS.read_text().split("\n## `")[1:]:
        kind = part.partition("`")[0]
        rows = re.findall(r"^\| (`.+?) \|", part, re.MULTILINE)
        documented[kind] = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    records = [json.loads(line) for line in recording.path.read_text().splitlines()]
    assert {each["type"] for each in records} == documented.keys()
    for each in records:
        assert set(each) - {"type"} == documented[each["type"]], each["type"]


def test_commands_export_and_replay_a_session(folder: Path, tmp_path: Path) -> None:
    db, file = tmp_path / "a.db", tmp_path / "a.jsonl"
    where = ["--kernels", str(folder), "--device", "cpu", "--time", "0.05", "--no-held-out"]
    search = ["--kernel-name", "twice", *where, "--db", str(db), "--max-rounds", "1"]
    done = CliRunner().invoke(main, [*search, "--candidates", "1"])
    assert done.exit_code == 0, done.output
    export = ["export-session", "--db", str(db), "--out", str(file)]
    assert CliRunner().invoke(main, export).exit_code == 0
    assert "--force replaces it" in CliRunner().invoke(main, export).output
    shown = CliRunner().invoke(main, ["--replay", str(file), "--output", "json"])
    assert shown.exit_code == 0, shown.output
    (found,) = json.loads(shown.stdout)["kernels"]
    recorded = read_recording(file).attempts
    assert [each["source_key"] for each in found["attempts"]] == [
        each.source_key for each in recorded.values() if each.status is not Status.BASELINE
    ]
    nothing = CliRunner().invoke(main, ["export-session", "77", "--db", str(db)])
    assert "lacks session 77" in nothing.output
