"""Restrict the files that a Metal source makes the compiler read.

Compilers quote lines that they cannot parse, and compiler messages are sent to language models. A
source of a model may therefore include only headers of Metal and of the library, by plain
`#include` lines. Comments and strings are not recognised: an include in a comment is refused too.
"""

from __future__ import annotations

import re
from pathlib import Path

from metalbench.kernel.installed import library_folder

# Between its parts a directive may have comments.
_DIRECTIVE = re.compile(
    r"(?:#|%:)(?:\s|/\*.*?\*/)*(include_next|include|import|embed)(?!\w)([^\n]*)", re.DOTALL
)
_NAMED = re.compile(r'[ \t]*(?:<([^<>"\n]+)>|"([^<>"\n]+)")')
_OF_METAL = re.compile(r"metal_\w+|simd/simd\.h")
_OF_LIBRARY = re.compile(r"metalbench/\w+\.h")
# What hides includes from this reading, or reads files in other ways.
_REFUSED = {
    "trigraphs are": re.compile(r"\?\?[=/'()!<>-]"),
    "raw strings are": re.compile(r'R"'),
    "`asm` is": re.compile(r"\b(?:asm|__asm\w*)\b"),
    "`__has_include` is": re.compile(r"__has_(?:include|embed)"),
    "modules are": re.compile(r'@\s*import\b|\bimport\s*["<]'),
}
_PASTING = re.compile(r"##|%:%:")


def find_file_access(source: str, allowed: str = "") -> str:
    """Return why `source` may not be compiled: it would read a file; else an empty string.

    Includes of `allowed`, the original of `source`, are permitted.
    """
    lines = _whole_lines(source)
    for what, pattern in _REFUSED.items():
        if pattern.search(lines):
            return f"{what} not allowed"
    if _PASTING.search(lines) and not _PASTING.search(allowed):
        return "joining tokens with `##` is not allowed"
    known = {named[0].strip() for named in _find_includes(allowed)}
    faults = (_fault(word, rest, known) for word, rest in _DIRECTIVE.findall(lines))
    return next((each for each in faults if each), "")


def find_included_headers(source: str) -> list[Path]:
    """Return the library's headers that `source` includes, directly or indirectly, in order."""
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        for named in _find_includes(waiting.pop(0)):
            header = _of_library(named[2] or "")
            if header is not None and header not in found:
                found[header] = None
                waiting.append(header.read_text(encoding="utf-8"))
    return list(found)


def _whole_lines(source: str) -> str:
    """Return `source` with lines joined that end with a backslash (C++ translation phase 2)."""
    return re.sub(r"\\[ \t\f\v]*\n", "", re.sub(r"\r\n?", "\n", source))


def _find_includes(source: str) -> list[re.Match[str]]:
    lines = _DIRECTIVE.findall(_whole_lines(source))
    matches = [_NAMED.match(rest) for word, rest in lines if word == "include"]
    return [each for each in matches if each]


def _fault(word: str, rest: str, known: set[str]) -> str:
    if word != "include":
        return f"`#{word}` is not allowed"
    named = _NAMED.match(rest)
    if named is None:
        return f"`#include{rest.rstrip()}`: expected a name in <> or quotes"
    of_metal = named[1] and _OF_METAL.fullmatch(named[1])
    if of_metal or named[0].strip() in known or _of_library(named[1] or named[2]):
        return ""
    return f"`#include{named[0]}`: expected a header of Metal, or one of the library's"


def _of_library(name: str) -> Path | None:
    path = library_folder() / "include" / name
    return path if _OF_LIBRARY.fullmatch(name) and path.is_file() else None
