"""Integer expressions of kernel headers and task declarations: a small recursive-descent parser.

They know + - * / % (integer, rounding down), parentheses, `ceil_div`, `min`, `max`, numbers and
names. Nothing else is evaluated, so a kernel file can be read without running any of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from metalbench.errors import DeclarationError, suggestion

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(.))")
_DEEPEST = 64
_LONGEST = 500
_MOST_CHARACTERS = 16_384
_MOST_DIGITS = 19
# Sizes, counts and bytes are numbers of 64 bits on every device.
_LARGEST = 2**63 - 1


_TOO_LARGE = "expected every result on the way to be less than 2^63"
FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "ceil_div": lambda a, b: -(-a // b),
    "min": min,
    "max": max,
}
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_DIVIDING = ("/", "%", "ceil_div")


@dataclass(frozen=True)
class _Node:
    """A number (value), a name, or a function or operator (name) of two operands."""

    name: str = ""
    value: int = 0
    operands: tuple[_Node, ...] = ()

    def names(self) -> Iterator[str]:
        if self.operands:
            for each in self.operands:
                yield from each.names()
        elif self.name:
            yield self.name

    def evaluate(self, values: Mapping[str, int]) -> int:
        if not self.operands:
            return values[self.name] if self.name else self.value
        a, b = (each.evaluate(values) for each in self.operands)
        if b == 0 and self.name in _DIVIDING:
            raise ZeroDivisionError
        result = (_OPERATORS.get(self.name) or FUNCTIONS[self.name])(a, b)
        if abs(result) > _LARGEST:
            raise OverflowError
        return result


@dataclass(frozen=True)
class Expression:
    """A parsed expression; `text` is how it was written."""

    text: str
    root: _Node

    @property
    def names(self) -> frozenset[str]:
        """The names whose values `evaluate` needs."""
        return frozenset(self.root.names())

    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the value with `values` for the names.

        Raise DeclarationError for a name that has no value, for a division by zero, and where a
        result on the way does not fit into 64 bits.
        """
        for name in sorted(self.names - values.keys()):
            raise DeclarationError(
                f"{self.text!r}: unknown name {name!r}; {suggestion(name, values)}"
            )
        try:
            return self.root.evaluate(values)
        except (ZeroDivisionError, OverflowError) as error:
            used = ", ".join(f"{name} = {values[name]}" for name in sorted(self.names))
            what = "division by zero" if isinstance(error, ZeroDivisionError) else _TOO_LARGE
            raise DeclarationError(f"{self.text!r}: {what} ({used})") from None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class _Token:
    kind: str  # "number", "name", "symbol" or "end"
    text: str
    start: int
    end: int


def _tokens(text: str) -> list[_Token]:
    result = []
    for match in _TOKEN.finditer(text.rstrip()):
        kind = ("number", "name", "symbol")[(match.lastindex or 1) - 1]
        start, end = match.span(match.lastindex or 1)
        result.append(_Token(kind, text[start:end], start, end))
    return [*result, _Token("end", "", len(text.rstrip()), len(text.rstrip()))]


class Parser:
    """Reads one line from left to right.

    `where` ("softmax.metal:2") opens every error; columns count from 1 after `column`.
    """

    def __init__(self, text: str, where: str = "", column: int = 0) -> None:
        self._text = text
        self._where = where
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

    def error(self, expected: str) -> DeclarationError:
        """Return an error at the next token: `expected` is what should stand there."""
        token = self._token
        text = token.text
        if len(text) > 40:
            text = f"{token.text[:20]}... ({len(token.text)} characters)"
        got = repr(text) if text else "the end of the line"
        place = f"{self._where}:" if self._where else f"{self._text!r}, column "
        column = self._column + token.start + 1
        return DeclarationError(f"{place}{column}: expected {expected}, got {got}")

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
        if self._token.kind != "number":
            raise self.error("a whole number")
        text = self._token.text
        # Python refuses to read, and to print, numbers of more than 4300 digits.
        if len(text.lstrip("0")) > _MOST_DIGITS or int(text) > _LARGEST:
            raise self.error("a whole number less than 2^63")
        self._next += 1
        return sign * int(text)

    def expression(self) -> Expression:
        """Read one expression, as far as it goes."""
        first = self._token.start
        root = self._sum()
        return Expression(self._text[first : self._tokens[self._next - 1].end], root)

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

    def _sum(self) -> _Node:
        return self._chain("+-", self._product)

    def _product(self) -> _Node:
        return self._chain("*/%", self._factor)

    def _chain(self, operators: str, operand: Callable[[], _Node]) -> _Node:
        node = operand()
        while self._token.kind == "symbol" and self._token.text in operators:
            operator = self._token.text
            self._next += 1
            node = _Node(operator, operands=(node, operand()))
        return node

    def _factor(self) -> _Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise self.error(f"at most {_DEEPEST} nested parentheses and signs")
        node = self._atom()
        self._depth -= 1
        return node

    def _atom(self) -> _Node:
        if self.accept("-"):
            return _Node("-", operands=(_Node(), self._factor()))
        if self.accept("("):
            node = self._sum()
            self.expect(")", "an operator or ')'")
            return node
        if self._token.kind == "number":
            return _Node(value=self.number())
        name = self.name("a number, a name or '('")
        if not self.accept("("):
            return _Node(name)
        if name not in FUNCTIONS:
            self._next -= 2
            raise self.error(f"one of the functions {', '.join(FUNCTIONS)}")
        first = self._sum()
        self.expect(",", f"',' ({name} takes two arguments)")
        second = self._sum()
        self.expect(")", "an operator or ')'")
        return _Node(name, operands=(first, second))


def parse(text: str | int, where: str = "") -> Expression:
    """Parse `text` as one expression; raise DeclarationError with the column of an error."""
    parser = Parser(str(text), where)
    result = parser.expression()
    if not parser.at_end:
        raise parser.error("an operator or the end")
    return result
