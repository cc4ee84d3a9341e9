"""Find features of C++ that clang accepts and Metal does not have (MSL 1.5.4).

The messages are those of Apple's compiler, as they are recorded in
https://github.com/kagurasumusun/llvm-project (docs-metal/data/metal_diagnostics.csv) unless a
function names another source. Features that end a process or load code are refused elsewhere
(unsupported.py), whatever the version of Metal.
"""

from __future__ import annotations

from collections.abc import Iterator

from metalbench.msl.frontend.declarations import Declaration, iterate_declarations
from metalbench.msl.frontend.reflection import find_stage
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.tokens import Tokens, is_name

# The token, the message of Metal's compiler, and a remedy.
Violation = tuple[int, str, str]


def find_cpp_violations(source: Source) -> Iterator[Violation]:
    """Yield every feature of C++ in a source that Metal does not have."""
    tokens = source.tokens
    yield from _find_jumps(tokens)
    yield from _find_storage_classes(tokens)
    yield from _find_long_long(tokens)
    yield from _find_noexcept_operators(tokens)
    for declaration in iterate_declarations(source.declarations):
        if declaration.kind == "function":
            yield from _check_function(source, declaration)


def _find_jumps(tokens: Tokens) -> Iterator[Violation]:
    for index in tokens.occurrences.get("goto", ()):
        if tokens.at(index + 1) != "*":
            yield index, "'goto' is not supported in Metal", "write a loop, or return early"


def _find_storage_classes(tokens: Tokens) -> Iterator[Violation]:
    for index in tokens.occurrences.get("register", ()):
        if is_name(tokens.at(index + 1)):
            yield (
                index,
                "Metal does not support the 'register' storage class specifier",
                "remove it: the compiler assigns registers",
            )


def _find_long_long(tokens: Tokens) -> Iterator[Violation]:
    for index in tokens.occurrences.get("long", ()):
        if tokens.at(index + 1) == "long":
            yield (
                index,
                "'long long' is not supported in Metal",
                "write `long` or `ulong`, which have 64 bits",
            )


def _find_noexcept_operators(tokens: Tokens) -> Iterator[Violation]:
    """Yield operators `noexcept(expression)`, not the specifiers of functions."""
    for index in tokens.occurrences.get("noexcept", ()):
        before = tokens.text[index - 1] if index else ""
        is_operator = before in ("=", "(", ",", "!", "?", "&&", "||", "return")
        if is_operator and tokens.at(index + 1) == "(":
            yield index, "'noexcept' is not supported in Metal", "no function of Metal throws"


def _check_function(source: Source, declaration: Declaration) -> Iterator[Violation]:
    tokens, stage = source.tokens, find_stage(source.tokens, declaration)
    assert declaration.parameters is not None
    is_plain = not declaration.scope and not declaration.in_record and not stage
    if declaration.name == "main" and is_plain and declaration.body:
        yield (
            declaration.name_index,
            "non-qualified function cannot be called 'main'",
            "give it another name",
        )
    if stage == "kernel":
        yield from _check_kernel(tokens, declaration)
    if declaration.body:
        yield from _find_local_variables(source, declaration, stage)


def _check_kernel(tokens: Tokens, declaration: Declaration) -> Iterator[Violation]:
    assert declaration.parameters is not None
    if declaration.in_record:
        yield (
            declaration.name_index,
            "kernel function cannot be a member function",
            "declare it at namespace scope",
        )
    closing = declaration.parameters[1]
    if tokens.text[closing - 1] == "..." and tokens.text[closing - 2] in (",", "("):
        yield (
            closing - 1,
            "invalid prototype, variadic arguments are not allowed in Metal qualified functions",
            "declare each parameter",
        )
    before = tokens.text[declaration.name_index - 1]
    is_plain_type = is_name(before) and before not in ("void", "kernel", "auto")
    if is_plain_type or before in ("*", "&"):
        first = declaration.name_index - 1
        while first > declaration.head and tokens.text[first] in ("*", "&"):
            first -= 1
        spelled = tokens.join(first, declaration.name_index)
        yield (
            declaration.name_index,
            f"invalid return type '{spelled}' for kernel function",
            "return void, and write results to a device buffer",
        )


def _find_local_variables(
    source: Source, declaration: Declaration, stage: str
) -> Iterator[Violation]:
    """Yield variables of a function that no Metal function may have.

    MSL 4.4: only kernels, mesh and object functions have threadgroup variables.
    """
    assert declaration.body is not None
    tokens, aliases = source.tokens, source.aliases
    opening, closing = declaration.body
    for index in tokens.occurrences.get("static", ()):
        if opening < index < closing and _begins_statement(tokens, index):
            words = _list_declaration(tokens, index, closing)
            meant = {part for word in words for part in aliases.get(word, word).split()}
            if not meant & {"constant", "threadgroup"}:
                yield (
                    index,
                    "variables in function scope cannot be declared static",
                    "declare a constant as `constexpr`, or at program scope as `constant`",
                )
    if stage:
        return
    for index in tokens.occurrences.get("threadgroup", ()):
        if opening < index < closing and _begins_statement(tokens, index):
            words = _list_declaration(tokens, index, closing)
            if "*" not in words and "&" not in words:
                yield (
                    index,
                    "automatic variable qualified with an address space",
                    "declare it in the kernel, and pass a pointer to this function",
                )


def _begins_statement(tokens: Tokens, index: int) -> bool:
    return tokens.text[index - 1] in (";", "{", "}", ":")


def _list_declaration(tokens: Tokens, index: int, last: int) -> list[str]:
    """Return the words of a declaration from `index` to its initialiser, brackets or `;`."""
    words = []
    while index < last and tokens.text[index] not in ("=", ";", "[", "(", "{"):
        words.append(tokens.text[index])
        index += 1
    return words
