"""Find constructs that clang accepts and Metal's compiler refuses, with the message of that one.

Each rule is one function. Its docstring names the source: a recorded message of Apple's compiler,
or a section of the Metal Shading Language Specification (MSL). A rule that cannot tell is silent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from metalbench._core import CompileError
from metalbench.msl.frontend.cpp_rules import find_cpp_violations
from metalbench.msl.frontend.declarations import (
    Attribute,
    Declaration,
    is_attribute_start,
    iterate_declarations,
    skip_attributes,
)
from metalbench.msl.frontend.reflection import (
    ADDRESS_SPACES,
    POSITIONS,
    THREAD_ATTRIBUTES,
    Parameter,
    find_stage,
    parse_parameters,
    split_template_parameter,
)
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.space_conversions import find_space_conversions
from metalbench.msl.frontend.standards import (
    DEFAULT_STANDARD,
    STANDARDS,
    TENSORS_SINCE,
    VERSION_MACRO,
)
from metalbench.msl.frontend.tokens import (
    Tokens,
    find_closing_angle,
    find_opening_angle,
    is_name,
)
from metalbench.msl.frontend.violations import BUILTIN_TYPES, METAL_TYPE, NOT_TYPES, Violation


def read_version(macros: Mapping[str, str]) -> int:
    """Return the value of __METAL_VERSION__, which a macro of the caller may give.

    Raise CompileError unless it is the number of a known version.
    """
    given = macros.get(VERSION_MACRO, str(STANDARDS[DEFAULT_STANDARD]))
    versions = {str(version): version for version in STANDARDS.values()}
    if given not in versions:
        known = ", ".join(f"{version} ({name})" for name, version in STANDARDS.items())
        raise CompileError(f"{VERSION_MACRO}: expected {known}; got {given}")
    return versions[given]


def find_violations(source: Source, version: int) -> list[Violation]:
    """Return what Metal of this __METAL_VERSION__ refuses, in the order of the source."""
    tokens = source.tokens
    found = [
        *find_misplaced_thread_limits(source),
        *find_unequal_positions(source),
        *find_program_variables(source),
        *find_later_constructs(source, version),
        *find_type_names_as_identifiers(tokens),
        *find_cpp_violations(source),
        *find_pointers_without_address_space(source),
        *find_space_conversions(source),
    ]
    return sorted(found, key=lambda violation: violation.index)


# 1. The maximal number of threads of a kernel.

_LIMIT = "max_total_threads_per_threadgroup"


def find_misplaced_thread_limits(source: Source) -> Iterator[Violation]:
    """Yield attributes `[[max_total_threads_per_threadgroup(n)]]` in the wrong place.

    Behind the parameters it would belong to the function's type. Recorded message of Apple's
    compiler; MSL 5.1.3 has the right places.
    """
    tokens = source.tokens
    for declaration in source.declarations if _LIMIT in tokens.occurrences else ():
        for attribute in declaration.attributes:
            if attribute.name != _LIMIT or not _is_in_double_brackets(tokens, attribute):
                continue
            index = attribute.first - 2
            form = f"[[kernel, {_LIMIT}({tokens.join(attribute.first, attribute.last)})]] void"
            form = f"`{form} {declaration.name or 'f'}(...)`"
            if declaration.parameters and index > declaration.parameters[1]:
                yield Violation(
                    index,
                    f"'{_LIMIT}' attribute cannot be applied to types",
                    f"write it before the function's type: {form}",
                )


def _is_in_double_brackets(tokens: Tokens, attribute: Attribute) -> bool:
    """Return whether an attribute is written `[[name(...)]]`, not `__attribute__((name(...)))`."""
    return tokens.at(attribute.last + 1) in ("]", ",") and attribute.last > attribute.first


# 2. The positions of a thread.

_POSITION_TYPE = re.compile(r"(?:metal::)?(?:u?(?:short|int)|unsigned(?: short| int)?)([234]?)")
_POSITION_VECTOR = re.compile(r"(?:metal::)?vec<[\w ]+, ([234])>")


def find_unequal_positions(source: Source) -> Iterator[Violation]:
    """Yield kernels whose positions are of types with different numbers of elements.

    Recorded message of Apple's compiler; MSL 5.2.3.6: "If it is a vector type, the number of
    components for the vector types for declaring these arguments must match."
    """
    tokens = source.tokens
    if len(POSITIONS.intersection(tokens.occurrences)) < 2:
        return
    for declaration in source.declarations:
        if declaration.kind != "function" or find_stage(tokens, declaration) != "kernel":
            continue
        assert declaration.parameters is not None
        found: dict[int, tuple[Parameter, str]] = {}
        for parameter in parse_parameters(tokens, declaration.parameters[0]):
            for attribute in parameter.attributes:
                if attribute.name in POSITIONS:
                    count = _count_elements(parameter, source.aliases)
                    found.setdefault(count, (parameter, attribute.name))
        found.pop(0, None)
        if len(found) > 1:
            size = max(found)
            listed = " and ".join(
                f"{parameter.spell_type({})} {parameter.name} [[{attribute}]]"
                for parameter, attribute in list(found.values())[:2]
            )
            yield Violation(
                declaration.name_index,
                "expecting input declarations with either all scalar types or all vector types "
                "with the same number of elements",
                f"got {listed}: declare all of them as uint{size}",
            )


def _count_elements(parameter: Parameter, aliases: Mapping[str, str]) -> int:
    """Return the number of elements of a position's type; 0 if it is not known."""
    text = parameter.spell_type(aliases)
    if vector := _POSITION_VECTOR.fullmatch(text):
        return int(vector[1])
    plain = _POSITION_TYPE.fullmatch(text)
    return int(plain[1] or 1) if plain else 0


