"""Drop the declarations of a preprocessed source that its kernels do not use."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from metalbench.msl.frontend.declarations import (
    Declaration,
    find_declared_names,
    parse_declarations,
)
from metalbench.msl.frontend.tokens import Tokens, decode_file_name, is_name, lex

_MARKER = re.compile(r'^[ \t]*#[ \t]*\d+[ \t]+"((?:\\.|[^"\\\n])*)".*\n?', re.M)
_COMMENT = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/")
_BLANK_LINES = re.compile(r"\n{3,}")
_ONCE = re.compile(r"^[ \t]*#[ \t]*pragma[ \t]+once\b.*\n", re.M)
# A using directive can be all that is left within a namespace.
_EMPTY_NAMESPACE = re.compile(
    r"^namespace (\w+) \{\s*((?:using namespace \w+;\s*)*)\}[^\n]*\n", re.M
)


def drop_unused_declarations(expanded: str, roots: Iterable[str]) -> str:
    """Return a preprocessed source, with its comments, without what no root uses.

    A declaration is used if a root, or a declaration that is used, mentions its name: so overloads
    and specialisations stay together. The comment above a declaration goes with it, and the
    comments of a file go with its last declaration. Line markers and `#pragma once` are dropped.
    `expanded` is the output of the preprocessor; its brackets must match.
    """
    tokens = lex(expanded)
    declarations = parse_declarations(tokens)
    used = _find_used(tokens, declarations, roots)
    regions = list(_split_by_file(expanded))
    living = {
        _file_at(regions, tokens.start[each.first])
        for each in declarations
        if id(each) in used and _declares(tokens, each)
    }
    text = list(expanded)
    for each in declarations:
        if id(each) not in used:
            first, last = tokens.start[each.first], tokens.end(each.last - 1)
            _blank(text, _begin_with_comment(expanded, first), _end_of_line(expanded, last))
    for file, first, last in regions:
        if file not in living:
            for comment in _COMMENT.finditer(expanded, first, last):
                _blank(text, *comment.span())
    return _tidy(_join_regions("".join(text), regions, tokens))


def _find_used(
    tokens: Tokens, declarations: Sequence[Declaration], roots: Iterable[str]
) -> set[int]:
    """Return the ids of the declarations that the roots reach by name."""
    words = {
        id(each): {word for word in tokens.text[each.first : each.last] if is_name(word)}
        for each in declarations
    }
    by_name: dict[str, list[Declaration]] = {}
    for each in declarations:
        for name in _names(tokens, each):
            by_name.setdefault(name, []).append(each)
    used: set[int] = set()
    seen: set[str] = set()
    waiting = list(roots)
    # An explicit instantiation has no name, and an operator is used without its name.
    for each in declarations:
        if each.kind == "instantiation" or each.name.startswith("operator"):
            used.add(id(each))
            waiting += words[id(each)]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for each in by_name.get(name, ()):
            if id(each) not in used:
                used.add(id(each))
                waiting += words[id(each)]
    for each in declarations:
        # Using directives and assertions: they say something about what stays.
        if not _names(tokens, each) and words[id(each)] & by_name.keys() <= seen:
            used.add(id(each))
    return used


def _names(tokens: Tokens, declaration: Declaration) -> list[str]:
    """Return the names that a declaration introduces, enumerators and further variables too."""
    names = find_declared_names(tokens, declaration)
    text = tokens.text[declaration.head : declaration.last]
    if declaration.kind == "record" and "enum" in text[:2] and declaration.body:
        inside = tokens.text[declaration.body[0] : declaration.body[1]]
        names = [*names, *filter(is_name, inside)]
    if declaration.kind == "variable":
        parts = tokens.split(declaration.head, declaration.last - 1)
        names = [*names, *(tokens.text[first] for first, _ in list(parts)[1:])]
    return names


def _declares(tokens: Tokens, declaration: Declaration) -> bool:
    return bool(_names(tokens, declaration)) or declaration.kind == "instantiation"


def _split_by_file(expanded: str) -> Iterator[tuple[str, int, int]]:
    """Yield the file, begin and end of each part between line markers."""
    file, begin = "", 0
    for marker in _MARKER.finditer(expanded):
        yield file, begin, marker.start()
        file, begin = decode_file_name(marker[1]), marker.end()
    yield file, begin, len(expanded)


def _join_regions(text: str, regions: Sequence[tuple[str, int, int]], tokens: Tokens) -> str:
    """Return the parts in order; comments above the includes of a file go below them."""
    starts = tokens.start
    parts: list[str] = []
    waiting: dict[str, str] = {}
    for place, (file, first, last) in enumerate(regions):
        has_code = bisect_left(starts, first) < bisect_left(starts, last)
        if not has_code and any(other == file for other, _, _ in regions[place + 1 :]):
            waiting[file] = waiting.get(file, "") + text[first:last]
            continue
        parts.append(waiting.pop(file, "") + text[first:last])
    return "".join(parts)


def _file_at(regions: Sequence[tuple[str, int, int]], offset: int) -> str:
    return next((file for file, begin, end in regions if begin <= offset < end), "")


def _begin_with_comment(source: str, offset: int) -> int:
    """Return where the comment lines directly above a declaration begin, else the line's begin."""
    begin = source.rfind("\n", 0, offset) + 1
    if source[begin:offset].strip():
        return offset
    while begin:
        above = source.rfind("\n", 0, begin - 1) + 1
        if not source[above:begin].lstrip().startswith("//"):
            break
        begin = above
    return begin


def _end_of_line(source: str, offset: int) -> int:
    """Return the offset after a comment that follows in the line, if only that follows."""
    end = source.find("\n", offset)
    end = len(source) if end < 0 else end
    rest = source[offset:end].strip()
    return end if not rest or rest.startswith("//") else offset


def _blank(text: list[str], first: int, last: int) -> None:
    """Replace text by spaces; line breaks stay, so that markers still begin lines."""
    for index in range(first, last):
        if text[index] != "\n":
            text[index] = " "


def _tidy(text: str) -> str:
    """Drop markers, `#pragma once`, blank ends of lines, empty namespaces, repeated blank lines."""
    text = _ONCE.sub("", text)
    text = "\n".join(line.rstrip() for line in text.split("\n"))
    # What is said of a macro, which has been expanded.
    text = re.sub(r"(?:^[ \t]*//[^\n]*\n)+\n+(?=\} // namespace)", "", text, flags=re.M)
    text = _drop_empty_namespaces(text)
    left = set(re.findall(r"^namespace (\w+) \{", text, re.M)) | {"metal"}
    text = re.sub(
        r"^using namespace (\w+);\n",
        lambda found: found[0] if found[1] in left or found[1] == "simd" else "",
        text,
        flags=re.M,
    )
    return _BLANK_LINES.sub("\n\n", text).strip() + "\n"


def _drop_empty_namespaces(text: str) -> str:
    """Drop namespaces without declarations; their using directives go to the next one."""
    directives: dict[str, dict[str, None]] = {}

    def drop(found: re.Match[str]) -> str:
        lines = (line.strip() for line in found[2].split("\n"))
        directives.setdefault(found[1], {}).update(dict.fromkeys(filter(None, lines)))
        return ""

    text = _EMPTY_NAMESPACE.sub(drop, text)
    for name, lines in directives.items():
        opening = f"namespace {name} {{\n"
        before, found, after = text.partition(opening)
        missing = [line for line in lines if not after.lstrip().startswith(line)]
        if found and missing:
            text = f"{before}{found}\n{chr(10).join(missing)}\n{after}"
    return text
