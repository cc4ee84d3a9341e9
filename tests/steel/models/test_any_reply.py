"""Any reply of a model is read or refused with a reason; nothing else happens."""

from __future__ import annotations

import json
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_steel.models.replies import ReplyError, kernel_replies, texts
from agent_steel.source import check_source
from agent_steel.welding.draft import fault_of, read_draft
from metalbench.kernel.header import parse

KERNEL = (
    "// dispatch: f  threads_in_grid=(n)  threads=(64)\n[[kernel]] void f(device float* y) {}\n"
)
PARENT = parse(KERNEL, name="f")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=8,
)
FIELDS = ("summary", "technique", "wording", "source", "name", "task", "kernel")
OBJECTS = st.dictionaries(st.sampled_from(FIELDS), st.text(max_size=80) | VALUES)
# Pieces of what is looked for, in any order.
PIECES = (
    "#",
    "include",
    "\\\n",
    "/*",
    "*/",
    "//",
    '"',
    "<",
    ">",
    "%:",
    "// dispatch: f ",
    "(",
    ")",
)
SOURCES = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=20).map("".join)


@settings(deadline=None)
@given(st.text() | VALUES.map(json.dumps) | OBJECTS.map(json.dumps))
def test_a_reply(text):
    for read in (
        lambda: texts(text, {"a": 10}),
        lambda: kernel_replies(text, PARENT),
        lambda: read_draft(text, ""),
    ):
        with suppress(ReplyError):
            read()


@settings(deadline=None)
@given(SOURCES | SOURCES.map(lambda text: KERNEL + text))
def test_a_source(source):
    assert isinstance(check_source(source, PARENT), str)


@settings(deadline=None)
@given(st.text() | SOURCES)
def test_a_python_text(text):
    assert isinstance(fault_of(text, "f"), str)
