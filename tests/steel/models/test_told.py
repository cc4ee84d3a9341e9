"""The prompt's text about the history, the headers and the other lines of attempts."""

from __future__ import annotations

from dataclasses import replace

from agent_steel.attempt import Attempt, Status
from agent_steel.models import prompt
from metalbench.stats import Interval

FIRST = Attempt(1, 1, "relu", "float32", "seed", None, 0, "// text", "k", status=Status.BASELINE)


def test_history_has_the_status_of_an_attempt():
    wrong = replace(
        FIRST,
        number=2,
        parent=1,
        status=Status.WRONG,
        technique="vector loads",
        summary="It loads four.\nThat is faster.",
        error="WRONG_RESULT: expected 1\n  got 2",
        tunables={"TG": 64},
    )
    slower = replace(
        FIRST, number=3, parent=1, status=Status.REVERTED, ratio=Interval(0.9, 0.8, 1.0)
    )
    lines = prompt.history([FIRST, wrong, slower]).splitlines()
    assert lines[0] == "* number 1, baseline"
    assert lines[1] == (
        "* number 2 of number 1, wrong: vector loads; TG = 64. It loads four. That is faster. "
        "It failed: WRONG_RESULT: expected 1 got 2"
    )
    assert "0.9 (0.8 to 1) times as fast as what it was made from" in lines[2]


def test_a_long_history_is_cut_at_its_beginning():
    attempts = [replace(FIRST, number=i, status=Status.REVERTED) for i in range(100)]
    lines = prompt.history(attempts).splitlines()
    assert lines[0] == "* 60 earlier attempts are left out"
    assert lines[-1].startswith("* number 99,")
    assert len(lines) == 41


def test_history_ignores_pending_attempts():
    assert prompt.history([replace(FIRST, status=Status.PENDING)]) == "Nothing yet."


def test_every_header_has_a_line():
    lines = prompt.headers().splitlines()
    assert any(line.startswith("* `metalbench/softmax.h`: Sums of exponentials") for line in lines)
    assert all(len(line) > 40 for line in lines)


def test_history_has_scatter_if_it_is_the_target():
    steady = replace(
        FIRST,
        number=2,
        parent=1,
        status=Status.KEPT,
        ratio=Interval(1.0, 0.995, 1.005),
        steadiness=Interval(3.0, 2.0, 4.0),
    )
    assert "3 (2 to 4) times as steady" in prompt.history([FIRST, steady], scatter=True)
    assert "steady" not in prompt.history([FIRST, steady])
