"""Kinds of findings: for each kind its tool, a description and advice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metalbench.errors import DeclarationError, suggestion

TOOLS = ("mem", "race", "init", "sync", "arithmetic")
ALL = "all"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding: `name` is its name in suppressions. Warnings are harmless on GPUs."""

    name: str
    tool: str
    what: str
    advice: str = ""
    is_warning: bool = False


_KINDS = (
    Kind(
        "out-of-bounds", "mem", "an access outside of a buffer or an array", "check the index first"
    ),
    Kind("wild-pointer", "mem", "an access to memory outside of all buffers of the kernel"),
    Kind("write-to-constant", "mem", "a write to what the kernel declares to be constant"),
    Kind(
        "write-to-input",
        "mem",
        "a write to an input",
        "declare it `device const`, or `inout` in its `// buffer:` line",
    ),
    Kind("misaligned", "mem", "an address that does not fit its type"),
    # Defined in Metal, but rarely intended.
    Kind(
        "texture-bounds",
        "mem",
        "a read or write of a texel outside of the texture",
        "ask get_width() and get_height() first",
        True,
    ),
    Kind("stack-overflow", "mem", "more private memory than a thread has"),
    Kind(
        "race",
        "race",
        "two threads access the same bytes without a barrier, and one of them writes",
    ),
    Kind(
        "texture-fence",
        "race",
        "a thread reads a texel that it has written, without a fence",
        "call fence() of the texture between the write and the read",
    ),
    Kind(
        "same-value-race",
        "race",
        "two threads write the same value to the same bytes without a barrier",
        is_warning=True,
    ),
    Kind(
        "uninitialised",
        "init",
        "a read of memory that was never written",
        "outputs, scratch and threadgroup memory are uninitialised at first",
    ),
    Kind("output-not-written", "init", "elements of an output that the kernel never writes"),
    Kind("barrier", "sync", "a barrier that some threads do not reach"),
    Kind("simdgroup", "sync", "a SIMD-group function that not all its lanes reach together"),
    Kind("time-limit", "sync", "a kernel that does not end in time"),
    Kind("division", "arithmetic", "an integer division by zero"),
    Kind("overflow", "arithmetic", "a signed quotient that does not fit its type"),
    Kind(
        "signed-overflow",
        "arithmetic",
        "a signed sum, difference or product that does not fit its type",
        "compute in an unsigned type, which wraps",
        True,
    ),
    # Both are defined in Metal, but rarely intended.
    Kind(
        "shift",
        "arithmetic",
        "a shift by the width of the type or more, or by a negative number",
        "",
        True,
    ),
    Kind("float-cast", "arithmetic", "a float that does not fit the integer type", "", True),
    Kind("assertion", "arithmetic", "an assert() that does not hold"),
    Kind("trap", "arithmetic", "undefined behaviour that the compiler replaced by a trap"),
    Kind("fault", "mem", "a fault of unknown kind"),
)
KINDS = {each.name: each for each in _KINDS}


def find_kind(name: str) -> Kind:
    """Return the kind with a name; an unknown name gives the kind `fault`."""
    return KINDS.get(name, KINDS["fault"])


def parse_tools(names: Iterable[str]) -> tuple[str, ...]:
    """Return the tools in `names`, such as `mem,race`; raises DeclarationError for others."""
    wanted = [part.strip() for name in names for part in name.split(",")]
    for each in wanted:
        if each not in (*TOOLS, ALL):
            raise DeclarationError(f"unknown tool {each!r}; {suggestion(each, (*TOOLS, ALL))}")
    if not wanted or ALL in wanted:
        return TOOLS
    return tuple(each for each in TOOLS if each in wanted)
