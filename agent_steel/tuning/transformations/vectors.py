"""Four elements with one load and one store."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_steel.tuning.transformations.transformation import (
    POSITION,
    Independent,
    Parameter,
    free_name,
    independent,
)
from metalbench.kernel import Kernel
from metalbench.msl.reading.lexer import lex

POINTER = re.compile(r"device\s+(const\s+)?float\s*\*\s*(\w+)")
# What chooses between elements, or leaves before the end, is of one element alone.
CHOOSING = frozenset({"if", "for", "while", "do", "switch", "return", "?", "goto", "&&", "||"})


class VectorLoads:
    """Elementwise kernels of floats compute four elements a thread, as `float4`."""

    technique = "vector loads"
    summary = (
        "Each thread loads, computes and stores four elements as one vector, and the last thread "
        "what is left one by one. Buffers begin at an address that vectors may have."
    )
    needs = "independent threads that touch float buffers only at their own position, unbranched"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with `float4` in place of `float`."""
        found = independent(kernel)
        if found is None or kernel.dtypes != ("float32",) or not _is_elementwise(found):
            return
        thread, count = free_name(kernel, "position"), free_name(kernel, "count")
        cast = [_cast(each, thread) for each in found.parameters]
        body = (
            f"  const uint {count} = {found.count};\n"
            f"  if (4 * {thread} + 3 < {count}) {{\n"
            f"    {found.name}_four({', '.join(cast)});\n"
            "    return;\n"
            "  }\n"
            f"  for (uint {found.index} = 4 * {thread}; {found.index} < {count}; "
            f"++{found.index}) {{\n"
            f"    {found.call('one', found.index)}\n"
            "  }\n"
        )
        four = ", ".join(
            _of_four(each.text) if POINTER.fullmatch(each.text) else each.text
            for each in found.parameters
        )
        functions = (
            f"{found.function('one')}\n"
            f"inline void {found.name}_four({four}) {_of_four(found.body)}\n\n"
        )
        yield found.replace_function(functions + found.entry(thread, body), "4")


def _is_elementwise(found: Independent) -> bool:
    pointers = {each.name for each in found.taken if "*" in each.text}
    if not pointers or any(
        "*" in each.text and not POINTER.fullmatch(each.text) for each in found.taken
    ):
        return False
    text = lex(found.body).text
    if CHOOSING & set(text):
        return False
    own = [[name, "[", found.index, "]"] for name in pointers]
    uses = [i for i, each in enumerate(text) if each in pointers]
    at_own = all(text[i : i + 4] in own for i in uses)
    return at_own and text.count(found.index) == len(uses)


def _of_four(text: str) -> str:
    return re.sub(r"\bfloat\b", "float4", text)


def _cast(parameter: Parameter, thread: str) -> str:
    if parameter.attribute == POSITION:
        return thread
    match = POINTER.fullmatch(parameter.text)
    if match is None:
        return parameter.name
    return f"(device {match[1] or ''}float4*){parameter.name}"
