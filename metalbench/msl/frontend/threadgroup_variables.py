"""Rewrite threadgroup variables to references into the threadgroup's arena.

Clang never sees the word `threadgroup`, so a variable whose declaration is not recognised would
silently become private to each thread. Therefore every mention of `threadgroup` and `device`, and
of every type alias that they qualify, must be one of:

- the pointee of a pointer or a reference, which needs no change; - the address space of a variable,
which is rewritten, or of a type alias, whose uses are examined; - a template argument or an operand
of `decltype`, which only clang can follow: address spaces then   stay in the source (spaces.py),
and clang refuses a variable that they qualify.

Anything else raises CompileError.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

from metalbench._core import CompileError
from metalbench.msl.frontend.address_spaces import SPACES, is_function_qualifier
from metalbench.msl.frontend.declarations import Declaration, is_attribute_start
from metalbench.msl.frontend.edits import Edits
from metalbench.msl.frontend.tokens import (
    Tokens,
    can_open_template_arguments,
    find_closing_angle,
    is_name,
)

_POINTER_OPERATORS = frozenset({"*", "&", "&&"})
_RECORD_WORDS = frozenset({"struct", "class", "union", "enum"})
_GNU_ATTRIBUTES = frozenset({"__attribute__", "__attribute"})
# Words whose parentheses are part of a declaration's specifiers.
_WITH_OPERAND = frozenset(
    {"alignas", "decltype", "typeof", "__typeof__", "__typeof", *_GNU_ATTRIBUTES}
)
_TYPES_OF = frozenset({"decltype", "typeof", "__typeof__", "__typeof"})
_SIZES = frozenset({"sizeof", "alignof", "__alignof__", "_Alignof", "alignas", *_TYPES_OF})
_STATEMENT_HEADS = frozenset({"for", "if", "while", "switch", "constexpr"})
_TYPE_QUALIFIERS = frozenset(
    {"const", "volatile", "restrict", "__restrict", "__restrict__", *SPACES}
)
_NOT_TYPES = frozenset(
    {"static", "typename", "inline", "METAL_FUNC", *_TYPE_QUALIFIERS, *_RECORD_WORDS}
)
_REFUSED = frozenset({"constexpr", "extern", "register", "mutable", "auto", "thread_local"})
_INTEGERS = frozenset({"unsigned", "signed", "char", "short", "int", "long"})
_STATEMENTS = frozenset({"return", "else", "do", "case", "new", "throw"})
_ADVICE = "write `threadgroup type name[size];` as a separate statement"


@dataclass
class _VariableDeclarator:
    """Tokens [first, last) of one declarator with its initialiser; `end` follows its array bounds.

    `name` is -1 if a parenthesis hides it. `spaces` are address spaces of the object itself.
    """

    first: int
    last: int
    end: int
    name: int
    has_operator: bool
    spaces: list[int] = field(default_factory=list)
    is_function: bool = False


@dataclass
class _VariableStatement:
    """A declaration in tokens [first, last); its specifiers end at `specified`."""

    first: int
    last: int
    specified: int
    declarators: list[_VariableDeclarator]


class ThreadgroupVariables:
    """All uses of address spaces in a source. Raise CompileError for an unrecognised one.

    `needs_spaces` tells that clang has to follow an address space through types.
    """

    def __init__(self, tokens: Tokens, unused: Sequence[Declaration] = ()) -> None:
        """Examine `tokens` except for the `unused` declarations, which will be removed."""
        self._tokens = tokens
        self._unused = sorted((each.first, each.last) for each in unused)
        self._find_enclosing_brackets = _find_enclosing_brackets(tokens)
        self._aliases: dict[str, str] = {}
        self._alias_names: set[int] = set()
        self._statements: dict[int, _VariableStatement] = {}
        self._variables: dict[int, list[_VariableDeclarator]] = {}
        self.needs_spaces = False
        waiting = [("threadgroup", "threadgroup"), ("device", "device")]
        while waiting:
            word, space = waiting.pop()
            for index in tokens.occurrences.get(word, ()):
                if not self._is_unused(index):
                    waiting += [(name, space) for name in self._recognise(index, space)]
        self._examine_types_of_variables()

    def rewrite(self, edits: Edits) -> None:
        """Rewrite `threadgroup float a[2][N], m;` to two MB_THREADGROUP (memory.h)."""
        for number, first in enumerate(sorted(self._variables), 1):
            _StatementRewriter(self._tokens, edits, number, self._statements[first]).rewrite(
                self._variables[first]
            )

    def _is_unused(self, index: int) -> bool:
        which = bisect_right(self._unused, (index, len(self._tokens))) - 1
        return which >= 0 and index < self._unused[which][1]

    def _recognise(self, index: int, space: str) -> Iterator[str]:
        """Recognise one mention of a space; yield the names of type aliases that it qualifies."""
        tokens = self._tokens
        is_alias = tokens.text[index] != space
        if is_alias and (tokens.text[index - 1] in (".", "->") or index in self._alias_names):
            return
        opening = self._find_enclosing_brackets[index]
        bracket = tokens.text[opening] if opening >= 0 else "{"
        if not is_alias and self._is_other_use(index, opening):
            return
        if bracket == "[":
            if not self._is_in_attribute(opening):
                self._fail(index, space)
        elif self._is_in_template_arguments(index, opening):
            self.needs_spaces |= not self._is_pointee(index)
        elif bracket == "(":
            self._check_in_parentheses(index, opening, space)
        else:
            yield from self._check_in_statement(index, opening, space)

    def _is_other_use(self, index: int, opening: int) -> bool:
        """Return whether a space qualifies a function's object, or is a scope of coherence."""
        tokens = self._tokens
        if tokens.text[index - 1 : index] == ["coherent"] and tokens.text[index] == "threadgroup":
            return False
        if opening > 0 and tokens.text[opening - 1] == "coherent":
            return True
        return is_function_qualifier(tokens, index)

    def _is_in_attribute(self, opening: int) -> bool:
        tokens = self._tokens
        outer = self._find_enclosing_brackets[opening]
        return is_attribute_start(tokens, opening) or (
            outer >= 0 and is_attribute_start(tokens, outer)
        )

    def _check_in_parentheses(self, index: int, opening: int, space: str) -> None:
        """Check a space in parameters, casts, and the heads of loops and branches."""
        tokens = self._tokens
        before = tokens.text[opening - 1] if opening else ""
        outer = self._find_enclosing_brackets[opening]
        if outer >= 0 and tokens.text[outer] == "[" and self._is_in_attribute(outer):
            return
        if before in _STATEMENT_HEADS:
            end = _find_first(tokens, opening + 1, tokens.partner[opening], (";", ":"))
            statement = _parse_declarators(tokens, opening + 1, end)
            if any(self._is_variable(each, index) for each in statement.declarators):
                self._fail(index, space)
            if index < statement.specified or any(
                index in each.spaces or each.first <= index < each.name
                for each in statement.declarators
            ):
                return
        if self._is_pointee(index) or before in _SIZES:
            return
        stop = _skip_specifier_list(tokens, index)
        if tokens.at(stop) != "[" or before in _STATEMENT_HEADS:
            self._fail(index, space)

    def _check_in_statement(self, index: int, opening: int, space: str) -> Iterator[str]:
        """Check a space in a statement; yield the names of type aliases that it qualifies."""
        tokens = self._tokens
        first = self._find_statement_start(index, opening)
        first = _skip_template_header(tokens, first, len(tokens))
        if tokens.text[first] == "using":
            if not self._is_pointee(index):
                yield self._add_alias(first + 1, index, space)
            return
        is_typedef = tokens.text[first] == "typedef"
        statement = self._parse_statement(first + is_typedef)
        named = [each for each in statement.declarators if self._is_variable(each, index)]
        if index >= statement.specified and not any(
            each.first <= index < (each.name if each.name >= 0 else each.last)
            for each in statement.declarators
        ):
            self._fail(index, space)
        if is_typedef:
            for each in named:
                if each.name < 0:
                    self._fail(index, space)
                yield self._add_alias(each.name, index, space)
            return
        if not named:
            return
        if (
            space == "device"
            or self._is_record(opening)
            or tokens.at(statement.last) != ";"
            or self._needs_block(first)
            or any(each.name < 0 or each.is_function for each in named)
            or not _REFUSED.isdisjoint(tokens.text[statement.first : statement.specified])
        ):
            self._fail(index, space)
        self._statements[statement.first] = statement
        kept = self._variables.setdefault(statement.first, [])
        kept += [each for each in named if each not in kept]

    def _is_variable(self, declarator: _VariableDeclarator, index: int) -> bool:
        """Return whether the space at `index` is that of the declared object itself."""
        if declarator.has_operator:
            return index in declarator.spaces
        # Without a pointer or a reference the specifiers qualify the object.
        return index < declarator.first or index in declarator.spaces or index < declarator.name

    def _add_alias(self, name: int, index: int, space: str) -> str:
        """Record that a type alias is qualified by a space."""
        tokens = self._tokens
        word = tokens.text[name]
        if not is_name(word) or self._aliases.setdefault(word, space) != space:
            self._fail(index, space)
        self._alias_names.add(name)
        return word

    def _examine_types_of_variables(self) -> None:
        """Set `needs_spaces` for `decltype(s)`, which has the address space of s."""
        tokens = self._tokens
        names = {tokens.text[each.name] for listed in self._variables.values() for each in listed}
        for word in _TYPES_OF.intersection(tokens.occurrences):
            for index in tokens.occurrences[word]:
                close = tokens.partner[index + 1] if tokens.at(index + 1) == "(" else -1
                if not names.isdisjoint(tokens.text[index + 1 : max(close, index + 1)]):
                    self.needs_spaces = True

    def _parse_statement(self, first: int) -> _VariableStatement:
        last = _find_first(self._tokens, first, len(self._tokens), (";", "}"))
        return self._statements.get(first) or _parse_declarators(self._tokens, first, last)

    def _find_statement_start(self, index: int, opening: int) -> int:
        """Return the first token of the statement that contains token `index`, in its block."""
        tokens = self._tokens
        at = index - 1
        while at > opening:
            token = tokens.text[at]
            if token == ";" or token in ("else", "do"):
                return at + 1
            if token == ":" and self._is_label(at, opening):
                return at + 1
            if token == "}":
                if not self._is_record(tokens.partner[at]):
                    return at + 1
                at = tokens.partner[at]
            elif token == ")" and tokens.partner[at] >= 0:
                at = tokens.partner[at]
                if tokens.text[at - 1] in _STATEMENT_HEADS:
                    return tokens.partner[at] + 1
            elif token == "]" and tokens.partner[at] >= 0:
                at = tokens.partner[at]
            at -= 1
        return opening + 1

    def _is_label(self, colon: int, opening: int) -> bool:
        """Return whether a `:` ends a label or an access specifier."""
        tokens = self._tokens
        if tokens.text[colon - 1] in ("default", "public", "private", "protected"):
            return True
        if is_name(tokens.text[colon - 1]) and tokens.text[colon - 2] in (";", "{", "}", ":"):
            return True
        at = colon - 1
        while at > opening and tokens.text[at] not in (";", "{", "}", "?"):
            if tokens.text[at] == "case":
                return True
            at -= 1
        return False

    def _needs_block(self, first: int) -> bool:
        """Return whether a statement is the whole body of a branch or a loop."""
        before = self._tokens.text[first - 1] if first else ""
        return before in ("else", "do", ")")

    def _is_record(self, brace: int) -> bool:
        """Return whether a `{` opens the members of a record."""
        tokens = self._tokens
        at = brace - 1
        while at >= 0 and tokens.text[at] not in (";", "{", "}"):
            if tokens.text[at] in _RECORD_WORDS:
                return True
            if tokens.text[at] == ")":
                at = tokens.partner[at] - 1
                if at < 0 or tokens.text[at] not in _WITH_OPERAND:
                    return False
            at -= 1
        return False

    def _is_in_template_arguments(self, index: int, opening: int) -> bool:
        """Return whether a token is between `<` and `>` of a template."""
        tokens = self._tokens
        limit = tokens.partner[opening] if opening >= 0 else len(tokens)
        at = index - 1
        while at > opening:
            token = tokens.text[at]
            if token in (";", "}", "{"):
                return False
            if token in ")]" and tokens.partner[at] >= 0:
                at = tokens.partner[at]
            elif (
                token == "<"
                and can_open_template_arguments(tokens.text[at - 1])
                and find_closing_angle(tokens, at, limit) > index
            ):
                return True
            at -= 1
        return False

    def _is_pointee(self, index: int) -> bool:
        """Return whether the space at `index` qualifies the pointee of a pointer or a reference."""
        tokens = self._tokens
        stop = _skip_specifier_list(tokens, index)
        while tokens.at(stop) == "[" and tokens.partner[stop] > 0 and tokens.text[index] != "[":
            # `T[4]&` is a possible spelling of an alias of an array.
            behind = tokens.partner[stop] + 1
            if tokens.at(behind) not in ("[", *_POINTER_OPERATORS):
                break
            stop = behind
        if tokens.at(stop) == "(":
            stop += 1
            while tokens.at(stop) in _TYPE_QUALIFIERS:
                stop += 1
        return tokens.at(stop) in _POINTER_OPERATORS

    def _fail(self, index: int, space: str) -> NoReturn:
        tokens = self._tokens
        word = tokens.text[index]
        what = f"`{word}`" if word == space else f"`{word}`, a type in {space} memory,"
        step = _ADVICE if space == "threadgroup" else "declare a `device` pointer or reference"
        raise CompileError(
            f"{tokens.locate_token(index)}: error: {what} is not supported in this place: expected "
            f"a pointer or a reference to {space} memory"
            f"{', or the declaration of a variable' if space == 'threadgroup' else ''}; {step}"
        )


