"""Find conversions between address spaces, which Metal's compiler refuses.

MSL 4: "A pointer to one address space cannot be converted to a pointer to another". Clang does not
see the address spaces, so the types of simple expressions are derived from the tokens. All
declarations of a name in a function have to agree; otherwise the name is not examined. An
expression of another form, and a type that depends on a template parameter, are not examined.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from metalbench.msl.frontend.declarations import (
    Declaration,
    iterate_declarations,
    skip_attributes,
)
from metalbench.msl.frontend.reflection import ADDRESS_SPACES
from metalbench.msl.frontend.source import Source
from metalbench.msl.frontend.tokens import Tokens, find_closing_angle, is_name
from metalbench.msl.frontend.violations import Violation

_SPACES = ADDRESS_SPACES
_OTHER_SPACES = frozenset({"threadgroup_imageblock", "ray_data", "object_data"})
_QUALIFIERS = frozenset({"const", "volatile", "restrict", "__restrict", "coherent", "constexpr"})
_STORAGE = frozenset({"static", "inline", "METAL_FUNC", "extern", "typename"})
# Names that precede an expression, not a declared name.
_BEFORE_EXPRESSION = frozenset(
    {"return", "case", "else", "do", "goto", "sizeof", "and", "or", "not", "co_return", "delete"}
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT_TYPES = _BEFORE_EXPRESSION | {"auto", "decltype", "using", "typedef", "template", "throw"}
_NAMED_CASTS = frozenset({"static_cast", "reinterpret_cast"})


@dataclass(frozen=True)
class _Type:
    """The type of an object in an address space, of a pointer to one, or of an array of them.

    `name` is the type of the object, `dimensions` the number of array bounds.
    """

    space: str
    name: str
    is_pointer: bool = False
    is_const: bool = False
    dimensions: int = 0

    def spell(self) -> str:
        """Return the type as Metal's compiler writes it; an array as a pointer."""
        const = "const " if self.is_const or self.space == "constant" else ""
        pointer = " *" if self.is_pointer or self.dimensions else ""
        return f"{const}{self.space} {self.name}{pointer}"


@dataclass(frozen=True)
class _Value:
    """An expression: its type, and whether it names an object."""

    type: _Type
    is_lvalue: bool

    @property
    def is_pointer(self) -> bool:
        """Whether the value is a pointer to one object, or an array that becomes one."""
        return self.type.is_pointer or self.type.dimensions == 1


@dataclass(frozen=True)
class _Parameter:
    """A parameter of a function: its type if it is known, and whether it is a reference."""

    type: _Type | None
    is_reference: bool
    has_default: bool


@dataclass(frozen=True)
class _Function:
    """The parameters of a function; `is_open` if there may be more."""

    parameters: tuple[_Parameter, ...]
    is_open: bool


def find_space_conversions(source: Source) -> Iterator[Violation]:
    """Yield initialisations, assignments, calls, casts and returns that convert address spaces.

    The messages are recorded ones of Apple's compiler, except those of references, which are
    clang's.
    """
    if len(_SPACES.intersection(source.tokens.occurrences)) < 2:
        return
    declared = list(iterate_declarations(source.declarations))
    functions = _find_functions(source, declared)
    for declaration in declared:
        if declaration.kind == "function" and declaration.body:
            yield from _FunctionBody(source, declaration, functions).check()


def _find_functions(source: Source, declared: list[Declaration]) -> dict[str, list[_Function]]:
    """Return the parameters of all functions by name, without the names that members have, too."""
    found: dict[str, list[_Function]] = {}
    others: set[str] = set()
    for declaration in declared:
        if declaration.kind != "function" or declaration.in_record or not declaration.parameters:
            others.add(declaration.name)
            continue
        opening, closing = declaration.parameters
        ranges = list(source.tokens.split(opening + 1, closing))
        unknown = _list_template_names(source.tokens, declaration)
        function = _Function(
            tuple(_parse_parameter(source, *each, unknown) for each in ranges),
            "..." in source.tokens.text[opening:closing],
        )
        found.setdefault(declaration.name, []).append(function)
    return {name: each for name, each in found.items() if name not in others}