# 3. Variables at program scope.

_RECORD_KEYS = frozenset({"struct", "class", "union", "enum"})
_STORAGE = frozenset({"static", "inline", "const", "constexpr"})
# Attributes of variables at program scope that are arguments or inputs of all kernels.
_BINDINGS = THREAD_ATTRIBUTES | {"buffer", "texture", "sampler", "function_constant", "id"}


def find_program_variables(source: Source) -> Iterator[Violation]:
    """Yield variables at program scope, and static members, outside of `constant` memory.

    Recorded message of Apple's compiler; MSL 4.2. Samplers need no address space (MSL 2.10).
    """
    tokens = source.tokens
    for declaration in iterate_declarations(source.declarations):
        name = _find_variable_name(tokens, declaration)
        if name < 0:
            continue
        words = _list_specifiers(tokens, declaration, name)
        if declaration.in_record and "static" not in words:
            continue
        # The variable itself is behind the last `*`.
        own = words[len(words) - words[::-1].index("*") :] if "*" in words else words
        meant = [part for word in own for part in source.aliases.get(word, "").split()]
        is_defined = not declaration.in_record and "constant" in own
        if is_defined and _is_uninitialised(tokens, words, name):
            yield Violation(
                name,
                "variable in constant address space must be initialized",
                "give it a value, or pass it in a buffer",
            )
        if "constant" in own or "constant" in meant or "sampler" in {*own, *meant}:
            continue
        if "extern" in own:
            if METAL_TYPE.fullmatch(own[-1]):
                yield Violation(
                    name,
                    "extern variable must reside in constant address space",
                    "declare it as `constant`, or pass it in a buffer",
                )
            continue
        yield Violation(
            name,
            "program scope variable must reside in constant address space",
            _suggest_declaration(words, tokens.text[name]),
        )


def _is_uninitialised(tokens: Tokens, words: list[str], name: int) -> bool:
    """Return whether a variable of a scalar or vector type, or an array of it, has no value."""
    if {"*", "&", "extern"}.intersection(words) or not METAL_TYPE.fullmatch(words[-1]):
        return False
    index = name + 1
    while tokens.at(index) == "[":
        index = tokens.partner[index] + 1
    return tokens.at(index) == ";"


