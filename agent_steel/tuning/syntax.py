"""Read kernel functions as trees of statements, for transformations that need more than patterns.

The subset is what plain kernels have: declarations, assignments, `for`, `if` and an early `return`.
Whatever else occurs makes `read_function` return None, so that nothing is transformed by guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from metalbench.kernel.header import Dispatch, Kernel
from metalbench.msl.frontend.tokens import Tokens, is_name, lex, split_source

Words = tuple[str, ...]

ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})
_QUALIFIERS = frozenset({"const", "constexpr", "thread"})
_SPACES = frozenset({"device", "constant", "threadgroup"})
_REFUSED = frozenset({"while", "do", "switch", "case", "goto", "break", "continue", "else", "asm"})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
# Conversions that keep the value of an index.
_INDEX_TYPES = frozenset({"uint", "int", "ulong", "long", "size_t"})


@dataclass(frozen=True)
class LocalVariable:
    """A local variable. `pointee` is the address space of a pointer's target, else empty.

    `extent` is the number of elements of an array, empty for others.
    """

    type: str
    name: str
    value: Words = ()
    pointee: str = ""
    space: str = ""
    extent: Words = ()


@dataclass(frozen=True)
class Assignment:
    """An assignment to a variable or an element; `x++` is `x += 1`."""

    target: Words
    operator: str
    value: Words


@dataclass(frozen=True)
class CallStatement:
    """A statement that is a call, such as a barrier."""

    words: Words


@dataclass(frozen=True)
class ForLoop:
    """A `for` loop."""

    start: LocalVariable
    test: Words
    step: Assignment
    body: tuple[Statement, ...]


@dataclass(frozen=True)
class Branch:
    """An `if` with what is done otherwise."""

    test: Words
    then: tuple[Statement, ...]
    other: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Return:
    """The end of the thread's work."""


Statement = LocalVariable | Assignment | CallStatement | ForLoop | Branch | Return


class NotPlainError(Exception):
    """The text has something that is not in the subset."""


@dataclass(frozen=True)
class FunctionParameter:
    """A parameter. `element` is the type behind a pointer or a reference."""

    text: str
    name: str
    attribute: str
    element: str
    is_pointer: bool
    is_const: bool


@dataclass(frozen=True)
class KernelFunction:
    """A kernel function: what it takes and does, and where it stands in the source.

    `text` is all of it, `head` what precedes its body.
    """

    name: str
    parameters: tuple[FunctionParameter, ...]
    body: tuple[Statement, ...]
    begin: int
    end: int
    text: str = field(default="", compare=False)
    head: str = field(default="", compare=False)

    @property
    def buffers(self) -> Mapping[str, FunctionParameter]:
        """The pointers to device memory by name."""
        return {
            each.name: each
            for each in self.parameters
            if each.is_pointer and each.text.split()[0] in ("device", "const", "constant")
        }

    def with_body(self, source: str, body: Iterable[Statement]) -> str:
        """Return the source with another body of the function."""
        text = f"{self.head}{{\n{write_statements(body, '  ')}}}"
        return source[: self.begin] + text + source[self.end :]

    def find_parameter(self, attribute: str) -> FunctionParameter | None:
        """Return the parameter with this attribute."""
        return next((each for each in self.parameters if each.attribute == attribute), None)


def blank_comments(source: str) -> str:
    """Return the source with blanks in place of its comments; offsets stay."""
    return "".join(
        re.sub(r"[^\n]", " ", part) if part.startswith(("//", "/*")) else part
        for part in split_source(source)
    )


def read_function(kernel: Kernel, dispatch: Dispatch) -> KernelFunction | None:
    """Read the kernel function of a dispatch; None if it is not plain."""
    code = blank_comments(kernel.source)
    tokens = lex(code)
    if not tokens.is_balanced:
        return None
    place = _find_kernel(tokens, dispatch.function)
    if place is None:
        return None
    first, opening = place
    closing = tokens.partner[opening]
    if tokens.at(closing + 1) != "{":
        return None
    last = tokens.partner[closing + 1]
    begin, end = tokens.start[first], tokens.end(last)
    # Directives, such as conditions, are not tokens.
    if re.search(r"^[ \t]*#(?![ \t]*pragma)", code[begin:end], re.M):
        return None
    try:
        parameters = tuple(
            _read_parameter(tokens, at, to) for at, to in tokens.split(opening + 1, closing)
        )
        body = _StatementReader(_join_shifts(tokens, closing + 2, last)).statements()
        body = _inline_indices(_resolve_pointers(body))
        _expect_no_hiding(body, {each.name for each in parameters})
    except NotPlainError:
        return None
    return KernelFunction(
        *(dispatch.function, parameters, body, begin, end),
        text=kernel.source[begin:end],
        head=kernel.source[begin : tokens.start[closing + 1]],
    )


