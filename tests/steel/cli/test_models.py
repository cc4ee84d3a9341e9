"""All roles with a model, from the command line, before a server that follows a script."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from steel.loop.test_fates import ENDS
from steel.model_server import KEY, ModelServer, fails, kernel, refuses, says
from steel.welding.drafts import GOOD, NAME, POLISHED
from work_in_vain import KERNEL

from agent_steel.attempt import Status
from agent_steel.cli import main
from agent_steel.history import History
from metalbench.store.store import Store

# Wrong at one size only, of those that every task declares: made for the check, not for the task.
CHEATS, _, _ = ENDS["is wrong at an odd size"]
FASTER, _, _ = ENDS["is faster"]
SLOWER, _, _ = ENDS["is slower"]
STORY = [
    says("Here is a faster kernel."),
    kernel(FASTER.replace("2 * x[i]", "3 * x[i]"), technique="wrong"),
    refuses("not today"),
    fails(429, Retry_After="0"),
    kernel(CHEATS, technique="a cheat"),
    fails(503),
    kernel(SLOWER, technique="slower"),
    kernel(KERNEL.replace("// Twice", "// Again: twice"), technique="a comment"),
    says("", then="silence"),
    kernel(FASTER, technique="less work"),
]
FATES = [
    ("wrong", Status.WRONG),
    ("", Status.UNUSABLE),
    ("a cheat", Status.WRONG),
    ("slower", Status.REVERTED),
    ("a comment", Status.REPEATED),
    ("less work", Status.KEPT),
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.setenv(name, KEY)


@pytest.mark.slow
@pytest.mark.parametrize("api", ["anthropic", "openai"])
def test_each_answer_has_its_status_in_the_history(api: str, folder: Path, tmp_path: Path) -> None:
    where = ["--kernels", str(folder), "--db", str(tmp_path / "results.db"), "--device", "cpu"]
    rounds = ["--loop", "--max-rounds", "6", "--max-no-improvement", "6", "--time", "0.3"]
    with ModelServer(STORY) as server:
        asked = ["--provider", api, "--model", "m", "--base-url", server.url(api)]
        asked += ["--answer-seconds", "3"]
        done = CliRunner().invoke(
            main, ["--kernel-name", "twice", *asked, *rounds, *where, "--record"]
        )
    assert done.exit_code == 0, done.output
    with Store(tmp_path / "results.db") as store:
        attempts = History(store).of_task("twice")
        records = store.records()
    assert attempts[0].status is Status.BASELINE
    assert [(each.technique, each.status) for each in attempts[1:]] == FATES
    if records:
        assert [(each.origin, each.source) for each in records] == [("agent_steel", FASTER)]
    else:  # on a machine so busy that nothing can be said
        assert "its time has no interval" in done.output
    # Every request is paid for once, those that came to nothing as well.
    assert sum(each.usage.requests for each in attempts) == len(STORY)
    wrong, refused, cheat = attempts[1:4]
    assert "WRONG_RESULT" in wrong.error
    assert "refused to answer: not today" in refused.error
    assert "odd1" in cheat.error
    assert attempts[-1].usage.requests == 2  # the first one was met with silence
    assert KEY not in done.output
    assert "no answer: unusable" in done.output


@pytest.mark.parametrize("api", ["anthropic", pytest.param("openai", marks=pytest.mark.slow)])
def test_the_welder_is_one_of_the_commands(api: str, tmp_path: Path) -> None:
    with ModelServer([GOOD, POLISHED]) as server:
        asked = ["--provider", api, "--model", "m", "--base-url", server.url(api)]
        place = ["--device", "cpu", "--into", str(tmp_path), "--set", "mine"]
        done = CliRunner().invoke(
            main,
            ["--welder", "--description", "Twice and one.", *asked, *place, "--yes"],
        )
    assert done.exit_code == 0, done.output
    assert (tmp_path / "mine" / f"{NAME}.metal").exists()


@pytest.mark.slow
def test_options_about_models_reach_the_provider(folder: Path, tmp_path: Path) -> None:
    where = ["--kernels", str(folder), "--db", str(tmp_path / "results.db"), "--device", "cpu"]
    with ModelServer([fails(401, "no such key")]) as server:
        asked = ["--provider", "openai", "--model", "m", "--base-url", server.url("openai")]
        told = [*asked, "--max-tokens", "77", "--time", "0.3"]
        CliRunner().invoke(main, ["--kernel-name", "twice", *told, *where])
        body = server.asked[0].body
    assert 77 in body.values()
