"""Ends of sessions: by the user, or by a provider that does not answer."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from steel.model_answers import Step
from steel.model_server import KEY, ModelServer, fails, kernel, says
from work_in_vain import KERNEL

from agent_steel.cli import main
from agent_steel.history import History
from agent_steel.models.providers import create
from metalbench.store.store import Store


@pytest.fixture(autouse=True)
def without_roofline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the rates of plain kernels, which take most of a session: no end depends on them.

    Searches of test_command.py measure them.
    """
    monkeypatch.setattr("agent_steel.loop.profiler.measure_roofline", lambda *_: None)


def options(folder: Path, db: Path) -> list[str]:
    where = ["--kernels", str(folder), "--db", str(db), "--device", "cpu", "--time", "0.1"]
    return ["--kernel-name", "twice", "--loop", "--max-rounds", "20", *where]


def begin(folder: Path, db: Path) -> subprocess.Popen[str]:
    """Start a session, and return when it has measured the kernel as it is."""
    run = subprocess.Popen(
        [sys.executable, "-m", "agent_steel", *options(folder, db)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stderr is not None
    for line in run.stderr:
        if line.startswith("[twice]") and "checking and timing" not in line:
            return run
    pytest.fail("it never began")


@pytest.mark.slow
def test_ctrl_c_ends_the_loop_and_resume_continues_it(folder: Path, tmp_path: Path) -> None:
    db = tmp_path / "results.db"
    run = begin(folder, db)
    # As a terminal does: to the command and to all that it has started.
    os.killpg(run.pid, signal.SIGINT)
    shown, said = run.communicate()
    assert run.returncode == 130, said
    assert "--resume" in said
    assert "Interrupted." in said
    # The report on what was found so far.
    assert "twice" in shown
    with Store(db) as store:
        assert History(store).broken_off() is not None
        before = {each.number for each in History(store).of_task("twice")}
    where = ["--db", str(db), "--resume", "--max-rounds", "1", "--kernels", str(folder)]
    done = CliRunner().invoke(main, where)
    assert done.exit_code == 0, done.output
    with Store(db) as store:
        assert {each.number for each in History(store).of_task("twice")} >= before
        assert History(store).broken_off() is None


def test_ctrl_c_twice_ends_the_session_immediately(folder: Path, tmp_path: Path) -> None:
    run = begin(folder, tmp_path / "results.db")
    while run.poll() is None:
        os.killpg(run.pid, signal.SIGINT)
        try:
            run.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    _, said = run.communicate()
    # One that comes while the interpreter ends has its default action.
    assert run.returncode in (130, -signal.SIGINT), said
    assert "Traceback" not in said


def ask(folder: Path, db: Path, *provider: str) -> Result:
    return CliRunner().invoke(main, [*options(folder, db), *provider, "--model", "m"])


def assert_nothing_was_measured(db: Path) -> None:
    if db.exists():
        with Store(db) as store:
            assert not History(store).of_task("twice")
            assert History(store).broken_off() is None


@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_a_wrong_key_ends_the_session_before_measuring(
    api: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{api.upper()}_API_KEY", "sk-wrong-0123456789")
    with ModelServer([]) as server:
        done = ask(
            folder, tmp_path / "results.db", "--provider", api, "--base-url", server.url(api)
        )
    assert done.exit_code == 2, done.output
    assert "HTTP 401" in done.output
    assert "is the key in the environment right?" in done.output
    assert_nothing_was_measured(tmp_path / "results.db")


@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_an_unreachable_provider_ends_the_session_before_measuring(
    api: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{api.upper()}_API_KEY", KEY)
    monkeypatch.setattr("agent_steel.models.providers.api.time.sleep", lambda _: None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        done = ask(folder, tmp_path / "results.db", "--provider", api, "--base-url", url)
    assert done.exit_code == 2, done.output
    assert "no connection" in done.output
    assert "is --base-url right" in done.output
    assert_nothing_was_measured(tmp_path / "results.db")


@pytest.mark.parametrize(
    ("checked", "said"),
    [
        (fails(503, "no upstream"), "HTTP 503: no upstream"),
        (says("", then="silence"), "silent for too long"),
    ],
)
def test_a_dead_server_behind_an_address_ends_the_session_before_measuring(
    checked: Step, said: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setattr("agent_steel.models.providers.adapter.CHECK_S", 0.2)
    monkeypatch.setattr("agent_steel.models.providers.api.time.sleep", lambda _: None)
    with ModelServer([], checked=checked) as server:
        url = server.url("openai")
        done = ask(folder, tmp_path / "results.db", "--provider", "openai", "--base-url", url)
        # Once more after a wait: a server may just be starting.
        assert len(server.checks) == 2
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert "is --base-url right" in done.output
    assert_nothing_was_measured(tmp_path / "results.db")


def test_a_server_without_a_list_of_models_can_be_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer([], checked=fails(404)) as server:
        create("openai", model="m", base_url=server.url("openai")).check()


def test_a_wrong_key_is_found_where_the_list_of_models_is_public(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-wrong-0123456789")
    with ModelServer([], checked=says("", then="public")) as server:
        url = server.url("openai")
        done = ask(folder, tmp_path / "results.db", "--provider", "openrouter", "--base-url", url)
    assert done.exit_code == 2, done.output
    assert "is the key in the environment right?" in done.output
    assert_nothing_was_measured(tmp_path / "results.db")


def test_a_provider_that_refuses_a_question_ends_the_session(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that lists models, but not the one that is asked for."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer([fails(404, "no such model")] * 30) as server:
        url = server.url("openai")
        done = ask(folder, tmp_path / "results.db", "--provider", "openai", "--base-url", url)
        assert len(server.asked) == 1
    assert done.exit_code == 2, done.output
    assert "no such model" in done.output
    assert "are --model and --base-url right?" in done.output


def test_a_provider_that_always_fails_ends_with_an_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that lists models, and then refuses each question."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer([fails(400, "no such thing")] * 30) as server:
        url = server.url("openai")
        done = ask(folder, tmp_path / "results.db", "--provider", "openai", "--base-url", url)
    assert done.exit_code == 2, done.output
    assert "nothing was proposed" in done.output
    assert "no such thing" in done.output


# The short form has the loop's part of it: an error counts as an attempt, and the next is asked.
@pytest.mark.slow
def test_a_provider_that_fails_once_does_not_end_the_session(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    script = [fails(400), kernel(KERNEL.replace("// Twice", "// Again: twice"))]
    with ModelServer([*script, *[fails(400)] * 30]) as server:
        url = server.url("openai")
        done = ask(folder, tmp_path / "results.db", "--provider", "openai", "--base-url", url)
    assert done.exit_code == 0, done.output
