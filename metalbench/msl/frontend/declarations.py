"""Parse declarations in a token sequence, with attributes such as `[[buffer(2)]]`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from metalbench.msl.frontend.tokens import Tokens, find_closing_angle, find_opening_angle, is_name


class Attribute(NamedTuple):
    """One attribute, with the token range of its arguments: empty if it has no parentheses."""

    name: str
    first: int
    last: int


def is_attribute_start(tokens: Tokens, index: int) -> bool:
    """Return whether token `index` is the first `[` of `[[...]]`."""
    text = tokens.text
    if text[index] != "[" or index + 1 >= len(text) or text[index + 1] != "[":
        return False
    close = tokens.partner[index]
    return close > 0 and tokens.partner[index + 1] == close - 1


def is_gnu_attribute_start(tokens: Tokens, index: int) -> bool:
    """Return whether token `index` begins `__attribute__((...))`."""
    return tokens.text[index : index + 3] == ["__attribute__", "(", "("]


def find_attributes(tokens: Tokens, first: int, last: int) -> list[Attribute]:
    """Return all attributes at the top nesting level of tokens [first, last).

    They are written `[[name]]` or `__attribute__((name))`.
    """
    found: list[Attribute] = []
    index = first
    while index < last:
        if is_attribute_start(tokens, index):
            close = tokens.partner[index]
            for begin, end in tokens.split(index + 2, close - 1):
                found.append(_parse_attribute(tokens, begin, end))
            index = close
        elif is_gnu_attribute_start(tokens, index):
            for begin, end in tokens.split(index + 3, tokens.partner[index + 2]):
                found.append(_parse_attribute(tokens, begin, end))
            index = tokens.partner[index + 1]
        elif tokens.text[index] in "({" and tokens.partner[index] > index:
            index = tokens.partner[index]
        index += 1
    return found


def _parse_attribute(tokens: Tokens, first: int, last: int) -> Attribute:
    """Return one attribute. A scope such as `clang::` is part of its name."""
    index = first
    while index < last and (is_name(tokens.text[index]) or tokens.text[index] == "::"):
        index += 1
    name = "".join(tokens.text[first:index])
    if index < last and tokens.text[index] == "(":
        return Attribute(name, index + 1, tokens.partner[index])
    return Attribute(name, index, index)


def skip_attributes(tokens: Tokens, first: int, last: int) -> list[int]:
    """Return the indices of the tokens in [first, last) that are not part of an attribute."""
    words = tokens.text[first:last]
    if "[" not in words and "__attribute__" not in words:
        return list(range(first, last))
    kept: list[int] = []
    index = first
    while index < last:
        if is_attribute_start(tokens, index):
            index = tokens.partner[index] + 1
            continue
        if is_gnu_attribute_start(tokens, index):
            index = tokens.partner[index + 1] + 1
            continue
        kept.append(index)
        index += 1
    return kept


# Parse preprocessed MSL into declarations by scope, without types or expressions.

Kind = Literal["function", "record", "variable", "alias", "instantiation", "other"]
Range = tuple[int, int]

_RECORD_KEYS = frozenset({"struct", "class", "union", "enum"})
_BEFORE_RECORD = frozenset(
    {"typedef", "constant", "static", "const", "constexpr", "friend", "inline"}
)
_CALL_LIKE = frozenset(
    {"decltype", "alignas", "__attribute__", "noexcept", "static_assert", "__declspec"}
)
_ALIAS_LIKE = frozenset({"using", "static_assert", "friend"})


@dataclass
class Declaration:
    """One declaration: tokens [first, last), including its `;` or `}`.

    `head` is the first token after the template header. `template` holds the token ranges of the
    template parameters, None without a header. `parameters` and `body` are pairs of bracket
    indices. `specialisation_arguments` is the token range between `<` and `>` after the name.
    """

    kind: Kind
    first: int
    last: int
    head: int
    scope: tuple[str, ...]
    in_record: bool
    template: list[Range] | None = None
    name: str = ""
    name_index: int = -1
    specialisation_arguments: Range | None = None
    parameters: Range | None = None
    body: Range | None = None
    attributes: list[Attribute] = field(default_factory=list)
    members: list[Declaration] = field(default_factory=list)

    @property
    def qualified_name(self) -> str:
        """The name with its namespaces."""
        return "::".join((*self.scope, self.name))

    def find_attribute(self, name: str) -> Attribute | None:
        """Return the first attribute with this name, None if there is none."""
        return next((found for found in self.attributes if found.name == name), None)


def parse_declarations(tokens: Tokens) -> list[Declaration]:
    """Return all declarations: namespaces are flattened, records contain their members."""
    return list(_parse_scope(tokens, 0, len(tokens), (), in_record=False))


def iterate_declarations(found: list[Declaration]) -> Iterator[Declaration]:
    """Yield the declarations and, recursively, the members of records."""
    for declaration in found:
        yield declaration
        if declaration.members:
            yield from iterate_declarations(declaration.members)


def find_declared_names(tokens: Tokens, declaration: Declaration) -> list[str]:
    """Return the names that a declaration introduces."""
    if declaration.kind != "alias":
        if declaration.kind == "record" and tokens.text[declaration.last - 2] != "}":
            return [declaration.name, tokens.text[declaration.last - 2]]
        return [declaration.name] if declaration.name else []
    words = tokens.text[declaration.head : declaration.last]
    if words[0] == "using" and "=" in words:
        return [words[1]]
    return [words[-2]] if words[0] == "typedef" and len(words) > 2 else []


def _parse_scope(
    tokens: Tokens, index: int, limit: int, scope: tuple[str, ...], *, in_record: bool
) -> Iterator[Declaration]:
    text, partner = tokens.text, tokens.partner
    while index < limit:
        token = text[index]
        if token in (";", ":", "public", "private", "protected"):
            index += 1
        elif token == "namespace" or (
            token == "inline" and text[index + 1 : index + 2] == ["namespace"]
        ):
            brace = index
            while brace < limit and text[brace] not in "{;":
                brace += 1
            if brace < limit and text[brace] == "{":
                names = tuple(word for word in text[index:brace] if is_name(word))
                names = tuple(word for word in names if word not in ("namespace", "inline"))
                yield from _parse_scope(
                    tokens, brace + 1, partner[brace], scope + names, in_record=False
                )
                brace = partner[brace]
            index = brace + 1
        elif token == "extern" and text[index + 2 : index + 3] == ["{"]:
            yield from _parse_scope(tokens, index + 3, partner[index + 2], scope, in_record=False)
            index = partner[index + 2] + 1
        elif token == "extern" and tokens.at(index + 1)[:1] == '"':
            index += 2
        else:
            declaration = _parse_declaration(tokens, index, limit, scope, in_record)
            yield declaration
            index = declaration.last


def _parse_declaration(
    tokens: Tokens, index: int, limit: int, scope: tuple[str, ...], in_record: bool
) -> Declaration:
    head, template = _parse_template_header(tokens, index, limit)
    declaration = Declaration("other", index, limit, head, scope, in_record, template)
    if template is None and tokens.text[index] == "template":
        declaration.kind = "instantiation"
        declaration.head = index + 1
        declaration.last = _find_end(tokens, index, limit)
        declaration.attributes = find_attributes(tokens, index, declaration.last)
        return declaration
    stop = _find_head_end(tokens, head, limit)
    declaration.attributes = find_attributes(tokens, head, stop)
    first = _skip_specifiers(tokens, head, stop)
    word = tokens.text[first] if first < limit else ""
    if (
        word in _RECORD_KEYS
        and stop < limit
        and tokens.text[stop] == "{"
        and not _find_parameters(tokens, first, stop)
    ):
        _parse_record(tokens, declaration, first, stop, limit)
    elif word in _ALIAS_LIKE or tokens.text[head : head + 1] == ["typedef"]:
        declaration.kind = "alias"
        declaration.last = _find_end(tokens, stop, limit)
    else:
        _parse_function_or_variable(tokens, declaration, stop, limit)
    return declaration


def _parse_template_header(
    tokens: Tokens, index: int, limit: int
) -> tuple[int, list[Range] | None]:
    parameters: list[Range] | None = None
    while tokens.text[index : index + 2] == ["template", "<"]:
        close = find_closing_angle(tokens, index + 1, limit)
        if close < 0:
            break
        # In an out-of-class member template the last header is that of the function.
        parameters = list(tokens.split(index + 2, close))
        index = close + 1
    return index, parameters


def _find_end(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index after the next `;` outside of all brackets."""
    while index < limit:
        token = tokens.text[index]
        if token == ";":
            return index + 1
        if token in "([{" and tokens.partner[index] > index:
            index = tokens.partner[index]
        index += 1
    return limit


