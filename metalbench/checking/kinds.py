"""What can be wrong with a kernel: each kind of finding, the tool that looks for it, and advice."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from metalbench.errors import DeclarationError, suggestion

TOOLS = ("mem", "race", "init", "sync", "arithmetic")
ALL = "all"


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding: `name` is what suppressions call it. Warnings are harmless on GPUs."""

    name: str
    tool: str
    what: str
    advice: str = ""
    is_warning: bool = False


_KINDS = (
    Kind("out-of-bounds", "mem", "an access beside a buffer or an array", "check the index first"),
    Kind("wild-pointer", "mem", "an access to memory of no buffer that the kernel has"),
    Kind("write-to-constant", "mem", "a write to what the kernel declares to be constant"),
    Kind(
        "write-to-input",
        "mem",
        "a write to an input",
        "declare it `device const`, or `inout` in its `// buffer:` line",
    ),
    Kind("misaligned", "mem", "an address that does not fit its type"),
    # Metal defines it, and hardly anybody means it.
    Kind(
        "texture-bounds",
        "mem",
        "a read or write of a texel that a texture has not",
        "ask get_width() and get_height() first",
        True,
    ),
    Kind("stack-overflow", "mem", "more private memory than a thread has"),
    Kind("race", "race", "two threads at the same bytes, nothing in between, one of them writes"),
    Kind(
        "texture-fence",
        "race",
        "a thread reads a texel that it has written, with no fence in between",
        "call fence() of the texture between the write and the read",
    ),
    Kind(
        "same-value-race",
        "race",
        "two threads write the same to the same bytes, with nothing in between",
        is_warning=True,
    ),
    Kind(
        "uninitialised",
        "init",
        "a read of what nothing has written",
        "outputs, scratch and threadgroup memory hold anything at first",
    ),
    Kind("output-not-written", "init", "elements of an output that the kernel never writes"),
    Kind("barrier", "sync", "a barrier that some threads do not reach"),
    Kind("simdgroup", "sync", "a SIMD-group function that not all its lanes reach together"),
    Kind("time-limit", "sync", "a kernel that does not end"),
    Kind("division", "arithmetic", "an integer division by zero"),
    Kind("overflow", "arithmetic", "a signed quotient that does not fit its type"),
    Kind(
        "signed-overflow",
        "arithmetic",
        "a signed sum, difference or product that does not fit its type",
        "compute in an unsigned type, which wraps",
        True,
    ),
    # Metal defines both of these, and hardly anybody means it.
    Kind(
        "shift",
        "arithmetic",
        "a shift by more bits than there are, or by fewer than none",
        "",
        True,
    ),
    Kind("float-cast", "arithmetic", "a float that does not fit the integer it is made", "", True),
    Kind("assertion", "arithmetic", "an assert() that does not hold"),
    Kind("trap", "arithmetic", "undefined behaviour that the compiler has made a trap of"),
    Kind("fault", "mem", "a fault of no kind that is known"),
)
KINDS = {each.name: each for each in _KINDS}


def kind_named(name: str) -> Kind:
    """The kind that suppressions call `name`; what is of no known kind is a fault."""
    return KINDS.get(name, KINDS["fault"])


def tools_of(names: Iterable[str]) -> tuple[str, ...]:
    """The tools that are meant by `names`, such as `mem,race`; raises DeclarationError."""
    wanted = [part.strip() for name in names for part in name.split(",")]
    for each in wanted:
        if each not in (*TOOLS, ALL):
            raise DeclarationError(f"unknown tool {each!r}; {suggestion(each, (*TOOLS, ALL))}")
    if not wanted or ALL in wanted:
        return TOOLS
    return tuple(each for each in TOOLS if each in wanted)
