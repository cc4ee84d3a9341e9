"""Test evaluate_expression with expressions of attributes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from random import Random

import pytest

from metalbench.msl.frontend.constants import evaluate_expression
from metalbench.msl.toolchain.clang import find_toolchain


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("3", 3),
        ("012", 10),
        ("0x10u", 16),
        ("2 * (N + 1) / 2", 5),
        ("1 << 4", 16),
        ("1 << 2 + 1", 8),
        ("7 % 4", 3),
        ("N == 4 && !(N < 2)", 1),
        ("N != 4 || 0", 0),
        ("defined(x) + 1", 2),
        ("uint(8) - static_cast<int>(3)", 5),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("1 & 2 == 2", 1),
        ("!2 == 1", 0),
        ("1 + !0", 2),
        ("3 > 2 > 0", 1),
        ("1'000 + 0b101", 1005),
        ("(int)N * 2", 8),
        ("static_cast<uchar>(300ull)", 44),
        ("(metal::space::N)", 4),
        ("0 && 1 / 0", 0),
        ("1 || 1 / 0", 1),
        ("0xffffffffffffffff", 2**64 - 1),
    ],
)
def test_evaluate_expression_of_integers(expression, value):
    assert evaluate_expression(expression, {"N": "M", "M": "4", "defined(x)": "1"}) == value


@pytest.mark.parametrize(
    "expression",
    [
        *("", "f(2)", "x", "1 / 0", "1.5", "0h", "1 <<", "[1]", "loop", "09", "0x", "2 ** 3"),
        *("1 ? 2 : 3", "f(N", "static_cast<int>", "(int)", "N::", "::", "1 if 1 else 2"),
    ],
)
def test_evaluate_expression_returns_none_for_other_expressions(expression):
    assert evaluate_expression(expression, {"loop": "loop"}) is None


TOWER = {"c0": "9"} | {f"c{i}": f"c{i - 1} * c{i - 1}" for i in range(1, 31)}


@pytest.mark.parametrize(
    "expression",
    [
        "9 ** 9 ** 9",
        "1 << 1000000000",
        "1 << -1",
        "1 >> -1",
        "(1 << 64) << 64",
        "c30",
        "c30 - c30",
        "(" * 5000 + "1" + ")" * 5000,
        "-" * 5000 + "1",
        "!" * 5000 + "1",
        " + ".join(["1"] * 100_000),
        "5" * 5000,
        "0x" + "f" * 5000,
        "f(" * 5000 + "x" + ")" * 5000,
        "18446744073709551615 * 18446744073709551615",
        "f" * 1_000_000,
    ],
)
def test_evaluate_expression_returns_none_for_endless_expressions(expression):
    assert evaluate_expression(expression, TOWER) is None


def test_evaluate_expression_evaluates_nested_names_once():
    same = {"c0": "1"} | {f"c{i}": f"c{i - 1} + c{i - 1} - c{i - 1}" for i in range(1, 60)}
    assert evaluate_expression("c30", same) == 1
    # Names nest 32 levels.
    assert evaluate_expression("c59", same) is None


def test_evaluate_expression_agrees_with_clang(tmp_path: Path) -> None:
    random = Random(1)
    checks = []
    for _ in range(2000):
        text = draw_expression(random, 4)
        value = evaluate_expression(text, {"N": "4", "space::M": "-3"})
        if value is not None:
            checks.append(f"static_assert(({text}) == {value});")
    assert len(checks) > 1000
    source = tmp_path / "checks.cpp"
    names = "constexpr int N = 4; namespace space { constexpr int M = -3; }"
    source.write_text("\n".join([TYPES, names, *checks]))
    flags = [
        "-std=c++20",
        "-fsyntax-only",
        "-w",
        "-Wno-parentheses",
        "-fsigned-char",
        "-ferror-limit=3",
        "-fbracket-depth=512",
    ]
    answer = subprocess.run(
        [*find_toolchain().clang, *flags, str(source)], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr


TYPES = "using uint = unsigned; using uchar = unsigned char; using ushort = unsigned short;"


def draw_expression(random: Random, depth: int) -> str:
    """Return an expression of small numbers. Parentheses are rare, for the sake of precedence."""
    if depth == 0 or random.random() < 0.2:
        return random.choice(["N", "space::M", "3", "0x1F", "010", "0b11", "1'0", "7", "1", "0"])
    inner = draw_expression(random, depth - 1)
    form = random.random()
    if form < 0.1:
        return f"({inner})"
    if form < 0.2:
        return random.choice(["!", "- ", "+ "]) + inner
    if form < 0.3:
        kind = random.choice(["int", "short", "bool", "char", "uchar"])
        # The type of the result is int again.
        return f"(+{random.choice([f'{kind}({inner})', f'static_cast<{kind}>({inner})'])})"
    symbols = ["||", "&&", "|", "^", "&", "==", "!=", "<", "<=", ">", ">=", "+", "-", "*", "/", "%"]
    # clang refuses shifts by 32 or more. Parentheses keep the distance small.
    shift = f"((({inner}) & 15) {random.choice(['<<', '>>'])} {random.randrange(5)})"
    if form < 0.4:
        return shift
    return f"{inner} {random.choice(symbols)} {draw_expression(random, depth - 1)}"
