"""What transformations have in common, and the kernels that most of them are for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from metalbench.kernel import Kernel
from metalbench.kernel.directives import Dispatch
from metalbench.msl.reading.lexer import lex
from metalbench.msl.reading.tokens import Tokens

POSITION = "thread_position_in_grid"
# Threads of a kernel with one of these may depend on each other.
SHARING = re.compile(r"\b(threadgroup|atomic\w*|simd\w*|quad_\w+|\w*barrier\w*)\b")


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
class Parameter:
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
    parameters: tuple[Parameter, ...]
    body: str
    begin: int
    end: int

    @property
    def taken(self) -> tuple[Parameter, ...]:
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
    if len(kernel.dispatches) != 1 or SHARING.search(_code(kernel.source)):
        return None
    (dispatch,) = kernel.dispatches
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


def _index(parameters: tuple[Parameter, ...]) -> str | None:
    """Return the one parameter with an attribute, if that is the thread's position as a `uint`."""
    attributed = [each for each in parameters if each.attribute]
    if len(attributed) != 1 or attributed[0].attribute != POSITION:
        return None
    name = attributed[0].name
    return name if attributed[0].text.split() == ["uint", name] else None


def free_name(kernel: Kernel, wanted: str) -> str:
    """Return a name that the text does not have."""
    name = wanted
    while re.search(rf"\b{name}\b", kernel.source):
        name += "_"
    return name


def with_tune_line(source: str, name: str, values: tuple[int, ...]) -> str:
    """Return the text with a `// tune:` line behind its dispatch line."""
    line = f"// tune: {name} = {', '.join(map(str, values))}"
    return re.sub(r"(^\s*//\s*dispatch:[^\n]*\n)", rf"\1{line}\n", source, count=1, flags=re.M)


def _code(source: str) -> str:
    return " ".join(lex(source).text)


def _count(dispatch: Dispatch) -> tuple[str, frozenset[str]] | None:
    grid = dispatch.threads_in_grid
    if grid is None or len(grid) != 1 or dispatch.threadgroup_bytes:
        return None
    text = str(grid[0]).strip()
    if not re.fullmatch(r"[A-Za-z_]\w*(\s*\*\s*[A-Za-z_]\w*)*", text):
        return None
    return text, grid[0].names


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


def _parameter(tokens: Tokens, first: int, last: int) -> Parameter:
    end = next(
        (i for i in range(first, last) if tokens.text[i] == "[" and tokens.at(i + 1) == "["), last
    )
    attribute = "".join(tokens.text[end + 2 : last - 2]) if end < last else ""
    return Parameter(tokens.join(first, end), tokens.at(end - 1), attribute)
