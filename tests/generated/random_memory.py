"""Random expressions of what is in memory: inputs, outputs, private and threadgroup arrays."""

from __future__ import annotations

from generated import syntax as s
from generated.kinds import INTEGERS, VECTORS, bits_of, scalar_of, width_of
from generated.random_choices import literal, remainder
from generated.random_together import RandomTogether
from generated.scope import Scope

_SPARE = 16  # elements that an input has beyond one for each thread


class RandomMemory(RandomTogether):
    """Elements that may be read, and assigned to."""

    def from_memory(self, kind: str, scope: Scope) -> s.Expression | None:
        ways = [
            *[self._load for each in scope.inputs if each.type.removeprefix("packed_") == kind],
            *[self._output for each in scope.outputs if each.type == kind],
            *[self._element for each in scope.arrays if self.holds(each, kind, scope)],
            *[self._shared for each in scope.read if each.type == kind],
            *[self._own for each in scope.own if each.type == kind],
        ]
        return self.choose.choice(ways)(kind, scope) if ways else None

    def holds(self, array: s.DeclareArray, kind: str, scope: Scope) -> bool:
        """Return whether an array has elements, members or bytes of a type."""
        return bool(self._ways_into(array, kind, scope))

    def _ways_into(self, array: s.DeclareArray, kind: str, scope: Scope) -> list[tuple[str, bool]]:
        for struct in scope.structs:
            if struct.name == array.type:
                return [(name, False) for name, of in struct.members if of == kind]
        bytes_ = kind == "uchar" and width_of(array.type) == 1
        return [("", False)] * (array.type == kind) + [("", True)] * bytes_

    def element(self, kind: str, scope: Scope) -> s.Expression | None:
        """A part of a private array, if there is one of this type."""
        whole = [each for each in scope.arrays if each.type == kind]
        if len(whole) > 1 and self.chance(0.4):
            one, other = self.choose.sample(whole, 2)
            index = self.index(scope, min(one.size, other.size))
            return s.Either(kind, self.condition(scope, 0), one.name, other.name, index)
        arrays = [each for each in scope.arrays if self.holds(each, kind, scope)]
        if not arrays:
            return None
        array = self.choose.choice(arrays)
        member, is_byte = self.choose.choice(self._ways_into(array, kind, scope))
        is_byte = is_byte and array.type != "uchar"
        size = array.size * (bits_of(array.type) // 8 if is_byte else 1)
        return s.Element(kind, array.name, self.index(scope, size), member, is_byte)

    def _element(self, kind: str, scope: Scope) -> s.Expression | None:
        return self.element(kind, scope)

    def _load(self, kind: str, scope: Scope) -> s.Expression:
        fitting = [each for each in scope.inputs if each.type.removeprefix("packed_") == kind]
        buffer = self.choose.choice(fitting)
        own, total = s.Name("uint", "i"), literal("uint", self.total)
        shift = literal("uint", self.choose.randrange(1, _SPARE))
        if buffer.size == self.total and kind in (*INTEGERS, "float", "half") and self.chance(0.6):
            return self._guarded(kind, buffer, shift)
        last = s.Binary("uint", "-", s.Binary("uint", "-", total, literal("uint", 1)), own)
        step = s.Binary("uint", "*", own, literal("uint", self.choose.choice([2, 3, 4, 7])))
        indices = [own, own, last, remainder(step, buffer.size), self.index(scope, buffer.size)]
        if buffer.size >= self.total + _SPARE:
            indices += [s.Binary("uint", "+", own, shift)] * 2
        return s.Load(kind, buffer.name, self._as_index(self.choose.choice(indices)))

    def _as_index(self, index: s.Expression) -> s.Expression:
        """An index in another type, which all that are within a buffer fit into."""
        if self.chance(0.6):
            return index
        kind = self.choose.choice(["int", "ushort", "ulong", "long", "int"])
        if kind == "int" and self.chance(0.5):
            one = literal("int", self.choose.randrange(3))
            more = s.Binary("int", "+", s.Cast("int", index), one, plain=True)
            return s.Binary("int", "-", more, one, plain=True)
        return s.Cast(kind, index)

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
        return s.Component(kind, vector, self.index(scope, width_of(vector.type)))