@dataclass
class _StatementRewriter:
    """Rewrites one declaration to a type alias and MB_THREADGROUP for each variable."""

    tokens: Tokens
    edits: Edits
    number: int
    statement: _VariableStatement

    def rewrite(self, variables: list[_VariableDeclarator]) -> None:
        tokens, edits, statement = self.tokens, self.edits, self.statement
        common = self._extract_alignments(statement.first, statement.specified)
        for index in range(statement.first, statement.specified):
            if tokens.text[index] in ("threadgroup", "static") and not self._is_nested(index):
                edits.blank(tokens.start[index], tokens.end(index))
        start = tokens.start[statement.first]
        edits.insert(start, "typedef ")
        is_mixed = len(variables) < len(statement.declarators)
        base = f"mbB{self.number}"
        if is_mixed:
            # A pointer among the declarators is private to a thread: the specifiers become a type.
            edits.insert(tokens.start[statement.declarators[0].first], f"{base}; ")
        for each in statement.declarators:
            is_variable = each in variables
            if is_mixed:
                head = f"typedef {base} " if is_variable else f"MB_IN_THREADGROUP {base} "
                edits.insert(tokens.start[each.first], head)
                if each.last < statement.last:
                    edits.replace(tokens.start[each.last], tokens.end(each.last), ";")
            if is_variable:
                self._rewrite_variable(each, common, is_mixed=is_mixed)

    def _rewrite_variable(
        self, declarator: _VariableDeclarator, common: str, *, is_mixed: bool
    ) -> None:
        tokens, edits = self.tokens, self.edits
        name = tokens.text[declarator.name]
        alias = f"mbT{self.number}_{name}"
        edits.replace(tokens.start[declarator.name], tokens.end(declarator.name), alias)
        for index in declarator.spaces:
            edits.blank(tokens.start[index], tokens.end(index))
        alignment = common + self._extract_alignments(declarator.name + 1, declarator.end)
        # Metal accepts initialisers here, but threadgroup memory is not initialised.
        if declarator.end < declarator.last:
            edits.blank(tokens.start[declarator.end], tokens.end(declarator.last - 1))
        behind = declarator.last if is_mixed else self.statement.last
        edits.insert(tokens.end(behind), f" {alignment}MB_THREADGROUP({alias}, {name})")

    def _is_nested(self, index: int) -> bool:
        """Return whether a token is in brackets, in template arguments or in a record's members."""
        tokens, at = self.tokens, self.statement.first
        while at < index:
            if tokens.text[at] in "([{" and tokens.partner[at] > index:
                return True
            if tokens.text[at] == "<" and find_closing_angle(tokens, at, len(tokens)) > index:
                return True
            at += 1
        return False

    def _extract_alignments(self, first: int, last: int) -> str:
        """Remove alignments from tokens [first, last); return them for the variable itself."""
        tokens, edits, found = self.tokens, self.edits, ""
        index = first
        while index < last:
            word, close = tokens.text[index], tokens.partner[index]
            if word == "alignas" and tokens.at(index + 1) == "(":
                close = tokens.partner[index + 1]
                found += f"{tokens.join(index, close + 1)} "
                edits.blank(tokens.start[index], tokens.end(close))
                index = close
            elif word in _GNU_ATTRIBUTES and tokens.at(index + 2) == "(":
                close = tokens.partner[index + 1]
                found += self._extract_from_attributes(index + 3, close - 1)
                index = close
            elif is_attribute_start(tokens, index):
                taken = self._extract_from_attributes(index + 2, close - 1)
                if taken and taken.count("alignas") == len(
                    list(tokens.split(index + 2, close - 1))
                ):
                    # An empty list may not stand in front of the variable's own declaration.
                    edits.blank(tokens.start[index], tokens.end(index + 1))
                    edits.blank(tokens.start[close - 1], tokens.end(close))
                found += taken
                index = close
            elif word in "({" and close > index:
                index = close
            index += 1
        return found

    def _extract_from_attributes(self, first: int, last: int) -> str:
        """Remove alignments from a list of attributes; return them."""
        tokens, found = self.tokens, ""
        for begin, end in tokens.split(first, last):
            at = begin + 2 if tokens.at(begin + 1) == "::" else begin
            if tokens.text[at].strip("_") == "aligned":
                found += f"alignas{tokens.join(at + 1, end) or '(16)'} "
                self.edits.blank(tokens.start[begin], tokens.end(end - 1))
        return found