def _list_template_names(tokens: Tokens, declaration: Declaration) -> frozenset[str]:
    """Return all words of a template's header: among them are the names of its parameters."""
    ranges = declaration.template or ()
    return frozenset(word for first, last in ranges for word in tokens.text[first:last])


def _parse_parameter(source: Source, first: int, last: int, unknown: frozenset[str]) -> _Parameter:
    words = source.tokens.text[first:last]
    found = _parse_declarator(source, first, last, unknown)
    has_default = "=" in words
    if found is None:
        return _Parameter(None, is_reference=False, has_default=has_default)
    _, kind, is_reference = found
    if kind.dimensions:  # `device float a[4]` is a pointer
        kind = replace(kind, is_pointer=True, dimensions=kind.dimensions - 1)
    is_known = "*" in words or "&" in words or "[" in words
    return _Parameter(kind if is_known else None, is_reference, has_default)


def _parse_declarator(
    source: Source, first: int, last: int, unknown: frozenset[str]
) -> tuple[int, _Type, bool] | None:
    """Return the name's token (or -1), type and whether it is a reference; None if not known.

    Tokens [first, last) are one declarator with its specifiers. `unknown` are words whose types
    are not known. A variable without an address space is in `thread`.
    """
    atoms = _list_atoms(source.tokens, first, last)
    dimensions = sum(text == "[" for _, text in atoms)
    atoms = atoms[: len(atoms) - dimensions]
    texts = [text for _, text in atoms]
    operators = [place for place, text in enumerate(texts) if text in ("*", "&")]
    cut = operators[0] if operators else len(texts) - 1
    behind = [each for each in atoms[cut + len(operators) :] if each[1] not in _QUALIFIERS]
    specifiers = texts[: max(cut, 0)]
    spaces = _SPACES.intersection(specifiers)
    words = [word for word in specifiers if word not in _SPACES | _QUALIFIERS | _STORAGE]
    names = [index for index, text in behind if is_name(text) and text not in _SPACES]
    is_plain = (
        len(operators) <= 1
        and len(spaces) == (1 if operators else len(spaces) and 1)
        and len(names) == len(behind) <= 1
        and (bool(names) or (bool(operators) and not dimensions))
        and not (operators and dimensions)
        and bool(words)
        and words[-1] != "::"
    )
    # In `device T*`, T is a type without an address space.
    if not is_plain or not all(
        _is_known(source, word, frozenset() if spaces else unknown) for word in words
    ):
        return None
    kind = _Type(
        min(spaces, default="thread"),
        _spell_name(words),
        is_pointer="*" in texts,
        is_const="const" in specifiers,
        dimensions=dimensions,
    )
    return (names or [-1])[0], kind, "&" in texts


def _list_atoms(tokens: Tokens, first: int, last: int) -> list[tuple[int, str]]:
    """Return the tokens before an initialiser, with template arguments as one, bounds as `[`."""
    atoms: list[tuple[int, str]] = []
    skipped = first
    for index in skip_attributes(tokens, first, last):
        text = tokens.text[index]
        if index < skipped:
            continue
        if text in ("=", "{"):
            break
        if text == "<":
            close = find_closing_angle(tokens, index, last)
            skipped = max(close, index) + 1
            text = tokens.join(index, skipped)
        elif text == "[":
            skipped = tokens.partner[index] + 1
        atoms.append((index, text))
    return atoms


def _is_known(source: Source, word: str, unknown: frozenset[str]) -> bool:
    """Return whether a part of a type's name says all of the type."""
    if word[0] == "<":
        return unknown.isdisjoint(_WORD.findall(word))
    meant = source.aliases.get(word, "").split()
    is_type = (is_name(word) or word == "::") and word not in _NOT_TYPES
    return is_type and word not in unknown and (_SPACES | _OTHER_SPACES).isdisjoint([word, *meant])