def _suggest_declaration(words: list[str], name: str) -> str:
    """Return how to declare a variable with these specifiers instead."""
    if "*" in words:
        return f"write `constant` before {name}"
    qualifiers = "constant constexpr" if "constexpr" in words else "constant"
    kind = " ".join(word for word in words if word not in _STORAGE)
    advice = f"declare it as `{qualifiers} {kind} {name}`"
    if not {"const", "constexpr"}.intersection(words):
        return f"{advice} if it is constant; otherwise pass it in a buffer"
    return f"{advice}, or inside the function"


def _find_variable_name(tokens: Tokens, declaration: Declaration) -> int:
    """Return the token of a declared variable's name, -1 if no variable is declared."""
    head, name = declaration.head, declaration.name_index
    if _BINDINGS.intersection(each.name for each in declaration.attributes):
        return -1
    if declaration.kind == "function" and not declaration.body:
        # `float K(2.0f);` and `T f(x);` look like functions.
        assert declaration.parameters is not None
        first = tokens.at(declaration.parameters[0] + 1)
        is_value = first[:1].isdigit() or first[:1] in (".", "-", '"')
        return name if is_value and name > head else -1
    if declaration.kind != "variable" or name <= head or declaration.specialisation_arguments:
        return -1
    words = tokens.text[head:name]
    # `struct S;` and `enum E : uint;` declare types.
    is_type = words[-1] in _RECORD_KEYS or ":" in words
    return -1 if is_type or "friend" in words or words[0] == "template" else name


def _list_specifiers(tokens: Tokens, declaration: Declaration, name: int) -> list[str]:
    """Return the words before a variable's name, without attributes and template arguments."""
    found: list[str] = []
    depth = 0
    for index in skip_attributes(tokens, declaration.head, name):
        text = tokens.text[index]
        depth -= text == ">"
        if not depth and text not in ("<", ">"):
            found.append(text)
        depth += text == "<"
    return found


# 4. What later versions have.


def find_later_constructs(source: Source, version: int) -> Iterator[Violation]:
    """Yield constructs that Metal has from a later version on.

    Metal 3 is C++14, Metal 4 is C++17. Most of C++17 is an extension with a warning in Metal 3.
    Refused are deduced template arguments and `template <auto>`, as by clang with -std=c++14.
    """
    if version < STANDARDS["metal3.2"]:
        yield from find_lambdas(source.tokens)
        yield from find_fences(source)
    if version < TENSORS_SINCE:
        yield from find_tensors(source)
        yield from find_deduced_template_arguments(source)
        yield from find_auto_template_parameters(source)


# The names of fences (MSL, memory order and fence functions).
_FENCES = frozenset({"atomic_thread_fence", "memory_order_seq_cst"})


def find_fences(source: Source) -> Iterator[Violation]:
    """Yield names of fences, which Metal has from 3.2 on.

    MSL 3.2, 6.15: "In Metal 3.2 and later, you can use memory_order_seq_cst on
    atomic_thread_fence". MLX builds its kernel with a fence from 3.2 on only.
    """
    tokens = source.tokens
    for name in _FENCES.intersection(tokens.occurrences):
        if name in source.declarations_by_name:
            continue
        for index in tokens.occurrences[name]:
            yield Violation(
                index,
                f"use of undeclared identifier '{name}'",
                "Metal has it from metal3.2 on: compile with --std metal3.2",
            )


# Names of tensors, with the tokens that follow them where they do not mean something else.
_TENSOR_USES = {
    "mpp": frozenset({"::"}),
    "tensor": frozenset({"<"}),
    "dextents": frozenset({"<"}),
    "execution_simdgroups": frozenset({"<"}),
    "cooperative_tensor": frozenset({"<"}),
    "tensor_handle": frozenset({",", ">"}),
    "tensor_inline": frozenset({",", ">"}),
}