def _find_kernel(tokens: Tokens, function: str) -> tuple[int, int] | None:
    """Return the first token of a kernel function and its opening parenthesis."""
    for index in tokens.occurrences.get(function, []):
        if tokens.at(index + 1) != "(" or tokens.at(index - 1) != "void":
            continue
        if tokens.at(index - 2) == "kernel":
            return index - 2, index + 1
        if tokens.at(index - 2) == "]" and tokens.partner[index - 2] >= 0:
            first = tokens.partner[index - 2]
            if "kernel" in tokens.text[first : index - 2]:
                return first, index + 1
    return None


def _read_parameter(tokens: Tokens, first: int, last: int) -> FunctionParameter:
    end = next(
        (i for i in range(first, last) if tokens.text[i] == "[" and tokens.at(i + 1) == "["), last
    )
    words = tokens.text[first:end]
    name = words[-1]
    attribute = "".join(tokens.text[end + 2 : last - 2]) if end < last else ""
    kind = [each for each in words[:-1] if each not in (*_SPACES, "const", "*", "&", "restrict")]
    return FunctionParameter(
        text=tokens.join(first, end),
        name=name,
        attribute=attribute,
        element="".join(kind),
        is_pointer="*" in words,
        is_const="const" in words or "constant" in words,
    )


def _join_shifts(tokens: Tokens, first: int, last: int) -> list[str]:
    words: list[str] = []
    for index in range(first, last):
        text = tokens.text[index]
        if words and words[-1] == ">" and text in (">", ">=") and tokens.is_adjacent(index - 1):
            words[-1] += text
        else:
            words.append(text)
    return words


