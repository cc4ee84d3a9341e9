"""`agent_steel log`: prompts and answers of a model, for each attempt."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from steel.loop.test_fates import FASTER
from steel.model_server import KEY, ModelServer, fails, kernel, says

from agent_steel.cli import main
from agent_steel.loop.settings import SearchSubject
from agent_steel.models.providers import create

STORY = [
    says(f"It uses {KEY}, and has prose only."),
    kernel(FASTER, technique="less work"),
    fails(400, "too long"),
    kernel("", technique="none"),
]


@pytest.fixture
def store(subject: SearchSubject, session: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The store of a session: a correction, an error, and nothing left."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer(STORY) as server:
        proposer = create("openai", model="scripted", base_url=server.url("openai"))
        session([subject], proposer, max_rounds=5)
    assert session.fates(subject) == ["baseline", "kept", "unusable"]
    path: Path = session.store.path
    return path


def log(store: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["log", "twice", "--db", str(store), *options])


def test_log_shows_prompts_and_answers_without_keys(store: Path) -> None:
    done = log(store)
    assert done.exit_code == 0, done.output
    said = done.output
    assert KEY not in said
    assert said.count("--- prompt") == 4
    assert said.count("--- system\nYou are an engineer") == 1
    assert said.count("as in the request before") == 3
    assert "It uses [OPENAI_API_KEY], and has prose only." in said
    # The correction is a separate request for the same attempt.
    assert said.count("session 1, round 1, attempt 2, less work: kept") == 2
    assert "not usable: expected a JSON object" in said
    assert "That answer cannot be used: expected a JSON object" in said
    assert "session 1, round 2, attempt 3, no answer: unusable" in said
    assert "not usable: HTTP 400: too long" in said
    assert "session 1, round 3, no kernel" in said
    assert "100 tokens in, 50 out" in said


def test_log_selects_requests(store: Path) -> None:
    assert log(store, "--attempt", "2").output.count("--- prompt") == 2
    assert log(store, "--session", "1", "--brief").output.count("tokens in") == 4
    assert "--- prompt" not in log(store, "--brief").output
    nothing = log(store, "--attempt", "77")
    assert nothing.exit_code == 2
    assert "no such requests to a model" in nothing.output


def test_log_as_json_is_one_object_for_each_request(store: Path) -> None:
    lines = [json.loads(line) for line in log(store, "--json").output.splitlines()]
    assert [each["attempt"] for each in lines] == [2, 2, 3, None]
    assert [each["outcome"] for each in lines] == ["kept", "kept", "unusable", None]
    assert json.loads(lines[1]["answer"])["source"] == FASTER
    assert lines[1]["error"] == ""
    assert lines[1]["usage"]["tokens_out"] == 50
