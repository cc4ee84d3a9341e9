"""Test find_statement_end and find_loop_bodies, with and without braces."""

from __future__ import annotations

import pytest

from metalbench.msl.frontend.loop_exits import (
    find_loop_bodies,
    find_statement_end,
    find_unbraced_branches,
)
from metalbench.msl.frontend.tokens import lex


@pytest.mark.parametrize(
    "first",
    [
        "x = f(a, (b; c));",
        "{ a; b; }",
        "if (x) y; else if (z) { a; } else b;",
        "if constexpr (x) { y; }",
        "for (;;) for (a; b; c) if (x) y; else { z; }",
        "do { a; } while (x);",
        "do a; while (x);",
        "while (x) switch (y) { case 1: z; }",
    ],
)
def test_a_statement_ends_where_the_next_begins(first):
    tokens = lex(f"{first} next;")
    assert tokens.at(find_statement_end(tokens, 0)) == "next"


def test_bodies_of_loops():
    tokens = lex("for (;;) { a; } while (x) b; do { c; } while (x); do d; while (x);")
    found = [tokens.join(each.opening + 1, each.closing) for each in find_loop_bodies(tokens)]
    assert found == ["a;", "b;", "c;", "d;"]


def test_sides_without_braces_are_expressions():
    tokens = lex("if (x) a = 1; else if (y) { b; } else c(2); if (z) return; if (z) for (;;) d;")
    found = [
        tokens.join(first, behind)
        for first, behind in find_unbraced_branches(tokens, 0, len(tokens))
    ]
    assert found == ["a = 1;", "c(2);"]
