"""State of random expressions: a random generator, numbers, and each other."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod

from generated import syntax as s
from generated.scope import Scope


def literal(kind: str, value: float) -> s.Literal:
    return s.Literal(kind, value)


def remainder(value: s.Expression, size: int) -> s.Expression:
    """Below `size`."""
    return s.Below("uint", value, size)


class RandomChoices(ABC):
    """Expressions whose choices are those of one random generator."""

    def __init__(self, choose: random.Random, total: int) -> None:
        self.choose = choose
        self.total = total
        self.meeting: set[str] = set()  # functions in which lanes ask for each other

    def chance(self, share: float) -> bool:
        return self.choose.random() < share

    @abstractmethod
    def expression(self, kind: str, scope: Scope, depth: int = 2) -> s.Expression:
        """A value of a type; `depth` bounds how much is nested."""

    @abstractmethod
    def condition(self, scope: Scope, depth: int = 1) -> s.Expression:
        """A bool; mostly one that lanes answer differently."""

    def uniform(self, scope: Scope, below: int) -> s.Expression:
        """A uint below a number, the same for all lanes of a threadgroup."""
        if scope.uniform and self.chance(0.3):
            return remainder(self.choose.choice(scope.uniform), below)
        return literal("uint", self.choose.randrange(below))

    def index(self, scope: Scope, size: int) -> s.Expression:
        """Any uint below a number."""
        if self.chance(0.3):
            return self.uniform(scope, size)
        return remainder(self.expression("uint", scope, 1), size)