def _find_enclosing_brackets(tokens: Tokens) -> list[int]:
    """Return the innermost bracket that is open at each token, or -1."""
    found, stack = [], [-1]
    for index, partner in enumerate(tokens.partner):
        if 0 <= partner < index:
            stack.pop()
        found.append(stack[-1])
        if partner > index:
            stack.append(index)
    return found


def _skip_template_header(tokens: Tokens, first: int, last: int) -> int:
    """Return the index after the `template <...>` that a declaration begins with."""
    while tokens.text[first : first + 2] == ["template", "<"]:
        close = find_closing_angle(tokens, first + 1, last)
        if close < 0:
            break
        first = close + 1
    return first


def _parse_declarators(tokens: Tokens, first: int, last: int) -> _VariableStatement:
    """Split a declaration into its specifiers and declarators."""
    begin = _skip_template_header(tokens, first, last)
    stop = min(_skip_specifier_list(tokens, begin), last)
    specified = stop
    if tokens.at(stop) not in _POINTER_OPERATORS:
        # The last name is the declared name, unless a parenthesis hides it.
        at = _find_last_name(tokens, begin, stop)
        hidden = tokens.at(stop) == "(" and _count_names(tokens, begin, stop) < 2
        specified = stop if at < 0 or hidden else at
    declarators = [
        _parse_declarator(tokens, *found)
        for found in tokens.split(specified, last)
        if found[0] < last
    ]
    return _VariableStatement(first, last, specified, declarators)


