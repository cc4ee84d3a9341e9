"""Match the angle brackets of template argument lists, which may also be comparison operators."""

from __future__ import annotations

from metalbench.msl.reading.tokens import Tokens, can_open_template_arguments

_SEARCH_STEPS = 20_000


def find_closing_angle(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index of the `>` that closes the `<` at `index`; -1 if none precedes `limit`.

    A `<` after a name may be an operator (`enable_if_t<N < 8, bool>`). The search tries it as a
    bracket first and as an operator second, within `_SEARCH_STEPS` steps.
    """
    return _Search(tokens, limit).close(index + 1)


class _Search:
    """A backtracking search for one closing `>`, limited in its number of steps."""

    def __init__(self, tokens: Tokens, limit: int) -> None:
        self.tokens = tokens
        self.limit = limit
        self.steps = 0

    def close(self, index: int) -> int:
        """Return the index of the `>` that closes a bracket with contents from `index`, or -1."""
        text, partner = self.tokens.text, self.tokens.partner
        while index < self.limit and self.steps < _SEARCH_STEPS:
            self.steps += 1
            token = text[index]
            if token == ">":
                return index
            if token in ";{}])":
                return -1
            if token in "([":
                index = partner[index]
                if index < 0:
                    return -1
            elif token == "<" and can_open_template_arguments(text[index - 1]):
                inner = self.close(index + 1)
                outer = self.close(inner + 1) if inner >= 0 else -1
                if outer >= 0:
                    return outer
            index += 1
        return -1


def find_opening_angle(tokens: Tokens, index: int, limit: int) -> int:
    """Return the index of the `<` that the `>` at `index` closes, not before `limit`, or -1."""
    depth = 0
    while index >= limit:
        token = tokens.text[index]
        if token == ">":
            depth += 1
        elif token == "<":
            depth -= 1
            if depth == 0:
                return index
        elif token in ")]" and tokens.partner[index] >= 0:
            index = tokens.partner[index]
        elif token in ";{}":
            return -1
        index -= 1
    return -1