def find_tensors(source: Source) -> Iterator[Violation]:
    """Yield names of tensors, which Metal has from 4.0 on."""
    tokens = source.tokens
    declared = {each.name for each in iterate_declarations(source.declarations)}
    for name in _TENSOR_USES.keys() & tokens.occurrences.keys() - declared:
        for index in tokens.occurrences[name]:
            before = tokens.text[index - 1] if index else ""
            following = tokens.at(index + 1)
            is_declared = before == "namespace" and tokens.text[index - 2] != "using"
            if before in (".", "->") or is_declared:
                continue
            if following not in _TENSOR_USES[name]:
                continue
            # `tensor < n` compares a variable.
            if name == "tensor" and tokens.at(index + 2) not in ADDRESS_SPACES | {"const"}:
                continue
            if name == "mpp" and tokens.at(index + 2) != "tensor_ops":
                continue
            yield Violation(
                index,
                f"use of undeclared identifier '{name}'",
                "Metal has tensors from metal4.0 on: compile with --std metal4.0",
            )


_BEFORE_DECLARATION = frozenset({";", "{", "}", ")", "const", "constexpr", "thread"})
_BEFORE_VALUE = frozenset({"=", "return", "(", ",", "{", "?", ":"})
_LIBRARY_TEMPLATES = frozenset({"array", "vec", "matrix"})


def find_deduced_template_arguments(source: Source) -> Iterator[Violation]:
    """Yield uses of a class template of the source without template arguments: `V v(1);`.

    Message of clang with -std=c++14, and a recorded one of Apple's compiler. A name that the source
    also declares otherwise is not examined.
    """
    tokens = source.tokens
    listed = list(iterate_declarations(source.declarations))
    templates = {each.name for each in listed if each.kind == "record" and each.template}
    templates |= _LIBRARY_TEMPLATES.intersection(tokens.occurrences)
    others = {
        each.name
        for each in listed
        if (each.kind != "record" or each.template is None) and not _is_constructor(each)
    }
    for declaration in listed:
        for first, last in declaration.template or ():
            others.add(split_template_parameter(tokens, first, last)[0])
    for name in templates - others - {""}:
        # Inside of a template, and of types derived from it, its name means the type itself.
        own = [each for each in listed if each.name == name or _has_other_scope(tokens, each)]
        for index in tokens.occurrences[name]:
            before, following = tokens.text[index - 1] if index else ";", tokens.at(index + 1)
            is_declared = (
                before in _BEFORE_DECLARATION
                and is_name(following)
                and tokens.at(index + 2) in ("=", "(", "{", ";")
            )
            is_value = before in _BEFORE_VALUE and following in ("(", "{")
            if not (is_declared or is_value):
                continue
            if not any(each.first <= index < each.last for each in own):
                yield Violation(
                    index,
                    f"use of class template '{name}' requires template arguments",
                    f"write `{name}<...>`: Metal deduces them from metal4.0 on",
                )


def _is_constructor(declaration: Declaration) -> bool:
    return declaration.in_record and declaration.scope[-1].split("@")[0] == declaration.name


def _has_other_scope(tokens: Tokens, declaration: Declaration) -> bool:
    """Return whether names of a type may be looked up inside of a declaration.

    So it is in a member defined outside of its type, and in a type with bases.
    """
    if declaration.kind == "function":
        return tokens.at(declaration.name_index - 1) in ("::", "~")
    opening = declaration.body[0] if declaration.body else declaration.head
    return declaration.kind == "record" and ":" in tokens.text[declaration.head : opening]


def find_auto_template_parameters(source: Source) -> Iterator[Violation]:
    """Yield template parameters `auto N`. Message of clang with -std=c++14."""
    tokens = source.tokens
    for declaration in iterate_declarations(source.declarations):
        for first, last in declaration.template or ():
            if first < last and tokens.text[first] == "auto":
                yield Violation(
                    first,
                    "'auto' not allowed in template parameter until C++17",
                    "write the type of the constant",
                )


_BEFORE_EXPRESSION = frozenset({"return", "case", "else", "do", "and", "or", "not", "co_return"})


