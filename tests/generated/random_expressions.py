"""Random expressions: of a type, from what a scope has."""

from __future__ import annotations

from generated import syntax as s
from generated.arithmetic import OF_FLOATS, OF_INTEGERS, OF_WORDS
from generated.kinds import INTEGERS, bits_of, is_float, scalar_of, width_of
from generated.random_choices import literal, remainder
from generated.random_memory import RandomMemory
from generated.scope import Scope

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


class RandomExpressions(RandomMemory):
    """Expressions whose choices are those of one random generator."""

    def expression(self, kind: str, scope: Scope, depth: int = 2) -> s.Expression:
        """A value of a type; `depth` bounds how much is nested."""
        if kind == "bool":
            return self.condition(scope, depth)
        if depth <= 0 or self.chance(0.2):
            return self._leaf(kind, scope)
        if scope.together and self.chance(0.15):
            return self.together(kind, scope, depth - 1)
        if self.chance(0.15):
            return self._choice(kind, scope, depth - 1)
        return self._computed(kind, scope, depth - 1)

    def _choice(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        yes, no = (self.expression(kind, scope, depth) for _ in range(2))
        return s.Choice(kind, self.condition(scope, depth), yes, no)

    def _computed(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        callable_ = [
            each
            for each in scope.functions
            if each.type == kind and (scope.together or each.name not in self.meeting)
        ]
        if callable_ and self.chance(0.3):
            return self._user_call(self.choose.choice(callable_), scope, depth)
        if width_of(kind) > 1:
            return self._vector(kind, scope, depth)
        return (self._float if is_float(kind) else self._integer)(kind, scope, depth)

    def _user_call(self, function: s.Function, scope: Scope, depth: int) -> s.Expression:
        operands = [self.expression(kind, scope, depth) for _, kind in function.parameters]
        return s.UserCall(function.type, function.name, operands)

    def condition(self, scope: Scope, depth: int = 1) -> s.Expression:
        """A bool; mostly one that lanes answer differently."""
        kind = self.choose.randrange(10)
        if kind < 2 and scope.together:
            return self.vote(scope, depth - 1)
        if kind < 4 and depth > 0:
            left, right = (self.condition(scope, depth - 1) for _ in range(2))
            return s.Logic("bool", self.choose.choice(["&&", "||"]), left, right)
        operator = self.choose.choice(_COMPARISONS)
        if kind == 4:
            of = self.choose.choice(["float", "half"])
            left, right = (self.expression(of, scope, depth - 1) for _ in range(2))
            if any(isinstance(each, s.Name) for each in s.every(left)):
                return s.Compare("bool", operator, left, right)
        places = [each for each in scope.constants if each.type == "uint"]
        if kind < 8 and places:
            place = self.choose.choice(places)
            size = self.choose.choice([2, 3, 5, 8, 32, 1000])
            limit = self.choose.randrange(size if operator in ("==", "!=") else min(size, 32))
            return s.Compare("bool", operator, remainder(place, size), literal("uint", limit))
        of = self.choose.choice(["uint", "uint", "int", "short", "uchar", "long"])
        left = self.expression(of, scope, depth - 1)
        if not any(isinstance(each, s.Name) for each in s.every(left)):
            return self.condition(scope, depth)
        right = literal(of, self.choose.randrange(40))
        return s.Compare("bool", operator, left, right)

    # Operands.

    def _leaf(self, kind: str, scope: Scope) -> s.Expression:
        known = [each for each in (*scope.variables, *scope.constants) if each.type == kind]
        if known and self.chance(0.6):
            return self.choose.choice(known)
        found = self.from_memory(kind, scope) if self.chance(0.6) else None
        if found is not None:
            return found
        if width_of(kind) > 1:
            part = scalar_of(kind)
            return s.Make(kind, [self._leaf(part, scope) for _ in range(width_of(kind))])
        others = [
            each
            for each in (*scope.variables, *scope.constants)
            if width_of(each.type) == 1 and each.type != kind
        ]
        if others and self.chance(0.6):
            return self._converted(kind, self.choose.choice(others))
        if is_float(kind):
            return literal(kind, self.choose.randrange(-8, 9) / 4)
        low = 0 if kind.startswith("u") else -20
        return literal(kind, self.choose.choice([0, 1, 2, self.choose.randrange(low, 100)]))

    def _converted(self, kind: str, value: s.Expression) -> s.Expression:
        if is_float(kind) and value.type in INTEGERS:
            # Small enough to be exact in every type.
            value = s.Binary(value.type, "&", value, literal(value.type, 127))
        return s.Cast(kind, value)

    # Computations.

    def _integer(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        way = self.choose.randrange(10)
        if way < 5:
            return self._sum(kind, scope, depth)
        if way == 5:
            return self._plain(scope, depth) if kind == "int" else self._sum(kind, scope, depth)
        if way == 6:
            return s.Unary(
                kind, self.choose.choice(["-", "~"]), self.expression(kind, scope, depth)
            )
        if way == 7:
            other = self.choose.choice([*INTEGERS, "float", "half"])
            return s.Cast(kind, self.expression(other, scope, depth))
        if way == 8 and kind in ("uint", "uchar", "ushort"):
            return self._recast(kind, scope, depth)
        functions = OF_INTEGERS | (OF_WORDS if kind in ("int", "uint") else {})
        name = self.choose.choice(list(functions))
        operands = [self.expression(kind, scope, depth) for _ in range(functions[name])]
        if name == "clamp":
            operands[1:] = [literal(kind, 3), literal(kind, 60)]
        return s.Builtin(kind, name, operands)

    def _sum(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        operator = self.choose.choice([*"++--*&|^/%", "<<", ">>"])
        left = self.expression(kind, scope, depth)
        right = self.expression(kind, scope, depth)
        if operator in ("<<", ">>"):
            right = s.Binary(kind, "&", right, literal(kind, bits_of(kind) - 1))
        if operator in ("/", "%"):
            odd = s.Binary(kind, "|", right, literal(kind, 1))
            right = odd if self.chance(0.5) else literal(kind, self.choose.choice([2, 3, 7, 10]))
        return s.Binary(kind, operator, left, right)

    def _plain(self, scope: Scope, depth: int) -> s.Expression:
        """A sum of numbers so small that the compiler may take it that they never wrap."""
        left, right = (
            s.Binary("int", "&", self.expression("int", scope, depth), literal("int", 1023))
            for _ in range(2)
        )
        return s.Binary("int", self.choose.choice("+-*"), left, right, plain=True)

    def _recast(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        if kind == "uint":
            parts = [self.expression("ushort", scope, depth) for _ in range(2)]
            return s.Recast("uint", s.Make("ushort2", parts))
        vector = "uchar4" if kind == "uchar" else "ushort2"
        whole = s.Recast(vector, self.expression("uint", scope, depth))
        return s.Component(kind, whole, literal("uint", self.choose.randrange(width_of(vector))))

    def _float(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        way = self.choose.randrange(8)
        if way < 4:
            operator = self.choose.choice("+-*")
            left, right = (self.expression(kind, scope, depth) for _ in range(2))
            return s.Binary(kind, operator, left, right)
        if way < 6:
            other = self.choose.choice([*INTEGERS, "half" if kind == "float" else "float"])
            return self._converted(kind, self.expression(other, scope, depth))
        name = self.choose.choice(list(OF_FLOATS))
        operands = [self.expression(kind, scope, depth) for _ in range(OF_FLOATS[name])]
        return s.Builtin(kind, name, operands)

    def _vector(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        part = scalar_of(kind)
        if self.chance(0.3) or part in ("ushort", "uchar"):
            return s.Make(
                kind, [self.expression(part, scope, depth) for _ in range(width_of(kind))]
            )
        left, right = (self.expression(kind, scope, depth) for _ in range(2))
        return s.Binary(kind, self.choose.choice("+-*"), left, right)
