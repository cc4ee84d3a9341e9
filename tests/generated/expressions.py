"""Expressions of the model: their values in all lanes, of which a mask says who asks."""

from __future__ import annotations

import numpy as np
from generated import syntax as s
from generated.arithmetic import BINARY, COMPARE, UNARY, builtin, cast, recast
from generated.kinds import dtype_of, width_of
from generated.lanes import together
from generated.launch import Array, Places, place_of


class Expressions:
    """Evaluates expressions; what lanes that do not ask have is of no account.

    Private arrays have an axis for their elements behind those of the lanes, and another for the
    components of vectors. Structs are an array for each member, called `array.member`.
    """

    program: s.Program
    places: Places
    inputs: dict[str, Array]
    outputs: dict[str, Array]
    output_of: dict[str, s.Output]
    variables: dict[str, Array]
    shared: dict[str, Array]

    def value(self, node: s.Expression, mask: Array) -> Array:
        """The value in every lane."""
        return getattr(self, f"_of_{type(node).__name__.lower()}")(node, mask)

    def zeros(self, kind: str, shape: tuple[int, ...]) -> Array:
        """Return zeros of a type for all lanes, with an axis for components."""
        width = width_of(kind)
        return np.zeros((*shape, width) if width > 1 else shape, dtype_of(kind))

    def cast(self, values: Array, kind: str) -> Array:
        """Converted."""
        return cast(values, kind)

    def own(self) -> Array:
        """The linear indices of the lanes' threads; of lanes without a thread, some other one's."""
        return self._thread_indices().astype(np.int64)

    def _thread_indices(self) -> Array:
        return self.places.names["i"]

    def chosen(self, mask: Array, one: Array, other: Array) -> Array:
        """One value of the lanes in a mask, the other of the others."""
        return np.where(mask.reshape(*mask.shape, *[1] * (one.ndim - mask.ndim)), one, other)

    def assign_variable(self, name: str, value: Array, mask: Array) -> None:
        """Give a variable another value, in some lanes."""
        before = self.variables.get(name)
        if before is None or before.shape != value.shape:
            before = np.zeros_like(value)
        self.variables[name] = self.chosen(mask, value, before)

    def assign_part(self, target: s.Expression, value: Array, mask: Array) -> None:
        """Give a component, or an element of private memory, another value in some lanes."""
        if isinstance(target, s.Either):
            chosen = self.value(target.condition, mask)
            for array, here in ((target.yes, mask & chosen), (target.no, mask & ~chosen)):
                self.assign_part(s.Element(target.type, array, target.index), value, here)
            return
        if isinstance(target, s.Swizzle):
            assert isinstance(target.vector, s.Name)
            whole = self.variables[target.vector.name].copy()
            for at, letter in enumerate(target.letters):
                whole[mask, "xyzw".index(letter)] = value[mask, at]
            self.variables[target.vector.name] = whole
            return
        if isinstance(target, s.Component):
            assert isinstance(target.vector, s.Name)
            whole, index = self.variables[target.vector.name].copy(), target.index
            name = target.vector.name
        else:
            assert isinstance(target, s.Element)
            name = f"{target.array}.{target.member}" if target.member else target.array
            whole, index = self.variables[name].copy(), target.index
        self.variables[name] = whole
        if isinstance(target, s.Element) and target.byte:
            whole = whole.view(np.uint8)
        place = self.within(self.value(index, mask), whole.shape[2], mask)
        rows, lanes = np.nonzero(mask)
        whole[rows, lanes, place[mask]] = value[mask]

    def within(self, place: Array, size: int, mask: Array) -> Array:
        """Indices below a size; raises IndexError if those of lanes that ask are not."""
        place = place.astype(np.int64)
        if ((place < 0) | (place >= size))[mask].any():
            raise IndexError(f"a program asks for what lies beyond {size} elements")
        return place % size

    def _element(self, whole: Array, place: Array, mask: Array) -> Array:
        rows, lanes = np.indices(place.shape)
        return whole[rows, lanes, self.within(place, whole.shape[2], mask)]

    def _of_literal(self, node: s.Literal, mask: Array) -> Array:
        return np.full(mask.shape, node.value).astype(dtype_of(node.type))

    def _of_name(self, node: s.Name, mask: Array) -> Array:
        return self.variables[node.name]

    def _of_unary(self, node: s.Unary, mask: Array) -> Array:
        return UNARY[node.operator](self.value(node.operand, mask))

    def _of_binary(self, node: s.Binary, mask: Array) -> Array:
        left, right = self.value(node.left, mask), self.value(node.right, mask)
        return BINARY[node.operator](left, right)

    def _of_below(self, node: s.Below, mask: Array) -> Array:
        return self.value(node.operand, mask) % np.uint32(node.size)

    def _of_compare(self, node: s.Compare, mask: Array) -> Array:
        left, right = self.value(node.left, mask), self.value(node.right, mask)
        return COMPARE[node.operator](left, right)

    def _of_logic(self, node: s.Logic, mask: Array) -> Array:
        left = self.value(node.left, mask)
        asks = left if node.operator == "&&" else ~left
        if not (mask & asks).any():
            return left
        right = self.value(node.right, mask & asks)
        return np.where(asks, right, left)

    def _of_cast(self, node: s.Cast, mask: Array) -> Array:
        return cast(self.value(node.operand, mask), node.type)

    def _of_recast(self, node: s.Recast, mask: Array) -> Array:
        return recast(self.value(node.operand, mask), node.type)

    def _of_choice(self, node: s.Choice, mask: Array) -> Array:
        condition = self.value(node.condition, mask)
        yes = self.value(node.yes, mask & condition)
        return self.chosen(condition, yes, self.value(node.no, mask & ~condition))

    def _of_builtin(self, node: s.Builtin, mask: Array) -> Array:
        return builtin(node.function, [self.value(each, mask) for each in node.operands], node.type)

    def _of_together(self, node: s.Together, mask: Array) -> Array:
        found = together(node.function, [self.value(each, mask) for each in node.operands], mask)
        return found.astype(dtype_of(node.type), copy=False)

    def call(self, node: s.UserCall, mask: Array) -> Array:
        """Return the result of a function of the program."""
        raise NotImplementedError

    def _of_usercall(self, node: s.UserCall, mask: Array) -> Array:
        return self.call(node, mask)

    def _of_swizzle(self, node: s.Swizzle, mask: Array) -> Array:
        return self.value(node.vector, mask)[..., ["xyzw".index(each) for each in node.letters]]

    def _of_make(self, node: s.Make, mask: Array) -> Array:
        return np.stack([self.value(each, mask) for each in node.parts], axis=2)

    def _of_component(self, node: s.Component, mask: Array) -> Array:
        return self._element(self.value(node.vector, mask), self.value(node.index, mask), mask)

    def _of_load(self, node: s.Load, mask: Array) -> Array:
        memory = self.inputs[node.buffer]
        width = width_of(node.type)
        whole = memory.reshape(-1, width) if width > 1 else memory
        return whole[self.within(self.value(node.index, mask), len(whole), mask)]

    def _of_ownoutput(self, node: s.OwnOutput, mask: Array) -> Array:
        output = self.output_of[node.buffer]
        place = place_of(output, node.slot, self.program, self.own(), self.inputs["order"])
        width = width_of(node.type)
        whole = self.outputs[node.buffer]
        return (whole.reshape(-1, width) if width > 1 else whole)[place]

    def _of_element(self, node: s.Element, mask: Array) -> Array:
        name = f"{node.array}.{node.member}" if node.member else node.array
        whole = self.variables[name]
        if node.byte:
            whole = whole.view(np.uint8)
        return self._element(whole, self.value(node.index, mask), mask)

    def _of_either(self, node: s.Either, mask: Array) -> Array:
        condition, place = self.value(node.condition, mask), self.value(node.index, mask)
        yes = self._element(self.variables[node.yes], place, mask & condition)
        no = self._element(self.variables[node.no], place, mask & ~condition)
        return self.chosen(condition, yes, no)

    def of_thread(self, index: s.Expression, mask: Array) -> Array:
        """The thread of the group that an index stands for."""
        return self.value(index, mask).astype(np.int64) % self.places.names["count"]

    def _of_anyshared(self, node: s.AnyShared, mask: Array) -> Array:
        return self.shared[node.array][self.places.group, self.of_thread(node.index, mask)]

    def _of_ownshared(self, node: s.OwnShared, mask: Array) -> Array:
        own = self.places.names["tid"] % self.places.names["count"]
        return self.shared[node.array][self.places.group, own]
