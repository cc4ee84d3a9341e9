"""The live view of a session on a terminal, and its lines elsewhere."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console
from steel.loop.test_undecided import Disturbed, disturbed
from steel_session import Scripted, Session, proposal
from work_in_vain import KERNEL

from agent_steel.attempt import Usage
from agent_steel.cli.live import LiveView
from agent_steel.cli.report import ProgressPrinter
from agent_steel.loop.settings import SearchSubject
from agent_steel.proposal import ProposerError

FASTER = KERNEL.replace("WORK = 400, 0, 100", "WORK = 10, 0")


def show(view: LiveView) -> str:
    console = Console(file=StringIO(), width=200)
    with console.capture() as captured:
        console.print(view.render())
    return captured.get()


def cells(view: LiveView, name: str) -> list[str]:
    (line,) = [each for each in show(view).splitlines() if each.strip().startswith(name)]
    return line.split()


def test_the_table_follows_the_session(subject: SearchSubject, session: Session) -> None:
    seen: list[list[str]] = []
    proposer = Scripted(
        [disturbed(FASTER, "less"), proposal(KERNEL, "none"), ProposerError("no JSON")]
    )
    log = Console(file=StringIO(), force_terminal=True, width=200, highlight=False)
    time = iter(range(10_000))

    class Seen(LiveView):
        def on_judging(self, *arguments: object) -> None:
            super().on_judging(*arguments)  # type: ignore[arg-type]
            seen.append(cells(self, "twice"))

    view = Seen(log, lambda: proposer.usage, clock=lambda: float(next(time)))
    session.workers = Disturbed(1)
    session.heard = view  # type: ignore[assignment]
    with view:
        session([subject], proposer, max_rounds=3, max_idle_rounds=3)
    # Twice: it was undecided, and measured again.
    assert [each[1:5] for each in seen] == [["1", "of", "3", "2"]] * 2
    assert "1.1x" not in seen[0]
    assert seen[1][5] == "1.1x"
    assert cells(view, "twice")[-4:] == ["done:", "3", "rounds", "done"]
    final = cells(view, "twice")
    # Tried 3, kept 1.
    assert final[final.index("done:") - 2 :][:2] == ["3", "1"]
    assert "2 requests, 200 tokens in, 20 out: $0.0200" in show(view)
    lines = log.file.getvalue()  # type: ignore[attr-defined]
    assert "attempt 2, less: kept" in lines
    assert "tokens in" in lines


def test_the_table_shows_no_control_characters(subject: SearchSubject) -> None:
    view = LiveView(Console(file=StringIO(), force_terminal=True), Usage)
    view.on_message(subject, "asked \x1b[31mred\nnext " + 200 * "x")
    shown = show(view)
    assert "\x1b[31m" not in shown
    assert "x..." in shown
    assert "no requests to a model" in shown


@pytest.mark.parametrize(
    ("cost", "said"),
    [(0.01, "attempt 2, less: kept"), (None, "no price is known so far)")],
)
def test_lines_have_tokens_and_cost(
    cost: float | None, said: str, subject: SearchSubject, session: Session
) -> None:
    answer = proposal(FASTER, "less")
    proposer = Scripted([replace(answer, usage=replace(answer.usage, cost=cost))])
    log = Console(file=StringIO(), width=200, highlight=False)
    session.heard = ProgressPrinter(log, lambda: proposer.usage)  # type: ignore[assignment]
    session([subject], proposer)
    text = log.file.getvalue()  # type: ignore[attr-defined]
    assert said in text
    assert "1 requests, 100 tokens in, 10 out" in text
