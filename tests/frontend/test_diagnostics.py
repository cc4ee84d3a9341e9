"""Test that Diagnostics maps columns in linear time, for any line."""

from __future__ import annotations

from difflib import SequenceMatcher

import pytest

from metalbench._core import CompileError
from metalbench.msl import engine
from metalbench.msl.frontend.lower import lower
from metalbench.msl.frontend.source import Source
from metalbench.msl.toolchain import diagnostics
from metalbench.msl.toolchain.diagnostics import STEPS_OF_A_LINE, STEPS_OF_A_SOURCE, Diagnostics
from metalbench.msl.toolchain.preprocess import preprocess

HEAD = "kernel void f(device float* x, uint i [[thread_position_in_grid]])"
LONG = "Q = 2 * x[i]; " * 20_000


class Matching(SequenceMatcher):
    """Counts the pairs of tokens that are compared."""

    pairs = 0

    def __init__(self, junk, first, second, autojunk=True):
        Matching.pairs += len(first) * len(second)
        super().__init__(junk, first, second, autojunk=autojunk)


@pytest.fixture
def count_comparisons(monkeypatch):
    Matching.pairs = 0
    monkeypatch.setattr(diagnostics, "SequenceMatcher", Matching)
    return Matching


def diagnostics_of(text: str) -> Diagnostics:
    source = Source(text, "my.metal", preprocess(text, "my.metal", {}, ()))
    return Diagnostics(source, lower(source, "f", {}).code)


def test_diagnostics_do_not_match_a_long_line(count_comparisons):
    text = f"#define Q x[i]\n{HEAD} {{ {LONG} y = 1; }}"
    with pytest.raises(CompileError) as caught:
        engine.build(engine.parse(text, "my.metal"), "f")
    assert count_comparisons.pairs == 0
    lines = str(caught.value).splitlines()
    # Behind the last macro, the column is still the user's.
    assert lines[0].startswith(f"my.metal:2:{len(f'{HEAD} {{ {LONG} ') + 1}: error: use of undecl")
    assert len(lines[1]) < 400
    assert lines[2].index("^") == lines[1].index("y = 1")


def test_diagnostics_have_no_column_in_a_long_expansion(count_comparisons):
    half = LONG[: len(LONG) // 2]
    text = f"#define Q x[i]\n{HEAD} {{ {half} y = 1; {half} }}"
    with pytest.raises(CompileError, match=r"my.metal:2:\d+: error: use of undeclared"):
        engine.build(engine.parse(text, "my.metal"), "f")
    assert count_comparisons.pairs == 0


def test_diagnostics_do_not_match_a_line_without_macros(count_comparisons):
    text = f"{HEAD} {{ {LONG.replace('Q', 'x[i]')} y = 1; }}"
    with pytest.raises(CompileError, match=r"my.metal:1:\d+: error: use of undeclared"):
        engine.build(engine.parse(text, "my.metal"), "f")
    assert count_comparisons.pairs == 0


def test_diagnostics_match_a_short_line(count_comparisons):
    text = f"#define Q x[i]\n{HEAD} {{ Q = 2; y = Q; }}"
    with pytest.raises(CompileError, match=f"my.metal:2:{len(HEAD) + 11}: error"):
        engine.build(engine.parse(text, "my.metal"), "f")
    assert count_comparisons.pairs > 0


def test_diagnostics_limit_the_steps_of_a_source(monkeypatch):
    monkeypatch.setattr(diagnostics, "STEPS_OF_A_SOURCE", 100_000)
    line = "Q = 1; " * 10
    text = f"#define Q x[i]\n{HEAD} {{\n" + f"{line}\n" * 100 + "}"
    found = diagnostics_of(text)
    starts = found.source.tokens.start
    for index in range(len(starts)):
        at = found.source.tokens.locate_token(index)
        found._find_token(at)
    assert 0 < found.steps <= 100_000


def test_limits_of_diagnostics_allow_usual_lines():
    text = "#define Q x[i]\n" + HEAD + " { " + "Q = Q + 2; " * 20 + "y = 1; }"
    found = diagnostics_of(text.replace("y = 1", "Q = 1"))
    tokens = found.source.tokens
    assert all(found._find_token(tokens.locate_token(index)) for index in range(len(tokens)))
    assert 0 < found.steps < STEPS_OF_A_LINE < STEPS_OF_A_SOURCE
