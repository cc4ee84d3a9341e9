"""`metalbench generate` before a server that follows a script."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import monotonic

import pytest
import samples
from steel.generating.scripted_run import Script, Session
from steel.model_server import KEY, ModelServer, fails, says

from agent_steel.models.providers.api import Retries

TABLE = [["right", "prose"], ["refuses", "cut"], ["several", "nothing"]]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("METALBENCH_CACHE", str(tmp_path / "cache"))
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"models": {"scripted": {"input": 2.0, "output": 10.0}}}))
    monkeypatch.setenv("AGENT_STEEL_PRICES", str(prices))


def files(root: Path) -> dict[str, str]:
    return {
        f"{path.parent.name}/{path.stem}": path.read_text()
        for path in sorted(root.glob(f"{samples.SET}/*/*.metal"))
    }


def test_answers_are_stored_with_provenance_and_paid_once(tmp_path: Path) -> None:
    session, script = Session(tmp_path, 3), Script(TABLE)
    with ModelServer(script) as server:
        command = session.generating(server.url("openai"), 2, "--temperature", 0.5, "--parallel", 1)
        done = session.run(command)
        assert done.exit_code == 0, done.output
        assert "6 samples, 0 there already; up to 6 requests to scripted, at most" in done.output
        # Six times 100 tokens at 2 and 50 at 10 dollars a million.
        assert "[6/6] tiny/problem_3/sample_1: 100 + 50 tokens; 0.0042 US dollars" in done.output
        assert len(server.asked) == 6
        assert {each.body["temperature"] for each in server.asked} == {0.5}
        assert all("response_format" not in each.body for each in server.asked)
        again = session.run(command)
        assert "6 samples, 6 there already; up to 0 requests" in again.output
        # Elsewhere, the same words have been answered already.
        session.root = tmp_path / "other"
        assert (
            "from the cache"
            in session.run(session.generating(server.url("openai"), 2, "--temperature", 0.5)).output
        )
        assert len(server.asked) == 6
    written = files(tmp_path / "run")
    assert written["problem_1/sample_0"] == samples.RIGHT
    assert written["problem_1/sample_1"] == samples.PROSE
    assert written["problem_3/sample_0"] == samples.SEVERAL
    assert written == files(tmp_path / "other")
    told = json.loads((tmp_path / "run/tiny/problem_2/sample_1.json").read_text())
    assert (told["task"], told["ending"], told["tokens_out"]) == ("twice02", "cut", 50)
    assert told["asked"]["model"] == "scripted"
    assert KEY not in json.dumps(told)


def test_a_folder_has_one_request_configuration(tmp_path: Path) -> None:
    session = Session(tmp_path, 2)
    with ModelServer(Script([["prose"] * 3] * 2)) as server:
        url = server.url("openai")
        assert session.run(session.generating(url, 1, "--problems", 1)).exit_code == 0
        told = session.run(session.generating(url, 1, "--prompt", "zero-shot"))
        assert told.exit_code == 2
        assert "its samples were requested with other options (prompt one-shot)" in told.output
        # More problems and samples are added.
        assert session.run(session.generating(url, 2)).exit_code == 0
        assert len(server.asked) == 4
        plan = json.loads((session.root / "run.json").read_text())
        assert (plan["problems"], plan["samples"]) == ({"tiny": [1, 2]}, 2)


def test_prompts_have_their_examples_and_can_be_replaced(tmp_path: Path) -> None:
    session = Session(tmp_path, 1)
    prompts = tmp_path / "prompts"
    prompts.mkdir()
    (prompts / "generation_system.md").write_text("Be brief. $headers")
    texts = []
    with ModelServer(lambda _: says("no")) as server:
        for prompt in ("zero-shot", "one-shot", "few-shot"):
            session.root = tmp_path / prompt
            options = ["--prompt", prompt, "--prompts", prompts, "--hardware", "Apple M4 Max"]
            assert session.run(session.generating(server.url("openai"), 1, *options)).exit_code == 0
        texts = [each.turns[0][1] for each in server.asked]
        assert server.asked[0].system.startswith("Be brief.")
    assert [each.count("# An example") for each in texts] == [0, 1, 3]
    assert all("Apple M4 Max" in each and "def twice01(x)" in each for each in texts)


def test_answers_in_python_are_asked_for_with_examples_in_python(tmp_path: Path) -> None:
    session = Session(tmp_path, 1)
    with ModelServer(Script([["python", "python"]])) as server:
        url = server.url("openai")
        few = ["--prompt", "few-shot", "--language", "python"]
        assert session.run(session.generating(url, 1, *few)).exit_code == 0
        [asked] = server.asked
        assert "one Python file" in asked.system
        text = asked.turns[0][1]
        assert text.count("```python") == text.count("mx.fast.metal_kernel(") == 3
        assert "// dispatch:" not in text + asked.system
        told = session.run(session.generating(url, 1, "--prompt", "few-shot"))
        assert "its samples were requested with other options (language python)" in told.output
    sample = session.root / samples.SET / "problem_1" / "sample_0.py"
    assert sample.read_text() == samples.PYTHON
    assert json.loads(sample.with_suffix(".json").read_text())["asked"]["language"] == "python"


def test_a_folder_without_a_language_is_continued(tmp_path: Path) -> None:
    session = Session(tmp_path, 1)
    with ModelServer(Script([["prose"] * 2])) as server:
        assert session.run(session.generating(server.url("openai"), 1)).exit_code == 0
        plan = json.loads((session.root / "run.json").read_text())
        assert plan["asked"].pop("language") == "metal"
        (session.root / "run.json").write_text(json.dumps(plan))
        assert session.run(session.generating(server.url("openai"), 2)).exit_code == 0


def test_a_sample_without_an_answer_is_requested_again(tmp_path: Path) -> None:
    session = Session(tmp_path, 2)
    steps = [fails(400, "scripted"), says("no"), says("no")]
    with ModelServer(steps) as server:
        command = session.generating(server.url("openai"), 1, "--parallel", 1)
        done = session.run(command)
        assert done.exit_code == 1
        assert "HTTP 400: scripted" in done.output
        assert list(files(session.root)) == ["problem_2/sample_0"]
        assert session.run(command).exit_code == 0
        assert len(server.asked) == 3


def test_a_dead_server_ends_the_run_before_the_first_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_waiting = partial(Retries, sleep=lambda _: None)
    monkeypatch.setattr("agent_steel.models.providers.Retries", no_waiting)
    session = Session(tmp_path, 3)
    done = session.run(session.generating("http://127.0.0.1:1/v1", 2))
    assert done.exit_code == 2
    assert done.output.count("no connection; is --base-url right, and the server running?") == 1
    assert "[1/6]" not in done.output


@pytest.mark.parametrize("status", [401, 402])
def test_a_provider_that_refuses_every_request_ends_the_run(tmp_path: Path, status: int) -> None:
    session = Session(tmp_path, 3)
    with ModelServer([says("no"), *[fails(status, "scripted")] * 5]) as server:
        command = session.generating(server.url("openai"), 2, "--parallel", 1)
        done = session.run(command)
        assert done.exit_code == 2
        assert f"HTTP {status}" in done.output
        # The next question may have been asked before the first refusal was read.
        assert len(server.asked) <= 3
    assert len(files(session.root)) == 1


def test_requests_stop_at_the_cost_limit(tmp_path: Path) -> None:
    session = Session(tmp_path, 3)
    with ModelServer(Script(TABLE)) as server:
        command = session.generating(server.url("openai"), 1, "--parallel", 1, "--max-cost")
        told = re.search(r"next request may cost ([\d.]+)", session.run([*command, "1e-6"]).output)
        assert told is not None
        # Enough for one: what it did cost, 0.0007, is more than what is left over.
        done = session.run([*command, str(float(told[1]) + 0.0005)])
        assert done.exit_code == 2
        assert "0.0007 US dollars are spent" in done.output
        assert len(server.asked) == len(files(session.root)) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--problems", "1-x"], "expected numbers such as 1-20,33"),
        (["--problems", "4"], "expected 1 to 3, got 4"),
        (["--level", "1"], "expected --suite kernelbench with it"),
        (["--suite", "kernelbench"], "expected --level with it"),
        (["--suite", "tinny"], "did you mean 'tiny'"),
    ],
)
def test_invalid_requests_are_refused(tmp_path: Path, options: list[str], message: str) -> None:
    session = Session(tmp_path, 3)
    told = session.run([*session.generating("http://localhost:1/v1", 1), *options])
    assert told.exit_code == 2
    assert message in told.output


def test_a_killed_run_continues_without_paying_twice(tmp_path: Path) -> None:
    session, script = Session(tmp_path, 3), Script([["prose", "right"]] * 3, answers_first=3)
    with ModelServer(script) as server:
        command = session.generating(server.url("openai"), 2, "--parallel", 2)
        program = [sys.executable, "-m", "metalbench", *command]
        with subprocess.Popen(program, stderr=subprocess.DEVNULL, env=os.environ) as process:
            end = monotonic() + 60
            while len(list(session.root.glob("*/*/*.json"))) < 3 and monotonic() < end:
                assert process.poll() is None
            process.send_signal(signal.SIGKILL)
        assert len(files(session.root)) == 3
        script.open = True
        assert session.run(command).exit_code == 0
        assert sum(script.answered.values()) == len(files(session.root)) == 6
