"""Whether a text can be tried as a kernel at all: one `.metal` file, and nothing but that."""

from __future__ import annotations

import re

from metalbench.errors import MetalBenchError
from metalbench.kernel import Kernel, parse
from metalbench.kernel.includes import find_file_access

MOST_BYTES = 200_000
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def check_source(source: str, parent: Kernel | None = None, name: str = "") -> str:
    """Return what is wrong with `source` before it is compiled; '' for nothing.

    `source` is a version of `parent`, whose task name, element types and includes are allowed.
    Without a parent the kernel is called `name`.
    """
    if "```" in source:
        count = source.count("```")
        return f"expected one .metal text without code fences, got {count} times ```"
    try:
        kernel = parse(source, name=parent.name if parent else name)
    except MetalBenchError as error:
        return str(error)
    return (
        _missing_function(kernel)
        or _missing_types(kernel, parent)
        or find_file_access(source, "" if parent is None else parent.source)
    )


def _missing_function(kernel: Kernel) -> str:
    code = _COMMENT.sub(" ", kernel.source)
    for each in kernel.dispatches:
        if not re.search(rf"\b{re.escape(each.function)}\b", code):
            return f"`// dispatch: {each.function}`: the file has no function of that name"
    if not re.search(r"\bkernel\b", code):
        return "the file has no `[[kernel]]` function"
    return ""


def _missing_types(kernel: Kernel, parent: Kernel | None) -> str:
    lost = [] if parent is None else [each for each in parent.dtypes if each not in kernel.dtypes]
    if not lost:
        return ""
    return f"`// dtypes:` must keep {', '.join(lost)}"
