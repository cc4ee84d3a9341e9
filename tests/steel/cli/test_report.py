"""The account of a search: what was tried, how it ended, and why it stopped."""

from __future__ import annotations

from typing import Any

from steel_session import Scripted, proposal
from work_in_vain import KERNEL

from agent_steel.cli.report import describe_tried
from agent_steel.loop.settings import SearchSubject
from agent_steel.proposal import ProposerError


def test_the_account_names_statuses_ideas_the_nearest_and_the_end(
    subject: SearchSubject, session: Any
) -> None:
    answers = [
        proposal(KERNEL.replace("400, 0, 100", "10"), "less work"),
        proposal(KERNEL.replace("400, 0, 100", "11"), "less work"),
        proposal(KERNEL.replace("400, 0, 100", "4000"), "more work"),
        ProposerError("the reply is not JSON"),
        proposal(KERNEL, "the same"),
    ]
    ended = session([subject], Scripted(answers), max_rounds=9, max_idle_rounds=9)
    text = describe_tried(ended.searches[0], session.history.of_session(ended.session))
    assert text.startswith("twice: 2 reverted, 1 kept, 1 unusable, 1 repeated. Ideas: 2 less work,")
    assert "1 no answer" in text
    assert "The nearest to a gain that was not kept is attempt 3, less work: " in text
    assert "SAME, not FASTER." in text
    assert text.endswith("It stopped: the proposer has nothing left to try.")


def test_a_search_without_attempts_has_no_account(subject: SearchSubject, session: Any) -> None:
    ended = session([subject], Scripted([]))
    assert describe_tried(ended.searches[0], session.history.of_session(ended.session)) == ""
