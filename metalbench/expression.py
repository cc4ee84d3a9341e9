"""Integer expressions of kernel headers, task declarations and MSL attributes.

One recursive-descent parser and one evaluator, with one set of limits. A `Grammar` lists the
operators and functions of a language. `SIZES` is the grammar of headers and tasks: + - * / %
(integer, rounding down), parentheses, `ceil_div`, `min`, `max`, numbers and names. The grammar of
C++ constant expressions is in `metalbench.msl.frontend.constants`, which extends `Parser`. Nothing
else is evaluated, so a kernel file can be read without running any of it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from metalbench.errors import DeclarationError, suggestion

# A number with all letters that follow it is one token, so that `0x10` is not `0` and a name.
_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9](?:\w|'(?=\w))*)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<symbol>::|<<|>>|[<>=!]=|&&|\|\||.))"
)
_DEEPEST = 64
_LONGEST = 500
_MOST_CHARACTERS = 16_384
# A binary number of 64 bits with separators and a suffix has fewer.
_MOST_DIGITS = 140
# Longer texts are shortened in messages.
_MOST_SHOWN = 200

Operation = Callable[[int, int], int]


def ceil_div(a: int, b: int) -> int:
    """Return a / b, rounded up."""
    return -(-a // b)


@dataclass(frozen=True, eq=False)
class Grammar:
    """The operators and functions of a language.

    `operators` are binary operators with their precedence; a larger one binds tighter. `prefixes`
    maps prefix operators to a binary operator whose first operand is 0: `-x` is `0 - x`. Functions
    have two arguments. `largest` limits the absolute value of every number and result.
    """

    operators: Mapping[str, tuple[int, Operation]]
    prefixes: Mapping[str, str]
    functions: Mapping[str, Operation]
    largest: int

    @property
    def limit(self) -> str:
        """The limit of numbers and results, as messages show it."""
        return f"less than 2^{self.largest.bit_length()}"


# Sizes, counts and bytes are numbers of 64 bits on every device.
SIZES = Grammar(
    operators={
        "+": (1, operator.add),
        "-": (1, operator.sub),
        "*": (2, operator.mul),
        "/": (2, operator.floordiv),
        "%": (2, operator.mod),
    },
    prefixes={"-": "-"},
    functions={"ceil_div": ceil_div, "min": min, "max": max},
    largest=2**63 - 1,
)


@dataclass(frozen=True)
class Node:
    """A number (value), a name, or a function or operator (name) of two operands."""

    name: str = ""
    value: int = 0
    operands: tuple[Node, ...] = ()

    def names(self) -> Iterator[str]:
        """Yield the names whose values `evaluate` needs."""
        if self.operands:
            for each in self.operands:
                yield from each.names()
        elif self.name:
            yield self.name

    def evaluate(self, values: Mapping[str, int], grammar: Grammar) -> int:
        """Return the value. Raise ZeroDivisionError, or OverflowError beyond `grammar.largest`."""
        if not self.operands:
            return values[self.name] if self.name else self.value
        first, second = self.operands
        a = first.evaluate(values, grammar)
        # The second operand of && and || is not evaluated where the first decides.
        if self.name in ("&&", "||") and (a != 0) == (self.name == "||"):
            return int(a != 0)
        b = second.evaluate(values, grammar)
        if self.name in grammar.functions:
            result = grammar.functions[self.name](a, b)
        else:
            result = grammar.operators[self.name][1](a, b)
        if abs(result) > grammar.largest:
            raise OverflowError
        return result


@dataclass(frozen=True)
class Expression:
    """A parsed expression; `text` is how it was written. A subclass has another grammar."""

    text: str
    root: Node
    # Not a field: expressions are sent to other processes, which encode fields only.
    grammar: ClassVar[Grammar] = SIZES

    @property
    def names(self) -> frozenset[str]:
        """The names whose values `evaluate` needs."""
        return frozenset(self.root.names())

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the value with `values` for the names.

        Raise DeclarationError for a name that has no value, for a division by zero, and where an
        intermediate result is beyond the limit of the grammar.
        """
        text = repr(shorten(self.text, _MOST_SHOWN))
        for name in sorted(self.names - values.keys()):
            raise DeclarationError(f"{text}: unknown name {name!r}; {suggestion(name, values)}")
        try:
            return int(self.root.evaluate(values, self.grammar))
        except (ZeroDivisionError, OverflowError) as error:
            used = ", ".join(f"{name} = {values[name]}" for name in sorted(self.names))
            what = "division by zero"
            if isinstance(error, OverflowError):
                what = f"expected every intermediate result to be {self.grammar.limit}"
            raise DeclarationError(f"{text}: {what}" + (f" ({used})" if used else "")) from None

    def __str__(self) -> str:
        return self.text


def shorten(text: str, most: int) -> str:
    """Return `text`, or its beginning and its number of characters if it has more than `most`."""
    return text if len(text) <= most else f"{text[: most // 2]}... ({len(text)} characters)"


@dataclass(frozen=True)
class _Token:
    kind: str  # "number", "name", "symbol" or "end"
    text: str
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    result = []
    for match in _TOKEN.finditer(text.rstrip()):
        kind = match.lastgroup or ""
        result.append(_Token(kind, match[kind], *match.span(kind)))
    return [*result, _Token("end", "", len(text.rstrip()), len(text.rstrip()))]