def _iterate_specifiers(tokens: Tokens, first: int, last: int) -> Iterator[int]:
    """Yield specifiers outside of attributes, operands, template arguments and records."""
    index = first
    while index < last:
        yield index
        index = _skip_specifier(tokens, index)


def _count_names(tokens: Tokens, first: int, last: int) -> int:
    """Return the number of names: one is a type alone. `a::b` and `unsigned int` are one name."""
    count, before = 0, ""
    for index in _iterate_specifiers(tokens, first, last):
        word = tokens.text[index]
        is_type = is_name(word) and word not in _NOT_TYPES and word not in _WITH_OPERAND
        goes_on = tokens.text[index - 1] == "::" or (before in _INTEGERS and word in _INTEGERS)
        count += is_type and not goes_on
        before = word
    return count


def _find_last_name(tokens: Tokens, first: int, last: int) -> int:
    """Return the last name among specifiers that may be the declared name, or -1."""
    found = -1
    for index in _iterate_specifiers(tokens, first, last):
        word = tokens.text[index]
        if is_attribute_start(tokens, index) or word in _WITH_OPERAND:
            continue
        found = index if is_name(word) and word not in _NOT_TYPES else -1
    if found >= 0:
        return found
    # Attributes may follow the name.
    names = [
        index
        for index in _iterate_specifiers(tokens, first, last)
        if is_name(tokens.text[index])
        and tokens.text[index] not in _NOT_TYPES
        and tokens.text[index] not in _WITH_OPERAND
    ]
    return names[-1] if len(names) > 1 else -1


