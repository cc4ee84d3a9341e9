"""The counts' layout is written down twice, once for each language."""

from __future__ import annotations

import re
from pathlib import Path

from metalbench.kernel import counts

HEADER = Path(__file__).parents[2] / "csrc/msl/mb/cpu/counts.h"


def names_of(enumeration):
    body = re.search(rf"enum {enumeration} {{(.*?)}};", HEADER.read_text(), re.S)[1]
    return re.findall(r"\b([a-z_]+)\b(?:\s*=\s*\w+)?\s*,", re.sub(r"//.*", "", body))


def test_columns_and_head_are_the_same():
    assert names_of("Column") == [*counts.COLUMNS, "columns"]
    assert names_of("Space")[:3] == list(counts.SPACES)
    head = [each.name.lower() for each in counts.Head if each is not counts.Head.WORDS]
    assert names_of("Head")[:-1] == head
    text = HEADER.read_text()
    assert f"head_words = {int(counts.Head.WORDS)}" in text
    assert f"buffers = {counts.BUFFERS};" in text
    assert f"trace_words = {counts.TRACE_WORDS};" in text
