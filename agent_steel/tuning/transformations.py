"""Changes of a kernel's text that leave its results as they are, each with what it needs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from agent_steel.tuning.edit import SHARING, free_name, read_count, with_tune_line
from agent_steel.tuning.fusion import FusedDispatches
from agent_steel.tuning.loops import (
    FastFunctions,
    HalfAccumulation,
    LoadsAhead,
    PeeledTail,
    Reciprocals,
    UnrollFactor,
)
from agent_steel.tuning.quads import VectorLoads
from agent_steel.tuning.rows import SharedRows
from agent_steel.tuning.tiles import ProductTiles, TransposeTiles
from metalbench.kernel.header import Dispatch, Kernel
from metalbench.msl.frontend.tokens import Tokens, lex

__all__ = ["TRANSFORMATIONS", "Transformation"]

POSITION = "thread_position_in_grid"


class Transformation(Protocol):
    """One kind of change, and what it is called in the history.

    `needs` says in words what must hold for the change to be safe; `versions` finds out.
    """

    technique: str
    summary: str
    needs: str

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Texts of the kernel with the change; none where what it needs does not hold."""


@dataclass(frozen=True)
class KernelParameter:
    """A kernel's parameter: its text without attributes, its name, and its attribute or ''."""

    text: str
    name: str
    attribute: str


@dataclass(frozen=True)
class Independent:
    """A kernel of one dispatch over a line of threads that know nothing of each other.

    `count` is how many threads there are, as text that Metal and the header's expressions share;
    `begin` and `end` are where the function is in the source.
    """

    source: str
    name: str
    index: str
    count: str
    sizes: frozenset[str]
    parameters: tuple[KernelParameter, ...]
    body: str
    begin: int
    end: int

    @property
    def taken(self) -> tuple[KernelParameter, ...]:
        """The parameters without the thread's position."""
        return tuple(each for each in self.parameters if each.attribute != POSITION)

    def function(self, suffix: str) -> str:
        """Return the same as a function for one element, whatever thread computes it."""
        taken = ", ".join(each.text for each in self.parameters)
        return f"inline void {self.name}_{suffix}({taken}) {self.body}\n"

    def call(self, suffix: str, index: str) -> str:
        """Return a call of that function."""
        names = (index if each.attribute == POSITION else each.name for each in self.parameters)
        return f"{self.name}_{suffix}({', '.join(names)});"

    def entry(self, thread: str, body: str) -> str:
        """Return a kernel of the same name and arguments, and the sizes that its grid has."""
        known = {each.name for each in self.parameters}
        sizes = [f"constant uint& {each}" for each in sorted(self.sizes - known)]
        taken = [*(each.text for each in self.taken), *sizes, f"uint {thread} [[{POSITION}]]"]
        return f"kernel void {self.name}({', '.join(taken)}) {{\n{body}}}"

    def replace_function(self, function: str, per_thread: str) -> str:
        """The source with another function, and one thread for every `per_thread` elements."""
        text = self.source[: self.begin] + function + self.source[self.end :]
        pattern = re.compile(r"(//\s*dispatch:[^\n]*?threads_in_grid=)\((?:[^()]*)\)")
        return pattern.sub(rf"\1(ceil_div({self.count}, {per_thread}))", text, count=1)


def independent(kernel: Kernel) -> Independent | None:
    """Read a kernel whose threads are independent; None if it is not, or not plainly, one."""
    dispatch = kernel.plain_dispatch
    if dispatch is None or SHARING.search(_code(kernel.source)):
        return None
    count = _count(dispatch)
    tokens = lex(kernel.source)
    place = _place(tokens, dispatch.function) if tokens.is_balanced else None
    if count is None or place is None:
        return None
    begin, opening = place
    closing = tokens.partner[opening]
    parameters = tuple(
        _parameter(tokens, first, last) for first, last in tokens.split(opening + 1, closing)
    )
    index = _index(parameters)
    if index is None or tokens.at(closing + 1) != "{":
        return None
    last = tokens.partner[closing + 1]
    return Independent(
        source=kernel.source,
        name=dispatch.function,
        index=index,
        count=count[0],
        sizes=count[1],
        parameters=parameters,
        body=tokens.join(closing + 1, last + 1),
        begin=tokens.start[begin],
        end=tokens.end(last),
    )


def _index(parameters: tuple[KernelParameter, ...]) -> str | None:
    """Return the one parameter with an attribute, if that is the thread's position as a `uint`."""
    attributed = [each for each in parameters if each.attribute]
    if len(attributed) != 1 or attributed[0].attribute != POSITION:
        return None
    name = attributed[0].name
    return name if attributed[0].text.split() == ["uint", name] else None


def _code(source: str) -> str:
    return " ".join(lex(source).text)


def _count(dispatch: Dispatch) -> tuple[str, frozenset[str]] | None:
    return None if dispatch.threadgroup_bytes else read_count(dispatch.threads_in_grid)


