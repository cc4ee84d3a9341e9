"""Find features of C++ that Metal does not have, with the message of Metal's compiler.

Features that end a process or load code are refused by unsupported.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from metalbench.msl.frontend.declarations import Declaration, iterate_declarations
from metalbench.msl.frontend.reflection import THREAD_ATTRIBUTES, find_stage
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.tokens import Tokens, is_name
from metalbench.msl.frontend.violations import BUILTIN_TYPES, METAL_TYPE, NOT_TYPES, Violation

_VECTOR_NAME = re.compile(r"(bool|u?(?:char|short|int|long)|half|bfloat|float)([234])")
_NOT_LABELS = frozenset({"default", "public", "private", "protected", "else"}) | BUILTIN_TYPES


def find_cpp_violations(source: Source) -> Iterator[Violation]:
    """Yield every feature of C++ in a source that Metal does not have.

    MSL's list of restrictions. The messages are recorded ones of Apple's compiler, as listed in
    https://github.com/kagurasumusun/llvm-project (docs-metal/data/metal_diagnostics.csv). Features
    that end a process or load code are refused by unsupported.py.
    """
    tokens = source.tokens
    yield from _find_jumps(tokens)
    yield from _find_storage_classes(tokens)
    yield from _find_long_long(tokens)
    yield from _find_noexcept_operators(tokens)
    yield from _find_wide_integers(tokens)
    yield from _find_flexible_members(source)
    yield from _find_empty_arrays(tokens)
    for declaration in iterate_declarations(source.declarations):
        if declaration.kind == "function":
            yield from _check_function(source, declaration)


def _find_jumps(tokens: Tokens) -> Iterator[Violation]:
    for index in tokens.occurrences.get("goto", ()):
        if tokens.at(index + 1) != "*":
            yield Violation(
                index, "'goto' is not supported in Metal", "write a loop, or return early"
            )


def _find_storage_classes(tokens: Tokens) -> Iterator[Violation]:
    for index in tokens.occurrences.get("register", ()):
        if is_name(tokens.at(index + 1)):
            yield Violation(
                index,
                "Metal does not support the 'register' storage class specifier",
                "remove it: the compiler assigns registers",
            )


def _find_long_long(tokens: Tokens) -> Iterator[Violation]:
    for index in tokens.occurrences.get("long", ()):
        if tokens.at(index + 1) == "long":
            yield Violation(
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
            yield Violation(
                index, "'noexcept' is not supported in Metal", "no function of Metal throws"
            )


def _find_wide_integers(tokens: Tokens) -> Iterator[Violation]:
    for name in ("__int128", "__int128_t", "__uint128_t"):
        for index in tokens.occurrences.get(name, ()):
            message = (
                "__int128 is not supported on this target"
                if name == "__int128"
                else f"unknown type name '{name}'"
            )
            yield Violation(index, message, "write `long` or `ulong`, which have 64 bits")


def _find_empty_arrays(tokens: Tokens) -> Iterator[Violation]:
    """Yield declarations of arrays of length 0, such as `float a[0];`."""
    for index in tokens.occurrences.get("0", ()):
        name = index - 2
        is_declared = (
            tokens.text[index - 1] == "["
            and tokens.at(index + 1) == "]"
            and tokens.at(index + 2) in (";", "[", ",", "=")
            and name > 0
            and is_name(tokens.text[name])
            and is_name(tokens.text[name - 1])
            and tokens.text[name - 1] not in NOT_TYPES - {"unsigned", "signed"}
        )
        if is_declared:
            yield Violation(
                name, "zero-length arrays are not permitted in C++", "give the array a length"
            )


def _find_flexible_members(source: Source) -> Iterator[Violation]:
    """Yield members of records that are arrays without a length."""
    tokens = source.tokens
    for declaration in iterate_declarations(source.declarations):
        name = declaration.name_index
        if declaration.kind != "variable" or not declaration.in_record or name < 0:
            continue
        is_static = "static" in tokens.text[declaration.head : name]
        if not is_static and tokens.text[name + 1 : name + 4] == ["[", "]", ";"]:
            yield Violation(
                name,
                "flexible array members are a C99 feature",
                "give the array a length, or pass a pointer",
            )


def _check_function(source: Source, declaration: Declaration) -> Iterator[Violation]:
    tokens, stage = source.tokens, find_stage(source.tokens, declaration)
    assert declaration.parameters is not None
    is_plain = not declaration.scope and not declaration.in_record and not stage
    if declaration.name == "main" and is_plain and declaration.body:
        yield Violation(
            declaration.name_index,
            "non-qualified function cannot be called 'main'",
            "give it another name",
        )
    if stage == "kernel":
        yield from _check_kernel(tokens, declaration)
    else:
        yield from _find_parameters_in_spaces(tokens, declaration)
    if declaration.body:
        yield from _find_local_variables(source, declaration, stage)
        yield from _find_misplaced_qualifiers(tokens, declaration)
        yield from _find_labels(tokens, declaration)


def _find_parameters_in_spaces(tokens: Tokens, declaration: Declaration) -> Iterator[Violation]:
    """Yield parameters such as `device float a`. Only a pointer or reference has a space."""
    assert declaration.parameters is not None
    opening, closing = declaration.parameters
    for first, last in tokens.split(opening + 1, closing):
        words = tokens.text[first:last]
        has_space = words[:1] in (["device"], ["constant"], ["threadgroup"])
        if has_space and len(words) == 3 and METAL_TYPE.fullmatch(words[1]) and is_name(words[2]):
            yield Violation(
                first,
                "parameter may not be qualified with an address space",
                f"write `{words[0]} {words[1]}& {words[2]}`, or pass the value",
            )


def _find_labels(tokens: Tokens, declaration: Declaration) -> Iterator[Violation]:
    """Yield labels of statements in the body of a function."""
    assert declaration.body is not None
    opening, closing = declaration.body
    for index in tokens.occurrences.get(":", ()):
        name = tokens.text[index - 1]
        is_label = (
            opening < index < closing
            and tokens.text[index - 2] in (";", "{", "}")
            and is_name(name)
            and name not in _NOT_LABELS
            # A bit-field without a name has a length.
            and not tokens.at(index + 1)[:1].isdigit()
        )
        if is_label:
            yield Violation(
                index - 1,
                "labeled statements are not supported in Metal",
                "remove the label, as there is no `goto`",
            )


def _check_kernel(tokens: Tokens, declaration: Declaration) -> Iterator[Violation]:
    assert declaration.parameters is not None
    if declaration.in_record:
        yield Violation(
            declaration.name_index,
            "kernel function cannot be a member function",
            "declare it at namespace scope",
        )
    closing = declaration.parameters[1]
    if tokens.text[closing - 1] == "..." and tokens.text[closing - 2] in (",", "("):
        yield Violation(
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
        vector = _VECTOR_NAME.fullmatch(spelled)
        described = f" (vector of {vector[2]} '{vector[1]}' values)" if vector else ""
        yield Violation(
            declaration.name_index,
            f"invalid return type '{spelled}'{described} for kernel function",
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
                yield Violation(
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
                yield Violation(
                    index,
                    "automatic variable qualified with an address space",
                    "declare it in the kernel, and pass a pointer to this function",
                )


def _find_misplaced_qualifiers(tokens: Tokens, declaration: Declaration) -> Iterator[Violation]:
    """Yield variables of a function with `device` or with the attribute of an input."""
    assert declaration.body is not None
    opening, closing = declaration.body
    for index in tokens.occurrences.get("device", ()):
        if opening < index < closing and _begins_statement(tokens, index):
            words = _list_declaration(tokens, index, closing)
            if len(words) == 3 and METAL_TYPE.fullmatch(words[1]) and is_name(words[2]):
                yield Violation(
                    index,
                    "automatic variable qualified with an address space",
                    "variables of a function are in `thread` memory: remove `device`",
                )
    for name in THREAD_ATTRIBUTES.intersection(tokens.occurrences):
        for index in tokens.occurrences[name]:
            if opening < index < closing and tokens.text[index - 2 : index] == ["[", "["]:
                yield Violation(
                    index,
                    f"'{name}' attribute only applies to parameters and global builtin variables",
                    "declare a parameter of the kernel with it",
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
