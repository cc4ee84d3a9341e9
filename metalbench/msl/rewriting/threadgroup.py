"""Threadgroup variables: references into the threadgroup's arena, not objects of their own."""

from __future__ import annotations

from metalbench.msl.reading.attributes import opens_attribute
from metalbench.msl.reading.tokens import Tokens, is_name
from metalbench.msl.rewriting.edits import Edits

_SPECIFIERS = frozenset({"static", "volatile", "const"})


def rewrite_threadgroup_variables(tokens: Tokens, edits: Edits) -> None:
    """`threadgroup float a[2][N], m;` becomes two MB_THREADGROUP (memory.h); pointers stay."""
    statements = set()
    for index in tokens.places.get("threadgroup", ()):
        first = _statement(tokens, index)
        if first >= 0 and first not in statements:
            statements.add(first)
            _rewrite(tokens, edits, first, len(statements))


def _statement(tokens: Tokens, index: int) -> int:
    """First token of the statement that `threadgroup` at `index` specifies, or -1."""
    index -= 1
    while index >= 0:
        token = tokens.text[index]
        if token in (";", "{", "}"):
            return index + 1
        alignment = token == ")" and tokens.text[tokens.partner[index] - 1] == "alignas"
        attribute = token == "]" and opens_attribute(tokens, tokens.partner[index])
        if alignment:
            index = tokens.partner[index] - 1
        elif attribute:
            index = tokens.partner[index]
        elif not is_name(token) or token in ("using", "typedef", "return"):
            return -1
        index -= 1
    return -1


def _rewrite(tokens: Tokens, edits: Edits, first: int, number: int) -> None:
    last = _skip(tokens, first, len(tokens), (";", "}"))
    if last >= len(tokens) or tokens.text[last] != ";":
        return
    alignment, kind = "", []
    # Metal takes initializers here, but a threadgroup's memory starts with no known contents.
    declarators = [
        (begin, _skip(tokens, _behind_record(tokens, begin, end), end, ("=", "{")))
        for begin, end in tokens.split(first, last)
    ]
    name_index = _declared(tokens, *declarators[0])
    if name_index < 0:
        return
    index = first
    while index < name_index:
        token = tokens.text[index]
        if token == "alignas":
            close = tokens.partner[index + 1]
            alignment = tokens.join(index, close + 1) + " "
            index = close
        elif opens_attribute(tokens, index):
            index = tokens.partner[index]
        elif token not in ("threadgroup", "static"):
            kind.append(token)
        index += 1
    types, variables = [], []
    whole = [end for _, end in tokens.split(first, last)]
    for (begin, end), behind in zip(
        [(name_index, declarators[0][1]), *declarators[1:]], whole, strict=True
    ):
        name = tokens.text[begin]
        if not is_name(name):
            # A pointer among them is each thread's own.
            words = f"MB_IN_THREADGROUP {' '.join(kind)} {tokens.join(begin, behind)}"
            variables.append(f" {words};")
            continue
        types.append(f"mbT{number}_{name}{tokens.join(begin + 1, end)}")
        variables.append(f" {alignment}MB_THREADGROUP(mbT{number}_{name}, {name})")
    text = f"typedef {' '.join(kind)} {', '.join(types)};{''.join(variables)}"
    lines = tokens.source.count("\n", tokens.start[first], tokens.end(last)) - text.count("\n")
    edits.replace(tokens.start[first], tokens.end(last), text + "\n" * lines)


def _skip(tokens: Tokens, index: int, last: int, ends: tuple[str, ...]) -> int:
    """The first of `ends` outside of all brackets, or `last`."""
    while index < last and tokens.text[index] not in ends:
        if tokens.text[index] in "([{" and tokens.partner[index] > index:
            index = tokens.partner[index]
        index += 1
    return min(index, last)


def _behind_record(tokens: Tokens, first: int, last: int) -> int:
    """Where a declarator may begin: behind the members of `struct { ... } name`."""
    for index in range(first, last):
        if tokens.text[index] in ("struct", "union"):
            brace = index + 1 + is_name(tokens.at(index + 1))
            if tokens.at(brace) == "{":
                return tokens.partner[brace] + 1
    return first


def _declared(tokens: Tokens, first: int, last: int) -> int:
    """Token of the first declarator's name; -1 when it is a pointer, reference or function."""
    index, angles = first, 0
    while index < last:
        token = tokens.text[index]
        if token == "<":
            angles += 1
        elif token == ">":
            angles -= 1
        elif (angles == 0 and token in ("*", "&", "&&")) or (
            token == "(" and tokens.text[index - 1] not in ("alignas", "decltype")
        ):
            return -1
        if token in "([{" and tokens.partner[index] > index:
            index = tokens.partner[index]
        index += 1
    index = last - 1
    while index > first and tokens.text[index] == "]":
        index = tokens.partner[index] - 1
    return index if index > first and is_name(tokens.text[index]) else -1
