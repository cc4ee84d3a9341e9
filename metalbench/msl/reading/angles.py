"""Which `>` closes a `<`: the one thing that brackets alone do not tell."""

from __future__ import annotations

from metalbench.msl.reading.tokens import Tokens, can_open_template_arguments

_SEARCH_STEPS = 20_000


def find_closing_angle(tokens: Tokens, index: int, limit: int) -> int:
    """Index of the `>` that closes the `<` at `index`, or -1 when there is none before `limit`.

    A `<` behind a name may be an operator (`enable_if_t<N < 8, bool>`): both readings are tried,
    the bracket first, within a bounded number of steps.
    """
    return _Search(tokens, limit).close(index + 1)


class _Search:
    def __init__(self, tokens: Tokens, limit: int) -> None:
        self.tokens = tokens
        self.limit = limit
        self.steps = 0

    def close(self, index: int) -> int:
        """The closing `>` for a bracket whose contents go on at `index`."""
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
    """Index of the `<` that the `>` at `index` closes, looking back to `limit`, or -1."""
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