def _parse_declarator(tokens: Tokens, first: int, last: int) -> _VariableDeclarator:
    index, has_operator = first, False
    spaces: list[int] = []
    while index < last:
        word = tokens.text[index]
        if word in _POINTER_OPERATORS:
            has_operator, spaces = True, []
        elif word in _TYPE_QUALIFIERS:
            if word in SPACES:
                spaces.append(index)
        elif is_attribute_start(tokens, index) or word in _GNU_ATTRIBUTES or word == "alignas":
            index = _skip_specifier(tokens, index)
            continue
        else:
            break
        index += 1
    name = index if index < last and is_name(tokens.text[index]) else -1
    if name < 0:
        inner = index + 1
        hides = tokens.at(index) == "(" and tokens.at(inner) in _POINTER_OPERATORS
        return _VariableDeclarator(first, last, last, -1, has_operator or hides, spaces)
    end = name + 1
    while end < last and (
        tokens.text[end] == "["
        or tokens.text[end] in _GNU_ATTRIBUTES
        or tokens.text[end] == "alignas"
    ):
        end = _skip_specifier(tokens, end)
        if end <= last and tokens.text[end - 1] in _GNU_ATTRIBUTES:
            break
    is_function = tokens.at(end) == "(" or (end < last and tokens.text[end] not in ("=", "{"))
    return _VariableDeclarator(
        first, last, end, name, has_operator, spaces, is_function and end < last
    )


