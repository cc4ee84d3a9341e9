"""The table of evaluated samples in wide and in narrow terminals."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from metalbench.report.generations import tabulate_samples
from metalbench.stats import Interval
from metalbench.store.history import Evaluation, SamplePlace

FAILURE = "[kb1_020_leaky_relu] y: expected -0.05 at (2, 14311), got 0; 130979 of 262144 are wrong"


def evaluation(sample: int, outcome: str, message: str = "", **times: Interval) -> Evaluation:
    return Evaluation(
        place=SamplePlace("g", "level_1", 20, sample, "0" * 64),
        outcome=outcome,
        message=message,
        task="kb1_020_leaky_relu",
        size="cpu",
        dtype="float32",
        device_kind="cpu",
        device_name="Example CPU",
        result=sample,
        **times,
    )


SAMPLES = [
    evaluation(0, "correct", kernel_ns=Interval(3e5, 2e5, 4e5), ratio=Interval(0.64, 0.34, 1.06)),
    evaluation(1, "wrong result", FAILURE),
]


def lines_at(width: int) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False)
    console.print(tabulate_samples(SAMPLES, console))
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_a_wide_terminal_has_one_line_for_each_sample() -> None:
    head, first, second = lines_at(220)
    assert head.split()[-1] == "message"
    assert "0.64x [0.34, 1.06]" in first
    assert second.endswith(FAILURE)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_narrow_terminal_has_messages_in_whole_words_below_the_table(width: int) -> None:
    lines = lines_at(width)
    assert max(map(len, lines)) <= width
    table, _, below = "\n".join(lines).partition("\n\n")
    assert "message" not in table
    for part in ("level_1/20/0", "kb1_020_leaky_relu", "[0.34, 1.06]", "wrong result"):
        assert part in table
    assert " ".join(below.split()) == f"level_1/20/1: {FAILURE}"