def _find_head_end(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index of the `;`, `=` or opening `{` that ends a declaration's head."""
    text, partner = tokens.text, tokens.partner
    initialisers = False
    while index < limit:
        token = text[index]
        if token == ";" or (token == "=" and text[index - 1] != "operator"):
            return index
        if token == ":" and text[index - 1] in (
            ")",
            "thread",
            "device",
            "threadgroup",
            "constant",
            "const",
        ):
            initialisers = True
        if token == "{" and not (
            initialisers and (is_name(text[index - 1]) or text[index - 1] == ">")
        ):
            return index
        if token in "([{" and partner[index] > index:
            index = partner[index]
        index += 1
    return limit


def _skip_specifiers(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index after attributes and specifiers that may precede a record."""
    while index < limit:
        if is_attribute_start(tokens, index):
            index = tokens.partner[index]
        elif tokens.text[index] not in _BEFORE_RECORD:
            return index
        index += 1
    return index


def _find_parameters(tokens: Tokens, index: int, limit: int) -> Range | None:
    """Return the parentheses around a function's parameters, None for other heads."""
    text, partner = tokens.text, tokens.partner
    while index < limit:
        if is_attribute_start(tokens, index):
            index = partner[index]
        elif text[index] == "<" and is_name(text[index - 1]) and text[index - 1] != "operator":
            index = max(index, find_closing_angle(tokens, index, limit))
        elif text[index] == "(":
            before = text[index - 1]
            call_operator = before == "operator" and text[index + 2 : index + 3] == ["("]
            if not call_operator and before not in _CALL_LIKE:
                return index, partner[index]
            index = partner[index]
        index += 1
    return None


def _parse_record(
    tokens: Tokens, declaration: Declaration, first: int, brace: int, limit: int
) -> None:
    declaration.kind = "record"
    declaration.body = (brace, tokens.partner[brace])
    index = first + 1
    while index < brace:
        if is_attribute_start(tokens, index) or tokens.text[index] == "(":
            index = tokens.partner[index]
        elif is_name(tokens.text[index]) and tokens.text[index] not in (
            "class",
            "struct",
            "alignas",
            "__attribute__",
        ):
            _set_name(tokens, declaration, index)
            break
        index += 1
    if declaration.name and tokens.text[index + 1] == "<":
        declaration.specialisation_arguments = (
            index + 2,
            find_closing_angle(tokens, index + 1, brace),
        )
    if tokens.text[first] != "enum":
        # Each specialisation of a template is a separate scope.
        inner = (*declaration.scope, f"{declaration.name}@{declaration.first}")
        members = _parse_scope(tokens, brace + 1, declaration.body[1], inner, in_record=True)
        declaration.members = list(members)
    declaration.last = _find_end(tokens, declaration.body[1], limit)


def _set_name(tokens: Tokens, declaration: Declaration, index: int) -> None:
    declaration.name = tokens.text[index]
    declaration.name_index = index


def _parse_function_or_variable(
    tokens: Tokens, declaration: Declaration, stop: int, limit: int
) -> None:
    parameters = _find_parameters(tokens, declaration.head, stop)
    if parameters is None:
        _parse_variable(tokens, declaration, stop, limit)
        return
    declaration.kind = "function"
    declaration.parameters = parameters
    index = parameters[0] - 1
    if tokens.text[index] == ">" and tokens.text[index - 1] != "operator":
        opened = find_opening_angle(tokens, index, declaration.head)
        if opened > 0:
            declaration.specialisation_arguments = (opened + 1, index)
            index = opened - 1
    operator = index
    while (
        operator > declaration.head and index - operator < 4 and tokens.text[operator] != "operator"
    ):
        operator -= 1
    if tokens.text[operator] == "operator":
        declaration.name = "".join(tokens.text[operator : index + 1])
        declaration.name_index = operator
    elif is_name(tokens.text[index]):
        _set_name(tokens, declaration, index)
    if stop < limit and tokens.text[stop] == "{":
        declaration.body = (stop, tokens.partner[stop])
        declaration.last = tokens.partner[stop] + 1
    else:
        declaration.last = _find_end(tokens, stop, limit)


def _parse_variable(tokens: Tokens, declaration: Declaration, stop: int, limit: int) -> None:
    declaration.kind = "variable"
    index = stop - 1
    while index > declaration.head and tokens.text[index] == "]":
        index = tokens.partner[index] - 1
    if tokens.text[index] == ">":
        opened = find_opening_angle(tokens, index, declaration.head)
        if opened > 0:
            declaration.specialisation_arguments = (opened + 1, index)
            index = opened - 1
    if index >= declaration.head and is_name(tokens.text[index]):
        _set_name(tokens, declaration, index)
    declaration.last = _find_end(tokens, stop, limit)