def _skip_specifier_list(tokens: Tokens, index: int) -> int:
    """Return the index after the names, attributes and template arguments that begin at `index`."""
    while index < len(tokens):
        word = tokens.text[index]
        following = _skip_specifier(tokens, index)
        if word in _STATEMENTS or not (is_name(word) or word == "::" or following > index + 1):
            break
        if word == "[" and not is_attribute_start(tokens, index):
            break
        index = following
    return index


def _skip_specifier(tokens: Tokens, index: int) -> int:
    """Return the index after one specifier.

    That is a name with its operand, an attribute, template arguments, or a record's members.
    """
    word = tokens.text[index]
    if (word in _WITH_OPERAND and tokens.at(index + 1) == "(") or word in _RECORD_WORDS:
        if word not in _RECORD_WORDS:
            return tokens.partner[index + 1] + 1
        brace = index + 1
        while tokens.at(brace) in _WITH_OPERAND or _has_attribute_at(tokens, brace):
            brace = _skip_specifier(tokens, brace)
        brace += is_name(tokens.at(brace))
        if tokens.at(brace) == "{" and tokens.partner[brace] > 0:
            return tokens.partner[brace] + 1
    elif word == "[" and tokens.partner[index] > index:
        return tokens.partner[index] + 1
    elif word == "<" and index and can_open_template_arguments(tokens.text[index - 1]):
        close = find_closing_angle(tokens, index, len(tokens))
        return close + 1 if close > 0 else index + 1
    return index + 1


def _has_attribute_at(tokens: Tokens, index: int) -> bool:
    """Return whether token `index` exists and is the first `[` of `[[...]]`."""
    return index < len(tokens) and is_attribute_start(tokens, index)


def _find_first(tokens: Tokens, index: int, last: int, ends: tuple[str, ...]) -> int:
    """Return the index of the first of `ends` outside of all brackets, or `last`."""
    while index < last and tokens.text[index] not in ends:
        if tokens.text[index] in "([{" and tokens.partner[index] > index:
            index = tokens.partner[index]
        index += 1
    return min(index, last)