def _place(tokens: Tokens, function: str) -> tuple[int, int] | None:
    """The first token of a kernel function, and its opening parenthesis."""
    for index in tokens.occurrences.get(function, []):
        if tokens.at(index + 1) != "(" or tokens.at(index - 1) != "void":
            continue
        if tokens.at(index - 2) == "kernel":
            return index - 2, index + 1
        if [tokens.at(index - each) for each in (6, 5, 4, 3, 2)] == ["[", "[", "kernel", "]", "]"]:
            return index - 6, index + 1
    return None


def _parameter(tokens: Tokens, first: int, last: int) -> KernelParameter:
    end = next(
        (i for i in range(first, last) if tokens.text[i] == "[" and tokens.at(i + 1) == "["), last
    )
    attribute = "".join(tokens.text[end + 2 : last - 2]) if end < last else ""
    return KernelParameter(tokens.join(first, end), tokens.at(end - 1), attribute)


# The number of threads in a threadgroup as a tunable.

THREAD_COUNTS = (256, 64, 1024, 128, 512, 32)
ATTRIBUTES = re.compile(r"(in|per)_(thread|simd|quad)group")


class ThreadCount:
    """A fixed number of threads becomes a macro with values to try."""

    technique = "threads per threadgroup"
    summary = (
        "The number of threads in a threadgroup becomes a tunable. How many are best depends on "
        "the device and on what a thread needs."
    )
    needs = "one dispatch by threads_in_grid, a number as threads=, and nothing shared in a group"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with a number of threads that it does not have, and others to try."""
        code = " ".join(lex(kernel.source).text)
        dispatch = kernel.plain_dispatch
        if dispatch is None or SHARING.search(code) or ATTRIBUTES.search(code):
            return
        if dispatch.threads_in_grid is None or len(dispatch.threads) != 1:
            return
        text = str(dispatch.threads[0]).strip()
        if not text.isdecimal():
            return
        name = free_name(kernel, "THREADS")
        pattern = r"(//\s*dispatch:[^\n]*?\bthreads=)\([^()]*\)"
        source = re.sub(pattern, rf"\1({name})", kernel.source, count=1)
        others = tuple(each for each in THREAD_COUNTS if each != int(text))
        yield with_tune_line(source, name, (*others, int(text)))


# Several elements for each thread.

COUNTS = (4, 2, 8)


class ElementsPerThread:
    """Let each thread compute several elements, with a stride of the number of threads."""

    technique = "elements per thread"
    summary = (
        "Each thread computes several elements, so that fewer threads are launched. Neighbouring "
        "threads still read neighbouring elements."
    )
    needs = "one dispatch over a line of threads that share nothing and know only their position"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel as a loop over elements."""
        found = independent(kernel)
        if found is None:
            return
        each, thread = free_name(kernel, "ELEMENTS"), free_name(kernel, "position")
        count, stride = free_name(kernel, "count"), free_name(kernel, "stride")
        body = (
            f"  const uint {count} = {found.count};\n"
            f"  const uint {stride} = ({count} + {each} - 1) / {each};\n"
            f"  for (uint k_ = 0; k_ < {each}; ++k_) {{\n"
            f"    const uint {found.index} = {thread} + k_ * {stride};\n"
            f"    if ({found.index} < {count}) {found.call('one', found.index)}\n"
            "  }\n"
        )
        function = f"{found.function('one')}\n{found.entry(thread, body)}"
        yield with_tune_line(found.replace_function(function, each), each, COUNTS)


# Loops whose number of turns is known when they are compiled.

MOST_TURNS = 64
LOOP = re.compile(
    r"^(?P<indent>[ \t]*)for \((?:const )?(?:u?int|ushort|short) (?P<name>\w+) = \d+u?; "
    r"(?P=name) < (?P<bound>\w+); (?:\+\+(?P=name)|(?P=name)\+\+)\)",
    re.M,
)


class Unrolling:
    """Loops of a number or a macro of turns are written out by the compiler."""

    technique = "unrolled loops"
    summary = (
        "Loops whose number of turns is known are unrolled. That leaves out their tests, and lets "
        "loads of several turns be under way at a time."
    )
    needs = "a loop that counts up by one to a number or a tunable"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with all such loops unrolled."""
        found = LOOP.sub(lambda match: _unroll(kernel, match), kernel.source)
        if found != kernel.source:
            yield found


def _unroll(kernel: Kernel, match: re.Match[str]) -> str:
    bound = match["bound"].removesuffix("u")
    before = kernel.source[: match.start()].rstrip().rpartition("\n")[2]
    counted = bound in kernel.tunables or (bound.isdecimal() and int(bound) <= MOST_TURNS)
    if not counted or before.lstrip().startswith("#pragma"):
        return match[0]
    return f"{match['indent']}#pragma unroll\n{match[0]}"


# In the order in which a recipe applies them: what other changes can see comes first.

TRANSFORMATIONS: tuple[Transformation, ...] = (
    FusedDispatches(),
    Reciprocals(),
    SharedRows(),
    ProductTiles(),
    TransposeTiles(),
    VectorLoads(),
    ElementsPerThread(),
    FastFunctions(),
    HalfAccumulation(),
    LoadsAhead(),
    UnrollFactor(),
    PeeledTail(),
    ThreadCount(),
    Unrolling(),
)
