"""Run openxla/stablehlo's interpreter tests at all levels.

Usage: `STABLEHLO_CHECKOUT=FOLDER pytest -m slow tests/hlo`, where FOLDER is a checkout of that
project.
"""

from __future__ import annotations

import os
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from interpreter_cases import agree, cases, jax_files, make_constants_arguments

from metalbench.errors import DeclarationError, Unsupported
from metalbench.hlo.passes.canonicalization import remove_dead_code
from metalbench.hlo.program import import_program
from metalbench.hlo.runtime.executable import Executable

NEEDS_CHECKOUT = pytest.mark.skipif(
    "STABLEHLO_CHECKOUT" not in os.environ, reason="needs STABLEHLO_CHECKOUT=FOLDER"
)
LEVELS = pytest.mark.parametrize("level", [0, 2, 3])


@pytest.mark.slow
@NEEDS_CHECKOUT
@LEVELS
def test_every_case_is_right_or_refused(level):
    """The other cases have unsupported types or operations, or do not parse."""
    counts = count_verdicts(cases(checkout() / "tests/interpret"), level)
    assert counts["passed"] >= 459


@pytest.mark.slow
@NEEDS_CHECKOUT
@LEVELS
def test_every_tenth_file_of_jax_is_right_or_refused(level):
    """STABLEHLO_ONE_IN=1 runs all files, which takes an hour."""
    share = int(os.environ.get("STABLEHLO_ONE_IN", "10"))
    drawn = islice(jax_files(checkout() / "testdata"), 1, None, share)
    counts = count_verdicts(drawn, level)
    assert counts["passed"] > counts["refused"]


def checkout():
    return Path(os.environ["STABLEHLO_CHECKOUT"]) / "stablehlo"


def count_verdicts(drawn, level):
    counts: Counter[str] = Counter()
    wrong = []
    for case in drawn:
        verdict = verdict_of(case, level)
        counts[verdict] += 1
        if verdict == "wrong":
            wrong.append(case.name)
    print(level, dict(counts))
    assert wrong == []
    return counts


def verdict_of(case, level):
    if not case.entry:
        return "takes arguments"
    try:
        block = import_program(case.text, case.name, case.entry)
        arguments = make_constants_arguments(block)
        remove_dead_code(block)
        found = Executable(block, level=level, device="cpu")(*arguments)
    except Unsupported:
        return "refused"
    except DeclarationError:
        return "not parsed"
    pairs = zip(found[::2], found[1::2], case.kinds, strict=True)
    right = [agree(got, expected, kind) for got, expected, kind in pairs]
    return "passed" if right and all(right) else "wrong"