def _spell_name(words: list[str]) -> str:
    """Return a type without `metal::`."""
    text = ""
    for word in words:
        separated = text and word[0] != "<" and word != "::" and not text.endswith("::")
        text += f" {word}" if separated else word
    return text.removeprefix("metal::")


class _FunctionBody:
    """The names, statements and calls of one function."""

    def __init__(
        self, source: Source, declaration: Declaration, functions: dict[str, list[_Function]]
    ) -> None:
        self._source = source
        self._tokens = source.tokens
        self._functions = functions
        self._declaration = declaration
        assert declaration.parameters is not None
        assert declaration.body is not None
        self._opening, self._closing = declaration.body
        self._unknown = _list_template_names(self._tokens, declaration)
        self._names: dict[str, _Type | None] = {}
        # Statements `SPACE T* name = value`: the declared type and the tokens of the value.
        self._initialised: list[tuple[int, _Type, bool, int, int]] = []
        for first, last in self._tokens.split(
            declaration.parameters[0] + 1, declaration.parameters[1]
        ):
            self._add_parameter(first, last)
        self._add_variables()

    def _add_parameter(self, first: int, last: int) -> None:
        found = _parse_declarator(self._source, first, last, self._unknown)
        if found is not None:
            name, kind, _ = found
            if kind.dimensions:
                kind = replace(kind, is_pointer=True, dimensions=kind.dimensions - 1)
                found = None if kind.dimensions else (name, kind, False)
        if found is None:
            for word in self._tokens.text[first:last]:
                if is_name(word):
                    self._add(word, None)
        elif found[0] >= 0:
            self._add(self._tokens.text[found[0]], found[1])

    def _add(self, name: str, kind: _Type | None) -> None:
        """Add a declaration; two that differ make the name unknown."""
        if name in self._names and self._names[name] != kind:
            kind = None
        self._names[name] = kind

    def _add_variables(self) -> None:
        """Add the variables of the body. A declaration of another form makes its name unknown."""
        tokens = self._tokens
        understood: set[int] = set()
        for first, last in self._list_statements():
            ranges = list(tokens.split(first, last))
            if not ranges:
                continue
            found = _parse_declarator(self._source, *ranges[0], self._unknown)
            if found is None or found[0] < 0:
                continue
            name, kind, is_reference = found
            following = tokens.at(name + 1)
            if following not in ("=", "{", "[") and name + 1 != ranges[0][1]:
                continue
            understood.add(name)
            self._add(tokens.text[name], kind)
            if following == "=" and (kind.is_pointer or is_reference):
                self._initialised.append((name, kind, is_reference, name + 2, ranges[0][1]))
            for begin, _ in ranges[1:]:
                # Further declarators are examined only where they are plain names.
                if is_name(tokens.text[begin]) and not kind.is_pointer and not is_reference:
                    bounds = int(tokens.at(begin + 1) == "[")
                    understood.add(begin)
                    self._add(
                        tokens.text[begin],
                        None if bounds != kind.dimensions or bounds > 1 else kind,
                    )
                elif is_name(tokens.text[begin]) or is_name(tokens.at(begin + 1)):
                    self._add(tokens.text[begin], None)
                    self._add(tokens.at(begin + 1), None)
        for index in range(self._opening + 1, self._closing):
            text = tokens.text[index]
            if index in understood or not is_name(text):
                continue
            before = tokens.text[index - 1]
            is_declared = (
                (is_name(before) and before not in _BEFORE_EXPRESSION)
                or before == ">"
                or (before in ("*", "&", "&&") and self._follows_type(index - 1))
            )
            if is_declared and text in self._names:
                self._names[text] = None

    def _follows_type(self, index: int) -> bool:
        """Return whether `*` or `&` at `index` may belong to a declared type."""
        before = self._tokens.text[index - 1]
        return is_name(before) or before in (">", "*", "&")

    def _list_statements(self) -> Iterator[tuple[int, int]]:
        """Yield the token ranges between `;`, `{`, `}` and in the heads of `for`."""
        tokens = self._tokens
        first = index = self._opening + 1
        while index < self._closing:
            text = tokens.text[index]
            if text == "(" and tokens.text[index - 1] != "for":
                index = tokens.partner[index]
            elif text == "(":
                first = index + 1
            elif text in (";", "{", "}"):
                if text == "{" and index > first and self._is_initialiser(index):
                    index = tokens.partner[index]
                    continue
                if index > first:
                    yield first, index
                first = index + 1
            elif text == ":" and tokens.text[first] in ("case", "default"):
                first = index + 1
            index += 1

    def _is_initialiser(self, index: int) -> bool:
        before = self._tokens.text[index - 1]
        return before in ("=", "]", ",") or (is_name(before) and before not in ("else", "do"))

    def check(self) -> Iterator[Violation]:
        """Yield the conversions of the function."""
        for name, kind, is_reference, first, last in self._initialised:
            value = self._evaluate(first, last)
            if is_reference:
                yield from self._check_reference(name, kind, value)
            elif value and value.is_pointer and value.type.space != kind.space:
                message = f"cannot initialize a variable of type '{kind.spell()}' with"
                yield self._refuse_initialiser(name, message, kind, value)
        tokens = self._tokens
        for index in range(self._opening + 1, self._closing):
            text, following = tokens.text[index], tokens.at(index + 1)
            if text == "(":
                yield from self._check_cast(index)
            elif following == "<" and text in _NAMED_CASTS:
                yield from self._check_named_cast(index)
            elif text == "=" and tokens.text[index - 2] in (";", "{", "}"):
                yield from self._check_assignment(index)
            elif text == "return":
                yield from self._check_return(index)
            elif following in ("(", "<") and text in self._functions and text not in self._names:
                yield from self._check_call(index)

    def _check_reference(self, name: int, kind: _Type, value: _Value | None) -> Iterator[Violation]:
        """Check `SPACE T& name = value`."""
        if value and _cannot_bind(kind, value):
            yield Violation(name, _explain_binding(kind, value.type), _advise(kind, value.type))

    def _check_assignment(self, index: int) -> Iterator[Violation]:
        tokens = self._tokens
        kind = self._names.get(tokens.text[index - 1])
        if kind is None or not kind.is_pointer:
            return
        last = index + 1
        while last < self._closing and tokens.text[last] not in (";", ","):
            last = max(last, tokens.partner[last]) + 1
        value = self._evaluate(index + 1, last)
        if value and value.is_pointer and value.type.space != kind.space:
            yield Violation(
                index,
                f"assigning to '{kind.spell()}' from incompatible type '{value.type.spell()}'",
                _advise(kind, value.type),
            )

    def _check_return(self, index: int) -> Iterator[Violation]:
        declaration, tokens = self._declaration, self._tokens
        result = _parse_declarator(
            self._source, declaration.head, declaration.name_index, self._unknown
        )
        if result is None or not result[1].is_pointer:
            return
        last = index + 1
        while last < self._closing and tokens.text[last] != ";":
            last = max(last, tokens.partner[last]) + 1
        value = self._evaluate(index + 1, last)
        if value and value.is_pointer and value.type.space != result[1].space:
            message = f"cannot initialize return object of type '{result[1].spell()}' with"
            yield self._refuse_initialiser(index + 1, message, result[1], value)

    @staticmethod
    def _refuse_initialiser(index: int, message: str, kind: _Type, value: _Value) -> Violation:
        category = "lvalue" if value.is_lvalue else "rvalue"
        return Violation(
            index,
            f"{message} an {category} of type '{value.type.spell()}'",
            _advise(kind, value.type),
        )

    def _check_cast(self, opening: int) -> Iterator[Violation]:
        """Check `(SPACE T*)value`."""
        closing = self._tokens.partner[opening]
        kind = self._parse_cast(opening + 1, closing)
        if kind is None:
            return
        value = self._evaluate_unary(closing + 1)
        if value and value[0].is_pointer and value[0].type.space != kind.space:
            given = value[0].type
            yield Violation(
                opening,
                f"C-style cast from '{given.spell()}' to '{kind.spell()}' converts between "
                "mismatching address spaces",
                _advise(kind, given),
            )

    def _check_named_cast(self, index: int) -> Iterator[Violation]:
        tokens = self._tokens
        close = find_closing_angle(tokens, index + 1, self._closing)
        if close < 0 or tokens.at(close + 1) != "(":
            return
        kind = self._parse_cast(index + 2, close)
        value = self._evaluate(close + 2, tokens.partner[close + 1])
        if kind and value and value.is_pointer and value.type.space != kind.space:
            yield Violation(
                index,
                f"{tokens.text[index]} from '{value.type.spell()}' to '{kind.spell()}' is not "
                "allowed",
                _advise(kind, value.type),
            )

    def _parse_cast(self, first: int, last: int) -> _Type | None:
        """Return the pointer type that tokens [first, last) name, None if they do not."""
        words = self._tokens.text[first:last]
        if not words or words[-1] != "*" or _SPACES.isdisjoint(words):
            return None
        found = _parse_declarator(self._source, first, last, self._unknown)
        return found[1] if found else None

    def _check_call(self, index: int) -> Iterator[Violation]:
        """Check a call of a function of the source, if each overload has a wrong address space."""
        tokens = self._tokens
        before = tokens.text[index - 1]
        if before in (".", "->") or (is_name(before) and before not in _BEFORE_EXPRESSION):
            return
        opening = index + 1
        if tokens.text[opening] == "<":
            opening = find_closing_angle(tokens, opening, self._closing) + 1
            if opening <= 0 or tokens.at(opening) != "(":
                return
        values = [
            self._evaluate(*each) for each in tokens.split(opening + 1, tokens.partner[opening])
        ]
        causes = []
        for function in self._functions[tokens.text[index]]:
            least = sum(not each.has_default for each in function.parameters)
            if function.is_open or not least <= len(values) <= len(function.parameters):
                # Another number of arguments is clang's to report, a pack is not examined.
                if function.is_open:
                    return
                continue
            cause = _find_mismatch(function, values)
            if cause is None:
                return
            causes.append(cause)
        if causes:
            place, given, wanted = causes[0]
            yield Violation(
                index,
                f"no matching function for call to '{tokens.text[index]}'",
                f"address space mismatch in argument {place + 1} ('{given.spell()}'), parameter "
                f"type must be '{wanted}': add an overload, or a template of the pointer's type",
            )

    def _evaluate(self, first: int, last: int) -> _Value | None:
        """Return the value of the expression in tokens [first, last), None if it is not known."""
        found = self._evaluate_unary(first)
        if found is None:
            return None
        value, index = found
        if index == last:
            return value
        if self._tokens.text[index] != "+" or not value.is_pointer:
            return None
        # Of a sum with a pointer only the kind of the other operands is unknown: no operator may
        # follow that binds less than `+`.
        while index < last:
            text = self._tokens.text[index]
            if text in ("?", ":", "<", ">", "==", "!=", "<=", ">=", "&&", "||", "=", ",", "-"):
                return None
            index = max(index, self._tokens.partner[index]) + 1
        kind = replace(value.type, is_pointer=True, dimensions=0)
        return _Value(kind, is_lvalue=False)

    def _evaluate_unary(self, first: int) -> tuple[_Value, int] | None:
        """Return the value of a unary expression and the index after it, None if not known."""
        tokens, text = self._tokens, self._tokens.at(first)
        if text in ("&", "*"):
            return self._evaluate_operator(first)
        if text == "(":
            closing = tokens.partner[first]
            if (kind := self._parse_cast(first + 1, closing)) is not None:
                found = self._evaluate_unary(closing + 1)
                # What is cast does not matter, but where it ends does.
                return (_Value(kind, is_lvalue=False), found[1]) if found else None
            return self._evaluate_postfix(self._evaluate(first + 1, closing), closing + 1)
        if text in _NAMED_CASTS and tokens.at(first + 1) == "<":
            close = find_closing_angle(tokens, first + 1, self._closing)
            kind = self._parse_cast(first + 2, close)
            end = tokens.partner[close + 1] + 1
            return self._evaluate_postfix(_Value(kind, is_lvalue=False) if kind else None, end)
        kind = self._names.get(text) if tokens.at(first + 1) not in ("(", "::", "<") else None
        value = _Value(kind, is_lvalue=True) if kind else None
        return self._evaluate_postfix(value, first + 1)

    def _evaluate_operator(self, first: int) -> tuple[_Value, int] | None:
        """Return the value of `*operand` or `&operand`, as `_evaluate_unary`."""
        found = self._evaluate_unary(first + 1)
        if found is None:
            return None
        value, index = found
        if self._tokens.text[first] == "*":
            kind = _dereference(value.type)
            return (_Value(kind, is_lvalue=True), index) if kind else None
        if not value.is_lvalue or value.type.is_pointer or value.type.dimensions:
            return None
        return _Value(replace(value.type, is_pointer=True), is_lvalue=False), index

    def _evaluate_postfix(self, value: _Value | None, index: int) -> tuple[_Value, int] | None:
        """Return the value behind subscripts. Members are not examined: they may be pointers."""
        tokens = self._tokens
        while value and tokens.at(index) == "[":
            kind = _dereference(value.type)
            if kind is None:
                return None
            value = _Value(kind, is_lvalue=True)
            index = tokens.partner[index] + 1
        is_last = tokens.at(index) not in (".", "->", "(", "{", "++", "--", "::")
        return (value, index) if value and is_last else None


