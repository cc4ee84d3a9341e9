"""Whether a text can be tried as a kernel at all: one `.metal` file, and nothing but that."""

from __future__ import annotations

import re
from pathlib import Path

from metalbench.errors import MetalBenchError
from metalbench.kernel import Kernel, parse
from metalbench.kernel.installed import installed_folder

MOST_BYTES = 200_000
_DIRECTIVE = re.compile(r"^[ \t]*(?:#|%:)[ \t]*(\w+)(.*)$", re.MULTILINE)
_NAMED = re.compile(r'[ \t]*(?:<([^<>"]+)>|"([^<>"]+)")')
_SYSTEM = re.compile(r"(metal_\w+|simd/simd\.h)")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# What reads files at compile time otherwise.
_READS = re.compile(r"\b(__has_embed|__has_include\w*|asm|__asm\w*|_Pragma|_IncludeNext)\b")


def check_source(source: str, parent: Kernel | None = None, name: str = "") -> str:
    """What is wrong with `source` before it is compiled; '' if nothing is.

    `parent` is what it is a version of: its task's name, its element types, and what it includes,
    stay allowed. Without one the kernel is called `name`.
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
        or reads_files(source, "" if parent is None else parent.source)
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


def reads_files(source: str, allowed: str = "") -> str:
    """How `source` would read files that are none of its business; '' if it does not.

    A compiler quotes what it cannot understand, and messages of compilers go to models. What
    `allowed` includes is allowed.
    """
    whole = _whole_lines(source)
    known = {named[0].strip() for named in _included(allowed)}
    for word, rest in _DIRECTIVE.findall(whole):
        if word in ("include", "import", "include_next"):
            fault = _include(rest, known)
            if fault:
                return fault
        elif word == "embed":
            return "`#embed` is not allowed"
    found = _READS.search(_COMMENT.sub(" ", whole))
    return f"`{found[0]}` is not allowed" if found else ""


def included_headers(source: str) -> list[Path]:
    """The library's headers that `source` includes, and those that they include, in that order."""
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        for named in _included(waiting.pop(0)):
            path = named[2] or ""
            if path.startswith("metalbench/") and _library_has(path):
                header = installed_folder() / "include" / path
                if header not in found:
                    found[header] = None
                    waiting.append(header.read_text(encoding="utf-8"))
    return list(found)


def _included(source: str) -> list[re.Match[str]]:
    lines = _DIRECTIVE.findall(_whole_lines(source))
    matches = [_NAMED.match(rest) for word, rest in lines if word == "include"]
    return [each for each in matches if each]


def _whole_lines(source: str) -> str:
    """`source` as the preprocessor sees its lines: joined where they end with a backslash."""
    joined = re.sub(r"\\[ \t]*\r?\n", "", source.replace("??/", "\\").replace("??=", "#"))
    # A comment may stand before or within a directive.
    return re.sub(r"/\*.*?\*/", " ", joined, flags=re.DOTALL)


def _include(rest: str, known: set[str]) -> str:
    named = _NAMED.match(rest)
    if named is None:
        return f"`#include{rest.rstrip()}`: expected a name in <> or quotes"
    if named[0].strip() in known:
        return ""
    path = named[1] or named[2]
    if named[1] and _SYSTEM.fullmatch(path):
        return ""
    if re.fullmatch(r"metalbench/\w+\.h", path) and _library_has(path):
        return ""
    return f"`#include{named[0]}`: expected a header of Metal, or one of the library's"


def _library_has(path: str) -> bool:
    return (installed_folder() / "include" / path).is_file()