class _StatementReader:
    """Reads statements from words."""

    def __init__(self, words: Sequence[str]) -> None:
        self._words = words
        self._at = 0

    def statements(self, until: str = "") -> tuple[Statement, ...]:
        found: list[Statement] = []
        while self._at < len(self._words) and self._words[self._at] != until:
            found.extend(self._statement())
        return tuple(found)

    def _peek(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _take(self, expected: str = "") -> str:
        word = self._peek()
        if not word or (expected and word != expected):
            raise NotPlainError
        self._at += 1
        return word

    def _statement(self) -> Iterator[Statement]:
        word = self._peek()
        if word == ";":
            self._take()
        elif word == "{":
            # Names of a block may hide others.
            raise NotPlainError
        elif word == "for":
            yield self._loop()
        elif word == "if":
            yield self._branch()
        elif word == "return":
            self._take()
            self._take(";")
            yield Return()
        elif word in _REFUSED:
            raise NotPlainError
        else:
            yield from read_simple(self._until(";"))

    def _until(self, end: str) -> Words:
        first, depth = self._at, 0
        while True:
            word = self._take()
            depth += (word in _OPENING) - (word in _CLOSING)
            if (depth == 0 and word == end) or depth < 0:
                if word != end:
                    raise NotPlainError
                return tuple(self._words[first : self._at - 1])

    def _body(self) -> tuple[Statement, ...]:
        if self._peek() != "{":
            return tuple(self._statement())
        self._take()
        found = self.statements("}")
        self._take("}")
        return found

    def _in_parentheses(self) -> Words:
        self._take("(")
        first, depth = self._at, 1
        while depth:
            word = self._take()
            depth += (word in _OPENING) - (word in _CLOSING)
        return tuple(self._words[first : self._at - 1])

    def _loop(self) -> ForLoop:
        self._take("for")
        head = split_words(self._in_parentheses(), ";", keep_empty=True)
        if len(head) != 3:
            raise NotPlainError
        start, step = list(read_simple(head[0])), list(read_simple(head[2]))
        if len(start) != 1 or not isinstance(start[0], LocalVariable) or len(step) != 1:
            raise NotPlainError
        if not isinstance(step[0], Assignment):
            raise NotPlainError
        return ForLoop(start[0], head[1], step[0], self._body())

    def _branch(self) -> Branch:
        self._take("if")
        test = self._in_parentheses()
        then = self._body()
        other: tuple[Statement, ...] = ()
        if self._peek() == "else":
            self._take()
            other = self._body()
        return Branch(test, then, other)


def read_simple(words: Words) -> Iterator[Statement]:
    """Yield the statements that an expression statement or a declaration is."""
    if not words:
        raise NotPlainError
    if set(words) & {"[[", "lambda"} or "static" in words:
        raise NotPlainError
    declarations = _declarations(words)
    if declarations:
        yield from declarations
        return
    if words[0] in ("++", "--") or words[-1] in ("++", "--"):
        sign = words[0] if words[0] in ("++", "--") else words[-1]
        target = words[1:] if words[0] == sign else words[:-1]
        yield Assignment(target, f"{sign[0]}=", ("1",))
        return
    at = next((i for i, _ in _top_level(words) if words[i] in ASSIGNING), None)
    if at is not None:
        value = words[at + 1 :]
        if any(words[i] in ASSIGNING or words[i] == "," for i, _ in _top_level(words) if i > at):
            raise NotPlainError
        if set(value) & {"++", "--"} or set(value) & ASSIGNING or not value or not at:
            raise NotPlainError
        yield Assignment(words[:at], words[at], value)
        return
    if len(words) > 2 and is_name(words[0]) and words[1] == "(" and words[-1] == ")":
        yield CallStatement(words)
        return
    raise NotPlainError


def _declarations(words: Words) -> list[LocalVariable]:  # noqa: PLR0912 - a branch for each form
    """Return the declarations of a statement; none if it is not one."""
    at, qualifiers = 0, set[str]()
    while at < len(words) and words[at] in (_QUALIFIERS | _SPACES):
        qualifiers.add(words[at])
        at += 1
    if at >= len(words) or not is_name(words[at]):
        return []
    kind, at = words[at], at + 1
    if at < len(words) and words[at] == "<":
        closing = next((i for i in range(at, len(words)) if words[i] == ">"), -1)
        if closing < 0 or closing + 1 >= len(words) or not is_name(words[closing + 1]):
            return []
        kind += "".join(words[at : closing + 1])
        at = closing + 1
    while at < len(words) and words[at] == "const":
        at += 1
    is_pointer = at < len(words) and words[at] == "*"
    space = next((each for each in _SPACES if each in qualifiers), "")
    if is_pointer:
        if not space:
            return []  # a product, or a pointer to private memory
        at += 1
        while at < len(words) and words[at] == "const":
            at += 1
    if at >= len(words) or not is_name(words[at]) or kind == "return":
        if qualifiers:
            raise NotPlainError
        return []
    found = []
    for part in split_words(words[at:], ","):
        name, rest = part[0], part[1:]
        extent: Words = ()
        if rest[:1] == ("[",):
            closing = match_bracket(rest, 0)
            extent, rest = rest[1:closing], rest[closing + 1 :]
        if rest[:1] == ("=",):
            value = rest[1:]
        elif not rest:
            value = ()
        else:
            raise NotPlainError
        if not is_name(name) or set(value) & (ASSIGNING | {"++", "--", "{"}):
            raise NotPlainError
        found.append(
            LocalVariable(
                kind, name, value, space if is_pointer else "", "" if is_pointer else space, extent
            )
        )
    return found


def _resolve_pointers(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Write accesses by local pointers as accesses of what these point into."""
    pointers: dict[str, Words] = {}
    changed = find_assigned_names(body)

    def resolve(words: Words) -> Words:
        return map_accesses(words, pointers, expand)

    def expand(name: str, index: Words) -> Words:
        base = pointers[name]
        # `x + offset`
        return (base[0], "[", *base[2:], "+", *_as_term(index), "]")

    def visit(statements: Iterable[Statement]) -> Iterator[Statement]:
        for each in statements:
            if isinstance(each, LocalVariable) and each.pointee:
                value = strip_parentheses(each.value)
                if (
                    value[:1] == ("&",)
                    and len(value) > 4
                    and match_bracket(value, 2) == len(value) - 1
                ):
                    value = (value[1], "+", *value[3:-1])
                if each.pointee != "device" or len(value) < 3 or value[1] != "+":
                    raise NotPlainError
                if value[0] in pointers or each.name in changed:
                    raise NotPlainError
                offset = value[2:]
                if set(offset) & (changed | {"?", "&&", "||", "<", ">", "==", "|", "^", "&"}):
                    raise NotPlainError
                pointers[each.name] = (value[0], "+", *offset)
                continue
            yield map_words(each, resolve, visit)

    found = tuple(visit(body))
    for each in pointers:
        if any(each in names_in(words) for words in all_words(found)):
            raise NotPlainError
    return found


def _inline_indices(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    """Write integers that are set once as their values where they are used in an index.

    An index then shows what it depends on. A conversion keeps the type of the variable.
    """
    loops = [each for each in each_statement(body) if isinstance(each, ForLoop)]
    steps = {each.step.target[0] for each in loops}
    in_bodies = set[str]().union(*(find_assigned_names(each.body) for each in loops))
    outside = {
        each.target[0]
        for each in each_statement(body)
        if isinstance(each, Assignment) and each.target[0] not in steps
    }
    changed = outside | in_bodies
    values: dict[str, Words] = {}

    def is_simple(each: LocalVariable) -> bool:
        terms = split_sum(each.value) if each.value else None
        return (
            each.type in _INDEX_TYPES
            and not each.extent
            and each.name not in changed | steps
            and terms is not None
            and all(split_product(term) is not None for term in terms)
            and not names_in(each.value) & (changed | {"[", "/", "%"})
        )

    def expand(words: Words) -> Words:
        found: list[str] = []
        index = 0
        while index < len(words):
            found.append(words[index])
            if words[index] == "[":
                closing = match_bracket(words, index)
                found.extend(expand(replace_words(words[index + 1 : closing], values)))
                found.append("]")
                index = closing
            index += 1
        return tuple(found)

    def visit(statements: Iterable[Statement]) -> Iterator[Statement]:
        for each in statements:
            if isinstance(each, ForLoop):
                values.pop(each.start.name, None)
            if isinstance(each, LocalVariable):
                values.pop(each.name, None)
                if is_simple(each):
                    value = replace_words(each.value, values)
                    values[each.name] = (each.type, "(", *value, ")")
            yield map_words(each, expand, visit)

    return tuple(visit(body))


def _expect_no_hiding(body: tuple[Statement, ...], outer: set[str]) -> None:
    """Raise NotPlainError if a variable hides one of an outer scope, or a parameter."""
    known = set(outer)
    for each in body:
        if isinstance(each, LocalVariable):
            if each.name in known:
                raise NotPlainError
            known.add(each.name)
    for each in body:
        if isinstance(each, ForLoop):
            _expect_no_hiding((each.start, *each.body), known)
        elif isinstance(each, Branch):
            _expect_no_hiding(each.then, known)
            _expect_no_hiding(each.other, known)


def _as_term(words: Words) -> Words:
    return words if len(words) == 1 else ("(", *words, ")")


# Words: how expressions are looked at and changed.


def _top_level(words: Words) -> Iterator[tuple[int, str]]:
    """Yield the words outside of all brackets, with their indices."""
    depth = 0
    for index, word in enumerate(words):
        if word in _CLOSING:
            depth -= 1
        if depth == 0 and word not in _CLOSING:
            yield index, word
        if word in _OPENING:
            depth += 1


def match_bracket(words: Words, opening: int) -> int:
    """Return the index of the bracket that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(words)):
        depth += (words[index] in _OPENING) - (words[index] in _CLOSING)
        if depth == 0:
            return index
    raise NotPlainError


def split_words(words: Words, separator: str, *, keep_empty: bool = False) -> list[Words]:
    """Split words at a separator outside of all brackets."""
    found: list[Words] = []
    last = 0
    ends = [index for index, word in _top_level(words) if word == separator]
    for end in (*ends, len(words)):
        if keep_empty or end > last:
            found.append(words[last:end])
        last = end + 1
    return found


def strip_parentheses(words: Words) -> Words:
    """Return an expression without parentheses around all of it."""
    while len(words) > 2 and words[0] == "(" and match_bracket(words, 0) == len(words) - 1:
        words = words[1:-1]
    return words


def strip_index(words: Words) -> Words:
    """Return an index without parentheses and conversions between integers around all of it."""
    while True:
        bare = strip_parentheses(words)
        if (
            len(bare) > 3
            and bare[0] in _INDEX_TYPES
            and bare[1] == "("
            and match_bracket(bare, 1) == len(bare) - 1
        ):
            bare = bare[2:-1]
        if bare == words:
            return bare
        words = bare


_LOWER = frozenset(
    {"?", ":", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "&", "|", "^", "<<", ">>", ",", "-"}
)


def split_sum(words: Words) -> list[Words] | None:
    """Return the terms of a sum of positive terms; None for another expression."""
    words = strip_index(words)
    if any(word in _LOWER for _, word in _top_level(words)):
        return None
    terms = split_words(words, "+")
    if len(terms) == 1:
        return [strip_index(terms[0])]
    found: list[Words] = []
    for each in terms:
        inner = split_sum(each)
        if inner is None:
            return None
        found.extend(inner)
    return found


def split_product(words: Words) -> list[Words] | None:
    """Return the factors of a product; None for another expression."""
    words = strip_index(words)
    if any(word in (_LOWER | {"+", "/", "%"}) for _, word in _top_level(words)):
        return None
    factors = split_words(words, "*")
    if len(factors) == 1:
        return [strip_index(factors[0])]
    found: list[Words] = []
    for each in factors:
        inner = split_product(each)
        found.extend([each] if inner is None else inner)
    return found


def split_offset(index: Words, variable: str) -> list[Words] | None:
    """Return the other terms of an index that is a sum with `variable` as one term.

    None if the index is not of that form, or if another term has the variable, too.
    """
    terms = split_sum(index)
    if terms is None or (variable,) not in terms:
        return None
    others = list(terms)
    others.remove((variable,))
    return None if any(variable in names_in(each) for each in others) else others


def is_multiple(term: Words, of: Words) -> bool:
    """Return whether a term is visibly a multiple of an expression."""
    factors, wanted = split_product(term), split_product(of)
    if factors is None or wanted is None:
        return False
    left = [strip_index(each) for each in factors]
    for each in wanted:
        if strip_index(each) not in left:
            return False
        left.remove(strip_index(each))
    return True


def _is_member(words: Words, index: int) -> bool:
    """Return whether a word is a member, such as `y` in `p.y`."""
    return index > 0 and words[index - 1] in (".", "::", "->")


def names_in(words: Words) -> set[str]:
    """Return the words of an expression without members."""
    return {word for index, word in enumerate(words) if not _is_member(words, index)}


def find_accesses(words: Words, names: Iterable[str]) -> list[tuple[str, Words]]:
    """Return the accesses `name[index]` in an expression, outer ones first.

    Raise NotPlainError if a name occurs in another way.
    """
    wanted, found = set(names), []
    for index, word in enumerate(words):
        if word not in wanted or _is_member(words, index):
            continue
        if index + 1 >= len(words) or words[index + 1] != "[":
            raise NotPlainError
        closing = match_bracket(words, index + 1)
        found.append((word, words[index + 2 : closing]))
    return found


def map_accesses(
    words: Words, names: Iterable[str], change: Callable[[str, Words], Words]
) -> Words:
    """Replace accesses `name[index]`, inner ones first. Raise as `find_accesses`."""
    wanted = set(names)
    found: list[str] = []
    index = 0
    while index < len(words):
        word = words[index]
        if word in wanted and not _is_member(words, index):
            if index + 1 >= len(words) or words[index + 1] != "[":
                raise NotPlainError
            closing = match_bracket(words, index + 1)
            inner = map_accesses(words[index + 2 : closing], wanted, change)
            found.extend(change(word, inner))
            index = closing + 1
        else:
            found.append(word)
            index += 1
    return tuple(found)


def replace_words(words: Words, other: Mapping[str, Words]) -> Words:
    """Replace names in an expression; members and functions behind `.` and `::` stay."""
    found: list[str] = []
    for index, word in enumerate(words):
        if word in other and not _is_member(words, index):
            found.extend(other[word])
        else:
            found.append(word)
    return tuple(found)


def map_words(
    statement: Statement,
    change: Callable[[Words], Words],
    visit: Callable[[Iterable[Statement]], Iterator[Statement]],
) -> Statement:
    """Change all expressions of a statement, and the statements in it by `visit`."""
    if isinstance(statement, LocalVariable):
        return replace(statement, value=change(statement.value), extent=change(statement.extent))
    if isinstance(statement, Assignment):
        return replace(statement, target=change(statement.target), value=change(statement.value))
    if isinstance(statement, CallStatement):
        return CallStatement(change(statement.words))
    if isinstance(statement, ForLoop):
        start = replace(statement.start, value=change(statement.start.value))
        step = replace(statement.step, value=change(statement.step.value))
        return ForLoop(start, change(statement.test), step, tuple(visit(statement.body)))
    if isinstance(statement, Branch):
        return Branch(
            change(statement.test), tuple(visit(statement.then)), tuple(visit(statement.other))
        )
    return statement


def substitute(
    statements: Iterable[Statement], change: Callable[[Words], Words]
) -> tuple[Statement, ...]:
    """Change all expressions of statements."""

    def visit(several: Iterable[Statement]) -> Iterator[Statement]:
        for each in several:
            yield map_words(each, change, visit)

    return tuple(visit(statements))


def each_statement(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Yield statements and those within."""
    for each in statements:
        yield each
        if isinstance(each, ForLoop):
            yield from each_statement((each.start, each.step, *each.body))
        elif isinstance(each, Branch):
            yield from each_statement((*each.then, *each.other))


def all_words(statements: Iterable[Statement]) -> Iterator[Words]:
    """Yield all expressions of statements."""
    for each in each_statement(statements):
        if isinstance(each, LocalVariable):
            yield each.value
            yield each.extent
        elif isinstance(each, Assignment):
            yield each.target
            yield each.value
        elif isinstance(each, CallStatement):
            yield each.words
        elif isinstance(each, (ForLoop, Branch)):
            yield each.test


def find_assigned_names(statements: Iterable[Statement]) -> set[str]:
    """Return the names of variables and buffers that are assigned after their declaration."""
    return {each.target[0] for each in each_statement(statements) if isinstance(each, Assignment)}


def find_declared_names(statements: Iterable[Statement]) -> set[str]:
    """Return the names of local variables."""
    return {each.name for each in each_statement(statements) if isinstance(each, LocalVariable)}


# Write statements.

_TIGHT_BEFORE = frozenset({")", "]", ",", ";", ".", "::", "[", "->", "++", "--"})
_TIGHT_AFTER = frozenset({"(", "[", ".", "::", "!", "~", "->"})
_OPERAND_ENDS = re.compile(r"[\w)\]]$")


def spell(words: Words) -> str:
    """Write an expression as text."""
    text = ""
    previous, unary = "", False
    for word in words:
        is_unary = word in ("-", "+", "*", "&") and not _OPERAND_ENDS.search(previous)
        tight = (
            not text
            or word in _TIGHT_BEFORE
            or previous in _TIGHT_AFTER
            or unary
            or (word == "(" and (is_name(previous) or previous in (")", "]", ">")))
        )
        text += word if tight else f" {word}"
        previous, unary = word, is_unary
    return text


def write_statements(statements: Iterable[Statement], indent: str) -> str:
    """Write statements as text, one a line."""
    return "".join(_write(each, indent) for each in statements)


def _write(statement: Statement, indent: str) -> str:
    deeper = indent + "  "
    if isinstance(statement, ForLoop):
        head = f"{write_head(statement.start)}; {spell(statement.test)}; "
        head += write_simple(statement.step)
        return f"{indent}for ({head}) {{\n{write_statements(statement.body, deeper)}{indent}}}\n"
    if isinstance(statement, Branch):
        text = f"{indent}if ({spell(statement.test)}) {{\n"
        text += f"{write_statements(statement.then, deeper)}{indent}}}"
        if statement.other:
            text += f" else {{\n{write_statements(statement.other, deeper)}{indent}}}"
        return f"{text}\n"
    if isinstance(statement, LocalVariable):
        return f"{indent}{write_head(statement)};\n"
    return f"{indent}{write_simple(statement)};\n"


def write_head(statement: LocalVariable) -> str:
    """Write a declaration without its semicolon."""
    space = f"{statement.space} " if statement.space else ""
    text = f"{space}{statement.type} {statement.name}"
    if statement.extent:
        text += f"[{spell(statement.extent)}]"
    return f"{text} = {spell(statement.value)}" if statement.value else text


def write_simple(statement: Statement) -> str:
    """Write an assignment, a call or a return without its semicolon."""
    if isinstance(statement, Assignment):
        if statement.value == ("1",) and statement.operator in ("+=", "-="):
            return f"{statement.operator[0] * 2}{spell(statement.target)}"
        return f"{spell(statement.target)} {statement.operator} {spell(statement.value)}"
    if isinstance(statement, CallStatement):
        return spell(statement.words)
    if isinstance(statement, Return):
        return "return"
    raise TypeError(statement)
