"""The Welder's command, before a server that follows a script."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from steel.model_server import KEY, ModelServer
from steel.welding.drafts import GOOD, NAME, POLISHED

from agent_steel.welding.command import welder_command
from agent_steel.welding.contribution import WelderError


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)


def invoke(server, folder, *more):
    arguments = ["-d", "Twice and one.", "--provider", "anthropic", "--model", "m", "--device"]
    where = ["cpu", "--base-url", server.url("anthropic"), "--into", str(folder), "--no-measure"]
    return CliRunner().invoke(welder_command, [*arguments, *where, *more])


def test_the_command_as_json(tmp_path):
    with ModelServer([GOOD, POLISHED]) as server:
        result = invoke(server, tmp_path, "--yes", "--set", "mine", "--output", "json")
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["name"] == NAME
    assert told["polished"] is True
    assert told["usage"] == {"requests": 2, "tokens_in": 200, "tokens_out": 100, "cost": None}
    assert (tmp_path / "mine" / f"{NAME}.py").exists()
    assert "draft 1 of at most 4" in result.stderr


def test_weld_without_a_terminal_needs_yes(tmp_path):
    with ModelServer([GOOD]) as server:
        result = invoke(server, tmp_path)
    assert result.exit_code == 1
    assert "--yes confirms" in result.stderr
    assert isinstance(result.exception, WelderError)
    assert list(tmp_path.iterdir()) == []
