"""The counts' layout is written down twice, once for each language: clang compares the two."""

from __future__ import annotations

import subprocess
from pathlib import Path

from metalbench.kernel import memory
from metalbench.msl.toolchain.clang import find_toolchain

HEADER = Path(__file__).parents[2] / "csrc/msl/mb/cpu/counts.h"
# Both enumerations end with their number of names, and `Head` has the size of the head.
EXPECTED = {
    **{name: at for at, name in enumerate([*memory.COLUMNS, "columns"])},
    **{name: at for at, name in enumerate([*memory.SPACES, "spaces"])},
    **{each.name.lower(): each.value for each in memory.Head if each is not memory.Head.WORDS},
    "head_words": int(memory.Head.WORDS),
    "buffers": memory.BUFFERS,
    "trace_words": memory.TRACE_WORDS,
}


def compare(expected: dict[str, int]) -> str:
    """Return clang's errors about the constants of the header that have other values."""
    lines = [f'#include "{HEADER}"']
    lines += [
        f'static_assert(mb::counts::{name} == {value}, "{name}");'
        for name, value in expected.items()
    ]
    answer = subprocess.run(
        [*find_toolchain().clang, "-fsyntax-only", "-std=c++17", "-x", "c++", "-"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (answer.returncode == 0) == (answer.stderr == ""), answer.stderr
    return answer.stderr


def test_columns_and_header_agree():
    assert compare(EXPECTED) == ""


def test_a_constant_with_another_value_is_found():
    assert "bank_turns" in compare(EXPECTED | {"bank_turns": EXPECTED["bank_turns"] + 1})