def find_lambdas(tokens: Tokens) -> Iterator[Violation]:
    """Yield lambda expressions.

    Recorded message of Apple's compiler for Metal 3.1. MSL 4.0, 1.5.1, excludes lambda expressions
    "prior to Metal 3.2".
    """
    for index in tokens.occurrences.get("[", ()):
        before = tokens.text[index - 1] if index else ""
        close = tokens.partner[index]
        if (
            (is_name(before) and before not in _BEFORE_EXPRESSION)
            or before in ("]", ")", ">", "[")
            or is_attribute_start(tokens, index)
            or tokens.at(close + 1) not in ("(", "{", "mutable")
        ):
            continue
        yield Violation(
            index,
            "lambda expressions are not supported in Metal",
            "write a function, or compile with --std metal3.2",
        )


# 5. Names of types.

_KEYWORD_TYPES = frozenset({"half", "bfloat"})
_AFTER_DECLARED = frozenset({"=", ";", ",", ")", "[", "{"})


def find_type_names_as_identifiers(tokens: Tokens) -> Iterator[Violation]:
    """Yield declarations of variables with the name of a type that is a keyword of Metal.

    Recorded message of Apple's compiler; MSL 2.1. Other names of types, such as `uint`, are
    typedefs of namespace metal, which a declaration may hide.
    """
    for word in _KEYWORD_TYPES.intersection(tokens.occurrences):
        for index in tokens.occurrences[word]:
            before = tokens.text[index - 1] if index else ""
            following = tokens.at(index + 1)
            if following not in _AFTER_DECLARED:
                continue
            if is_name(before) and before not in NOT_TYPES:
                kind = before if before in BUILTIN_TYPES | _KEYWORD_TYPES else "type-name"
                message = f"cannot combine with previous '{kind}' declaration specifier"
            elif before in (".", "->") or (before in ("*", "&") and following == "="):
                message = "expected unqualified-id"
            else:
                continue
            yield Violation(
                index, message, f"`{word}` is a type of Metal: give the variable another name"
            )


# 6. Pointers and references without an address space.

_SPACES = ADDRESS_SPACES | {"threadgroup_imageblock", "ray_data", "object_data"}
_POINTERS = frozenset({"*", "&", "&&"})
_METAL_TEMPLATE = re.compile(
    r"(?:packed_)?vec|matrix|array|atomic|simdgroup_matrix|(?:texture|depth)\w+"
)
_AFTER_DECLARATOR = frozenset({"=", ";", "[", ",", "(", "{", ":"})


def find_pointers_without_address_space(source: Source) -> Iterator[Violation]:
    """Yield pointers and references to a type without an address space.

    Recorded message of Apple's compiler; MSL 4.1: "Every pointer or reference must have an address
    space attribute". Types that depend on a template parameter, and `auto`, are not examined.
    """
    found: dict[int, Violation] = {}
    types = _Types(source)
    for first, last in _find_declarators(source):
        for violation in types.examine(first, last):
            found.setdefault(violation.index, violation)
    yield from found.values()


class _Types:
    """The names of a source that are types for certain, and those of its template parameters."""

    def __init__(self, source: Source) -> None:
        self.tokens = source.tokens
        self._known: set[str] = set()
        self._parameters: set[str] = set()
        for declaration in iterate_declarations(source.declarations):
            for first, last in declaration.template or ():
                name, _ = split_template_parameter(self.tokens, first, last)
                self._parameters.add(name)
            if declaration.kind == "record" and not declaration.template:
                self._known.add(declaration.name)
        for name, meant in source.aliases.items():
            words = meant.replace("::", " ").split()
            if words and METAL_TYPE.fullmatch(words[-1]) and _SPACES.isdisjoint(words):
                self._known.add(name)
        self._known -= self._parameters

    def examine(self, first: int, last: int) -> Iterator[Violation]:
        """Yield the pointers and references in a type and its declarators, tokens [first, last)."""
        tokens, indices = self.tokens, skip_attributes(self.tokens, first, last)
        is_known = has_space = False
        # What the specifiers before all declarators say.
        specified: tuple[bool, bool] | None = None
        position = 0
        while position < len(indices):
            index = indices[position]
            text = tokens.text[index]
            position += 1
            if text in _SPACES:
                has_space = True
            elif text in _POINTERS:
                specified = specified or (is_known, has_space)
                if is_known and not has_space:
                    yield _make_pointer_violation(tokens, index)
                # Metal's own headers have `thread T**`.
                is_known = False
            elif text == "(" and tokens.at(tokens.partner[index] + 1) == "(":
                return  # a pointer to a function
            elif text == ",":
                is_known, has_space = specified or (False, False)
            elif text == "<":
                close = find_closing_angle(tokens, index, last)
                if close < 0:
                    return
                is_known &= self._parameters.isdisjoint(tokens.text[index:close])
                position = sum(each <= close for each in indices)
            elif text == "=":
                return
            elif is_name(text) and specified is None and tokens.at(index - 1) != "typename":
                is_type = text in self._known or METAL_TYPE.fullmatch(text) is not None
                is_type |= _METAL_TEMPLATE.fullmatch(text) is not None and (
                    tokens.at(index + 1) == "<"
                )
                is_known = is_type or (is_known and text in ("const", "volatile"))


