"""Advice for beginners in addition to messages of the compiler or of a check."""

from __future__ import annotations

import re

_OF_COMPILER = (
    (
        r"use of undeclared identifier",
        "A name that nothing declares. A kernel knows its arguments, its own variables and Metal's "
        "functions, and nothing else; is it misspelt?",
    ),
    (
        r"(ambiguous|no matching function).*'(min|max|clamp)'|'(min|max|clamp)' is ambiguous",
        "Both arguments of min and max have one type: of an unsigned number write min(64u, n).",
    ),
    (
        r"expected ';'",
        "A statement ends with a semicolon; the place shown is where the next one begins.",
    ),
    (r"expected '\}'|extraneous closing brace", "Count the braces: one of a pair is missing."),
    (
        r"const-qualified|read-only variable|is not assignable",
        "This can only be read: inputs are `device const`, values `constant`.",
    ),
    (
        r"pointer|address space",
        "Pointers say in which memory they point: device, constant, threadgroup or thread.",
    ),
    (
        r"non-void function|should return a value|void function",
        "A kernel returns nothing; results are assigned to elements of its output.",
    ),
)
_OF_CHECK = {
    "out-of-bounds": "Which thread is it? There are more threads than elements, or an index goes "
    "beyond: compare it first.",
    "race": "Between the write of one thread and the read of another stands no barrier: "
    "`threadgroup_barrier(mem_flags::mem_threadgroup);`. Or two threads write one element.",
    "same-value-race": "Several threads write one element. It does no harm, but costs: let one.",
    "uninitialised": "Memory holds anything at first. Who should have written this element, and "
    "has that thread had something to write?",
    "barrier": "Every thread of a threadgroup must reach a barrier: it may not stand within an "
    "`if`, nor behind a `return`, that only some take.",
    "simdgroup": "All 32 lanes must reach such a function together: it may not stand within an "
    "`if` that only some take.",
    "signed-overflow": "An `int` ends at 2147483647. A `uint` goes twice as far, and wraps.",
    "output-not-written": "Each element of the output needs a thread that writes it.",
    "time-limit": "It does not end: does the loop's variable change in every turn?",
}


def compile_advice(message: str) -> str:
    """A sentence on the first thing that the compiler complains of; empty if there is none."""
    first = next((line for line in message.splitlines() if "error:" in line), message)
    found = (advice for pattern, advice in _OF_COMPILER if re.search(pattern, first))
    return next(found, "")


def finding_advice(kind: str) -> str:
    """Return a sentence on a kind of finding; empty if there is none."""
    return _OF_CHECK.get(kind, "")