class Parser:
    """Reads one line from left to right.

    `where` ("softmax.metal:2") opens every error; columns count from 1 after `column`. A subclass
    reads another class of expressions, and may read its own forms in `literal` and `atom`.
    """

    result: type[Expression] = Expression

    def __init__(self, text: str, where: str = "", column: int = 0) -> None:
        self._text = text
        self._where = where
        self.grammar = self.result.grammar
        self._column = column
        self._tokens = _tokens(text[:_MOST_CHARACTERS])
        self._next = 0
        self._depth = 0
        if len(text) > _MOST_CHARACTERS:
            raise self.error(f"at most {_MOST_CHARACTERS} characters on a line")
        if len(self._tokens) > _LONGEST:
            self._next = _LONGEST
            raise self.error(f"at most {_LONGEST} words on a line")

    @property
    def _token(self) -> _Token:
        return self._tokens[self._next]

    @property
    def at_end(self) -> bool:
        """Whether the whole line has been read."""
        return self._token.kind == "end"

    def error(self, expected: str, known: Collection[str] = ()) -> DeclarationError:
        """Return an error at the next token: `expected` is what should stand there.

        A name that resembles one of `known` is a misspelling of it.
        """
        token = self._token
        got = repr(shorten(token.text, 40)) if token.text else "the end of the line"
        # Callers make errors in advance, most of which they do not raise.
        is_unknown = token.kind == "name" and token.text not in known
        hint = suggestion(token.text, known) if is_unknown else ""
        if hint.startswith("did you mean"):
            got += f"; {hint}"
        place = (
            f"{self._where}:" if self._where else f"{shorten(self._text, _MOST_SHOWN)!r}, column "
        )
        column = self._column + token.start + 1
        return DeclarationError(f"{place}{column}: expected {expected}, got {got}")

    def peek(self, distance: int = 0) -> str:
        """Return the text of the next token, or of one after it. It is empty after the end."""
        index = self._next + distance
        return self._tokens[index].text if index < len(self._tokens) else ""

    def accept(self, symbol: str) -> bool:
        """Step over `symbol` if it comes next."""
        if self._token.kind == "symbol" and self._token.text == symbol:
            self._next += 1
            return True
        return False

    def expect(self, symbol: str, instead: str = "") -> None:
        """Step over `symbol`, which must come next."""
        if not self.accept(symbol):
            raise self.error(instead or repr(symbol))

    def name(self, what: str = "a name") -> str:
        """Step over an identifier, which must come next."""
        if self._token.kind != "name":
            raise self.error(what)
        self._next += 1
        return self._tokens[self._next - 1].text

    def number(self) -> int:
        """Step over a whole number, which must come next."""
        sign = -1 if self.accept("-") else 1
        return sign * self._read_literal()

    def _read_literal(self) -> int:
        text, most = self._token.text, self.grammar.largest
        # Python does not read decimal numbers of more than 4300 digits.
        if self._token.kind == "number" and len(text.lstrip("0")) > _MOST_DIGITS:
            value: int | None = most + 1
        else:
            value = self.literal(text) if self._token.kind == "number" else None
        if value is None:
            raise self.error("a whole number")
        if value > most:
            raise self.error(f"a whole number {self.grammar.limit}")
        self._next += 1
        return value

    def literal(self, text: str) -> int | None:
        """Return the value of a number as it is written; None if it is not a whole number."""
        return int(text.lstrip("0") or "0") if text.isdecimal() else None

    def expression(self) -> Expression:
        """Read one expression, as far as it goes."""
        first = self._token.start
        root = self.operation()
        text = self._text[first : self._tokens[self._next - 1].end]
        return self.result(text, root)

    def read_named_expressions(self) -> dict[str, Expression]:
        """Read `(name: expression, ...)`."""
        result: dict[str, Expression] = {}
        self.expect("(")
        while not result or self.accept(","):
            name = self.name("the name of a threadgroup argument")
            self.expect(":")
            result[name] = self.expression()
        self.expect(")", "an operator, ',' or ')'")
        return result

    def expressions(self) -> tuple[Expression, ...]:
        """Read `(expression, ...)`."""
        self.expect("(")
        result = [self.expression()]
        while self.accept(","):
            result.append(self.expression())
        self.expect(")", "an operator, ',' or ')'")
        return tuple(result)

    def operation(self, weakest: int = 0) -> Node:
        """Read operands and operators whose precedence is `weakest` or higher.

        The method is precedence climbing, from left to right for equal precedence.
        """
        node = self.factor()
        while self._token.text in self.grammar.operators:
            name = self._token.text
            precedence = self.grammar.operators[name][0]
            if precedence < weakest:
                break
            self._next += 1
            node = Node(name, operands=(node, self.operation(precedence + 1)))
        return node

    def factor(self) -> Node:
        """Read one operand with its prefix operators."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.error(f"at most {_DEEPEST} nested parentheses and signs")
        name = self.grammar.prefixes.get(self._token.text)
        if name is not None:
            self._next += 1
            node = Node(name, operands=(Node(), self.factor()))
        else:
            node = self.atom()
        self._depth -= 1
        return node

    def atom(self) -> Node:
        """Read a number, a name, a function with its arguments, or parentheses."""
        if self.accept("("):
            node = self.operation()
            self.expect(")", "an operator or ')'")
            return node
        if self._token.kind == "number":
            return Node(value=self._read_literal())
        name = self.name("a number, a name or '('")
        if not self.accept("("):
            return Node(name)
        if name not in self.grammar.functions:
            self._next -= 2
            known = self.grammar.functions
            raise self.error(f"one of the functions {', '.join(known)}", known)
        first = self.operation()
        self.expect(",", f"',' ({name} takes two arguments)")
        second = self.operation()
        self.expect(")", "an operator or ')'")
        return Node(name, operands=(first, second))

    def whole_expression(self) -> Expression:
        """Read one expression, which must end where the line ends."""
        result = self.expression()
        if not self.at_end:
            raise self.error("an operator or the end")
        return result


def parse(text: str | int, where: str = "") -> Expression:
    """Parse `text` as one expression; raise DeclarationError with the column of an error."""
    return Parser(str(text), where).whole_expression()
