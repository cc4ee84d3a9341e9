"""Known cheats: each must be rejected, and for what it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metalbench import _core
from metalbench.kernel import header as kernel
from metalbench.kernel.library import Library
from metalbench.verify import Kind, all_sizes, verify, verify_checked

CHEATS = sorted(Path(__file__).parent.glob("*.metal"))
LIBRARY = Library()
# Too large for quick tests, and no cheat's own.
SKIPPED = "large"
TIME_LIMIT = 3.0


def declared(source, word):
    """The comma-separated names behind `// word:`."""
    found = re.search(rf"^// {word}: (.*)$", source, re.MULTILINE)
    return found[1].split(", ") if found else []


def kinds(source, word):
    return {Kind(each) for each in declared(source, word)}


@pytest.mark.parametrize("path", CHEATS, ids=lambda path: path.stem)
def test_a_cheat_is_rejected(path):
    device, cheat = _core.open("cpu"), kernel.read(path)
    (name,) = declared(cheat.source, "task")
    task = LIBRARY.entry(name).task
    sizes = [each for each in all_sizes(task) if each != SKIPPED]
    plain = verify(device, cheat, task, sizes=sizes, time_limit=TIME_LIMIT)
    checked = verify_checked(device, cheat, task, time_limit=TIME_LIMIT)
    found = {each.kind for each in (*plain.findings, *checked.findings)}
    assert found, "let through"
    messages = [str(each) for each in (*plain.findings, *checked.findings)]
    assert found - kinds(cheat.source, "perhaps") == kinds(cheat.source, "verdict"), messages