def _make_pointer_violation(tokens: Tokens, index: int) -> Violation:
    kind = "pointer" if tokens.text[index] == "*" else "reference"
    return Violation(
        index,
        f"{kind} type must have explicit address space qualifier",
        "write `thread`, `device`, `constant` or `threadgroup` before the type",
    )


def _find_declarators(source: Source) -> Iterator[tuple[int, int]]:
    """Yield the token ranges of types with their declarators that may have pointers."""
    tokens = source.tokens
    for declaration in iterate_declarations(source.declarations):
        if declaration.kind == "function" and declaration.parameters:
            yield declaration.head, max(declaration.name_index, declaration.head)
            opening, closing = declaration.parameters
            yield from tokens.split(opening + 1, closing)
        elif declaration.kind == "variable" and declaration.name_index > declaration.head:
            yield declaration.head, declaration.name_index
        elif declaration.kind == "alias":
            words = tokens.text[declaration.head : declaration.head + 3]
            if words[0] == "typedef":
                yield declaration.head + 1, declaration.last
            elif words[0] == "using" and words[2:] == ["="]:
                yield declaration.head + 3, declaration.last
        if declaration.kind == "function" and declaration.body:
            yield from _find_local_declarators(tokens, *declaration.body)
    yield from _find_abstract_declarators(tokens)


def _find_local_declarators(
    tokens: Tokens, opening: int, closing: int
) -> Iterator[tuple[int, int]]:
    """Yield the declarators of statements such as `float* p = q;` in the body of a function."""
    for index in range(opening + 1, closing):
        text = tokens.text[index]
        if text not in _POINTERS or not is_name(tokens.at(index + 1)):
            continue
        if tokens.at(index + 2) not in _AFTER_DECLARATOR:
            continue
        first = _find_type_start(tokens, index)
        before = tokens.text[first - 1]
        begins = before in (";", "{", "}") or (before == "(" and tokens.at(first - 2) == "for")
        if first < index and begins:
            yield first, index + 1


def _find_abstract_declarators(tokens: Tokens) -> Iterator[tuple[int, int]]:
    """Yield pointer types without a name: in casts, template arguments and `sizeof`."""
    for word in _POINTERS.intersection(tokens.occurrences):
        for index in tokens.occurrences[word]:
            if tokens.at(index + 1) in (")", ">", ","):
                first = _find_type_start(tokens, index)
                if first < index and tokens.text[first - 1] in ("(", "<", ","):
                    yield first, index + 1


def _find_type_start(tokens: Tokens, index: int) -> int:
    """Return the first token of the type whose pointer operator is at `index`."""
    first = index
    while first > 0:
        text = tokens.text[first - 1]
        if text == ">":
            opened = find_opening_angle(tokens, first - 1, 0)
            if opened < 0:
                return index
            first = opened
        elif text in ("::", "*", "&", "&&") or (
            is_name(text) and text not in ("return", "operator", "case", "else", "do")
        ):
            first -= 1
        else:
            return first
    return first