def _dereference(kind: _Type) -> _Type | None:
    """Return the type of an element or of a pointer's object, None for an object."""
    if kind.dimensions:
        return replace(kind, dimensions=kind.dimensions - 1)
    return replace(kind, is_pointer=False) if kind.is_pointer else None


def _find_mismatch(
    function: _Function, values: list[_Value | None]
) -> tuple[int, _Type, str] | None:
    """Return the first argument in a wrong address space: place, its type, the wanted type."""
    for place, (parameter, value) in enumerate(zip(function.parameters, values, strict=False)):
        wanted = parameter.type
        if wanted is None or value is None or wanted.space == value.type.space:
            continue
        if wanted.is_pointer and value.is_pointer:
            return place, value.type, wanted.spell()
        if parameter.is_reference and _cannot_bind(wanted, value):
            return place, value.type, f"{wanted.spell()} &"
    return None


def _cannot_bind(kind: _Type, value: _Value) -> bool:
    """Return whether a reference to an object of this type cannot bind to a value.

    A reference to a constant object in `thread` binds to a copy of the value.
    """
    if not value.is_lvalue or value.type.is_pointer or value.type.dimensions:
        return False
    return value.type.space != kind.space and not (kind.is_const and kind.space == "thread")


def _explain_binding(kind: _Type, given: _Type) -> str:
    if kind.is_const or kind.space == "constant":
        return (
            f"reference of type '{kind.spell()} &' cannot bind to a temporary object because of "
            "address space mismatch"
        )
    return (
        f"binding reference of type '{kind.spell()}' to value of type '{given.spell()}' changes "
        "address space"
    )


def _advise(wanted: _Type, given: _Type) -> str:
    """Return what to do about a conversion."""
    return f"use a pointer to `{given.space}` memory, or copy the values to `{wanted.space}` memory"
