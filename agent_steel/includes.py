"""What a Metal text would have a compiler read: headers that it may, or files that it may not.

A compiler quotes what it cannot understand, and messages of compilers go to models. So a text that
a model wrote names its headers plainly, and has no other way to a file. Where it is not clear what
a compiler would see, the text is refused.
"""

from __future__ import annotations

import re
from pathlib import Path

from metalbench.kernel.installed import installed_folder

# Tokens as clang's preprocessor takes them apart, as far as needed to tell what is a comment. A
# quote that is not closed reaches to the end of its line.
_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"""
    r"""|[A-Za-z_]\w*|\.?\d(?:'?[\w.])*|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?""",
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^\s*(?:#|%:)\s*(\w+)([^\n]*)$", re.MULTILINE)
_NAMED = re.compile(r'[ \t]*(?:<([^<>"\n]+)>|"([^<>"\n]+)")')
_OF_METAL = re.compile(r"metal_\w+|simd/simd\.h")
_OF_LIBRARY = re.compile(r"metalbench/\w+\.h")
# What hides from this reading what a compiler sees, or reads files in other ways.
_REFUSED = {
    "trigraphs": re.compile(r"\?\?[=/'()!<>-]"),
    "raw strings": re.compile(r'(?:\b|_)(?:u8|[uUL])?R"'),
    "`asm`": re.compile(r"\b(?:asm|__asm\w*)\b"),
    "`__has_include`": re.compile(r"\b__has_(?:include|embed)\w*"),
    "modules": re.compile(r"^\s*(?:export\s+)?import\b|@\s*import\b", re.MULTILINE),
}
_PASTING = re.compile(r"##|%:%:")


def reads_files(source: str, allowed: str = "") -> str:
    """How `source` would read files that are none of its business; '' if it does not.

    What `allowed`, the text that it is a version of, includes is allowed.
    """
    code = _code(source)
    for what, pattern in _REFUSED.items():
        # Raw strings and trigraphs may make of this reading something else than what is there.
        if pattern.search(code) or (
            what in ("trigraphs", "raw strings") and pattern.search(source)
        ):
            return f"{what} are not allowed" if what.endswith("s") else f"{what} is not allowed"
    if _PASTING.search(code) and not _PASTING.search(_code(allowed)):
        return "joining tokens with `##` is not allowed"
    known = {named[0].strip() for named in _named(allowed)}
    for word, rest in _DIRECTIVE.findall(code):
        fault = _fault(word, rest, known)
        if fault:
            return fault
    return ""


def included_headers(source: str) -> list[Path]:
    """The library's headers that `source` includes, and those that they include, in that order."""
    found: dict[Path, None] = {}
    waiting = [source]
    while waiting:
        for named in _named(waiting.pop(0)):
            header = _of_library(named[2] or "")
            if header is not None and header not in found:
                found[header] = None
                waiting.append(header.read_text(encoding="utf-8"))
    return list(found)


def _code(source: str) -> str:
    """`source` in whole lines and without comments, each of which leaves its ends of lines."""
    lines = re.sub(r"\r\n?", "\n", source)
    whole = re.sub(r"\\[ \t\f\v]*\n", "", lines)

    def without(token: re.Match[str]) -> str:
        comment = token["comment"]
        return token[0] if comment is None else " " + "\n" * comment.count("\n")

    return _TOKEN.sub(without, whole)


def _named(source: str) -> list[re.Match[str]]:
    lines = _DIRECTIVE.findall(_code(source))
    matches = [_NAMED.match(rest) for word, rest in lines if word == "include"]
    return [each for each in matches if each]


def _fault(word: str, rest: str, known: set[str]) -> str:
    if word in ("embed", "import", "include_next"):
        return f"`#{word}` is not allowed"
    if word != "include":
        return ""
    named = _NAMED.match(rest)
    if named is None:
        return f"`#include{rest.rstrip()}`: expected a name in <> or quotes"
    of_metal = named[1] and _OF_METAL.fullmatch(named[1])
    if of_metal or named[0].strip() in known or _of_library(named[1] or named[2]):
        return ""
    return f"`#include{named[0]}`: expected a header of Metal, or one of the library's"


def _of_library(name: str) -> Path | None:
    path = installed_folder() / "include" / name
    return path if _OF_LIBRARY.fullmatch(name) and path.is_file() else None
