"""Random expressions: of a type, from what a scope has."""

from __future__ import annotations

import random

from generated import syntax as s
from generated.arithmetic import OF_FLOATS, OF_INTEGERS, OF_WORDS
from generated.kinds import INTEGERS, VECTORS, bits_of, is_float, scalar_of, width_of
from generated.random_together import RandomTogether
from generated.scope import Scope

_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
_SPARE = 16  # elements that an input has beyond one for each thread


def literal(kind: str, value: float) -> s.Literal:
    return s.Literal(kind, value)


def remainder(value: s.Expression, size: int) -> s.Expression:
    """Below `size`."""
    return s.Binary("uint", "%", value, literal("uint", size))


class RandomExpressions(RandomTogether):
    """Expressions whose choices are those of one random generator."""

    def __init__(self, choose: random.Random, total: int) -> None:
        self.choose = choose
        self.total = total

    def chance(self, share: float) -> bool:
        return self.choose.random() < share

    def expression(self, kind: str, scope: Scope, depth: int = 2) -> s.Expression:
        """A value of a type; `depth` bounds how much is nested."""
        if kind == "bool":
            return self.condition(scope, depth)
        if depth <= 0 or self.chance(0.2):
            return self._leaf(kind, scope)
        if scope.together and self.chance(0.15):
            return self.together(kind, scope, depth - 1)
        if width_of(kind) > 1:
            return self._vector(kind, scope, depth - 1)
        if self.chance(0.15):
            condition = self.condition(scope, depth - 1)
            yes, no = (self.expression(kind, scope, depth - 1) for _ in range(2))
            return s.Choice(kind, condition, yes, no)
        callable_ = [each for each in scope.functions if each.type == kind]
        if callable_ and self.chance(0.3):
            return self._user_call(self.choose.choice(callable_), scope, depth - 1)
        if is_float(kind):
            return self._float(kind, scope, depth - 1)
        return self._integer(kind, scope, depth - 1)

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
            masked = remainder(place, self.choose.choice([2, 3, 5, 8, 32, 1000]))
            return s.Compare("bool", operator, masked, literal("uint", self.choose.randrange(9)))
        of = self.choose.choice(["uint", "uint", "int", "short", "uchar", "long"])
        left = self.expression(of, scope, depth - 1)
        if not any(isinstance(each, s.Name) for each in s.every(left)):
            return self.condition(scope, depth)
        right = literal(of, self.choose.randrange(40))
        return s.Compare("bool", operator, left, right)

    def uniform(self, scope: Scope, below: int) -> s.Expression:
        """A uint below a number, the same for all lanes of a threadgroup."""
        if scope.uniform and self.chance(0.3):
            return remainder(self.choose.choice(scope.uniform), below)
        return literal("uint", self.choose.randrange(below))

    # Operands.

    def _leaf(self, kind: str, scope: Scope) -> s.Expression:
        known = [each for each in (*scope.variables, *scope.constants) if each.type == kind]
        if known and self.chance(0.6):
            return self.choose.choice(known)
        found = self._from_memory(kind, scope) if self.chance(0.6) else None
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

    def _from_memory(self, kind: str, scope: Scope) -> s.Expression | None:
        ways = [
            *[self._load for each in scope.inputs if each.type.removeprefix("packed_") == kind],
            *[self._output for each in scope.outputs if each.type == kind],
            *[self._element for each in scope.arrays if self.holds(each, kind, scope)],
            *[self._shared for each in scope.read if each.type == kind],
            *[self._own for each in scope.own if each.type == kind],
        ]
        return self.choose.choice(ways)(kind, scope) if ways else None

    def holds(self, array: s.DeclareArray, kind: str, scope: Scope) -> bool:
        """Whether an array has elements, members or bytes of a type."""
        return bool(self._ways_into(array, kind, scope))

    def _ways_into(self, array: s.DeclareArray, kind: str, scope: Scope) -> list[tuple[str, bool]]:
        for struct in scope.structs:
            if struct.name == array.type:
                return [(name, False) for name, of in struct.members if of == kind]
        bytes_ = kind == "uchar" and width_of(array.type) == 1
        return [("", False)] * (array.type == kind) + [("", True)] * bytes_

    def element(self, kind: str, scope: Scope) -> s.Element | None:
        """A part of a private array, if there is one of this type."""
        arrays = [each for each in scope.arrays if self.holds(each, kind, scope)]
        if not arrays:
            return None
        array = self.choose.choice(arrays)
        member, is_byte = self.choose.choice(self._ways_into(array, kind, scope))
        is_byte = is_byte and array.type != "uchar"
        size = array.size * (bits_of(array.type) // 8 if is_byte else 1)
        return s.Element(kind, array.name, self._index(scope, size), member, is_byte)

    def _element(self, kind: str, scope: Scope) -> s.Expression | None:
        return self.element(kind, scope)

    def _index(self, scope: Scope, size: int) -> s.Expression:
        """Any uint below a number."""
        if self.chance(0.3):
            return self.uniform(scope, size)
        return remainder(self.expression("uint", scope, 1), size)

    def _load(self, kind: str, scope: Scope) -> s.Expression:
        fitting = [each for each in scope.inputs if each.type.removeprefix("packed_") == kind]
        buffer = self.choose.choice(fitting)
        own, total = s.Name("uint", "i"), literal("uint", self.total)
        shift = literal("uint", self.choose.randrange(1, _SPARE))
        if buffer.size == self.total and kind in (*INTEGERS, "float", "half") and self.chance(0.6):
            return self._guarded(kind, buffer, shift)
        last = s.Binary("uint", "-", s.Binary("uint", "-", total, literal("uint", 1)), own)
        step = s.Binary("uint", "*", own, literal("uint", self.choose.choice([2, 3, 4, 7])))
        indices = [own, own, last, remainder(step, buffer.size), self._index(scope, buffer.size)]
        if buffer.size >= self.total + _SPARE:
            indices += [s.Binary("uint", "+", own, shift)] * 2
        return s.Load(kind, buffer.name, self.choose.choice(indices))

    def _guarded(self, kind: str, buffer: s.Buffer, shift: s.Expression) -> s.Expression:
        """A neighbour's element, where there is one."""
        own, total = s.Name("uint", "i"), literal("uint", self.total)
        if self.chance(0.5):
            index: s.Expression = s.Binary("uint", "+", own, shift)
            inside = s.Compare("bool", "<", index, total)
        else:
            index = s.Binary("uint", "-", own, shift)
            inside = s.Compare("bool", ">=", own, shift)
        return s.Choice(kind, inside, s.Load(kind, buffer.name, index), literal(kind, 1))

    def _output(self, kind: str, scope: Scope) -> s.Expression:
        output = self.choose.choice([each for each in scope.outputs if each.type == kind])
        return s.OwnOutput(kind, output.name, self.choose.randrange(output.slots))

    def _shared(self, kind: str, scope: Scope) -> s.Expression:
        array = self.choose.choice([each for each in scope.read if each.type == kind])
        return s.AnyShared(kind, array.name, self.expression("uint", scope, 1))

    def _own(self, kind: str, scope: Scope) -> s.Expression:
        array = self.choose.choice([each for each in scope.own if each.type == kind])
        return s.OwnShared(kind, array.name)

    # Computations.

    def _integer(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        way = self.choose.randrange(10)
        if way < 5:
            return self._sum(kind, scope, depth)
        if way == 5:
            return self._plain(scope, depth) if kind == "int" else self._sum(kind, scope, depth)
        if way == 6:
            return s.Unary(kind, self.choose.choice(["-", "~"]), self.expression(kind, scope, depth))
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
        operator = self.choose.choice("+ + - - * & | ^ << >> / %".split())
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
            return s.Make(kind, [self.expression(part, scope, depth) for _ in range(width_of(kind))])
        left, right = (self.expression(kind, scope, depth) for _ in range(2))
        return s.Binary(kind, self.choose.choice("+-*"), left, right)

    def component(self, kind: str, scope: Scope) -> s.Expression | None:
        """A component of a vector variable."""
        fitting = [
            each
            for each in scope.variables
            if each.type in VECTORS and scalar_of(each.type) == kind
        ]
        if not fitting:
            return None
        vector = self.choose.choice(fitting)
        if self.chance(0.5):
            place = literal("uint", self.choose.randrange(width_of(vector.type)))
            return s.Component(kind, vector, place)
        return s.Component(kind, vector, self._index(scope, width_of(vector.type)))
