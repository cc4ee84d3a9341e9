"""The model: runs a program's tree for all lanes at once, with masks.

Lanes that part meet again at the end of the statement at which they parted: behind the `if`, the
`switch` or the loop, and, of an inlined function, behind the call. Those that break, continue or
return wait there. A step is taken by the lanes of all SIMD-groups; these share nothing but memory,
and what they read of each other's lies behind a barrier.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from generated import syntax as s
from generated.expressions import Expressions
from generated.launch import Array, inputs_of, outputs_of, place_of, places_of
from generated.lending import Lent
from generated.text import CELLS, OPERATIONS, SHARED_CAPACITY

MOST_TURNS = 100_000
_UPDATES = {
    "add": np.add,
    "sub": np.subtract,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def expected(program: s.Program) -> dict[str, Array]:
    """Return every output after the program, and the cells of atomic updates."""
    model = _Model(program)
    with np.errstate(all="ignore"):
        model.block(program.body, model.places.live)
    return model.outputs


@dataclass
class _Waiting:
    """Lanes that wait behind a loop or switch, or at the end of a loop's turn."""

    broken: Array
    continued: Array | None  # None of a switch, which `continue` passes by


@dataclass
class _Returned:
    """The results of the lanes that have returned from a function."""

    value: Array
    loops: list[_Waiting] = field(default_factory=list)


class _Model(Expressions):
    def __init__(self, program: s.Program) -> None:
        self.program = program
        self.places = places_of(program)
        self.inputs = inputs_of(program)
        self.outputs = outputs_of(program)
        self.variables = dict(self.places.names)
        self.functions = {each.name: each for each in program.functions}
        self.structs = {each.name: each for each in program.structs}
        self.output_of = {each.name: each for each in program.outputs}
        groups = int(self.places.group.max()) + 1
        self.shared = {
            each.name: self.zeros(each.type, (groups, SHARED_CAPACITY["same"]))
            for each in program.shared
        }
        self._frames = [_Returned(np.zeros(0))]

    # Statements: each gives the lanes that go on behind it.

    def block(self, statements: s.Block, mask: Array) -> Array:
        """Run statements one after the other."""
        for each in statements:
            if not mask.any():
                break
            mask = getattr(self, f"_{type(each).__name__.lower()}")(each, mask)
        return mask

    def _declare(self, node: s.Declare, mask: Array) -> Array:
        self.assign_variable(node.name, self.value(node.value, mask), mask)
        return mask

    def _declarearray(self, node: s.DeclareArray, mask: Array) -> Array:
        names = {"": node.type}
        if node.type in self.structs:
            names = {f".{name}": kind for name, kind in self.structs[node.type].members}
        for name, kind in names.items():
            zeros = self.zeros(kind, (*mask.shape, node.size))
            self.assign_variable(f"{node.name}{name}", zeros, mask)
        return mask

    def _assign(self, node: s.Assign, mask: Array) -> Array:
        value, target = self.value(node.value, mask), node.target
        if isinstance(target, s.Name):
            self.assign_variable(target.name, value, mask)
        elif isinstance(target, s.OwnOutput):
            output = self.output_of[target.buffer]
            place = place_of(output, target.slot, self.program, self.own(), self.inputs["order"])
            self.outputs[target.buffer].reshape(-1, *value.shape[2:])[place[mask]] = value[mask]
        elif isinstance(target, s.OwnShared):
            where = (self.places.group[mask], self.variables["tid"][mask])
            self.shared[target.array][where] = value[mask]
        else:
            self.assign_part(target, value, mask)
        return mask

    def _copy(self, node: s.Copy, mask: Array) -> Array:
        target, source = self.value(node.target, mask), self.value(node.source, mask)
        for name in [each for each in self.variables if each.startswith(f"{node.array}.")]:
            whole = self.variables[name].copy()
            rows, lanes = np.nonzero(mask)
            places = [self.within(each, whole.shape[2], mask)[mask] for each in (target, source)]
            whole[rows, lanes, places[0]] = self.variables[name][rows, lanes, places[1]]
            self.variables[name] = whole
        return mask

    def _if(self, node: s.If, mask: Array) -> Array:
        condition = self.value(node.condition, mask)
        yes = self.block(node.yes, mask & condition)
        return yes | self.block(node.no, mask & ~condition)

    def _turn(self, body: s.Block, active: Array) -> tuple[Array, Array]:
        """A turn of a loop: the lanes that come to its end, and those that have left by `break`."""
        waiting = _Waiting(np.zeros_like(active), np.zeros_like(active))
        loops = self._frames[-1].loops
        loops.append(waiting)
        after = self.block(body, active) | waiting.continued
        loops.pop()
        return after, waiting.broken

    def _for(self, node: s.For, mask: Array) -> Array:
        counter, active, left = node.counter, mask, np.zeros_like(mask)
        first = self.value(node.limit, mask) if node.down else np.zeros(mask.shape, np.uint8)
        self.assign_variable(counter, self.cast(first, node.type), mask)
        for _ in range(MOST_TURNS):
            now = self.variables[counter]
            inside = now > 0 if node.down else now < self.value(node.limit, active)
            left, active = left | (active & ~inside), active & inside
            if not active.any():
                return left
            if node.down:
                self.assign_variable(counter, now - now.dtype.type(1), active)
            active, broken = self._turn(node.body, active)
            left |= broken
            if not node.down:
                now = self.variables[counter]
                self.assign_variable(counter, now + now.dtype.type(1), active)
        raise RecursionError("a loop without end")

    def _while(self, node: s.While, mask: Array) -> Array:
        active, left = mask, np.zeros_like(mask)
        if node.after:
            self.variables[node.counter] = np.zeros(mask.shape, np.uint32)
            active, left = self._turn(node.body, active)
        for turn in range(node.turns):
            inside = np.zeros_like(active)
            if active.any():
                inside = active & self.value(node.condition, active)
            left, active = left | (active & ~inside), inside
            if not active.any():
                return left
            self.variables[node.counter] = np.full(mask.shape, turn + 1, np.uint32)
            active, broken = self._turn(node.body, active)
            left |= broken
        return left | active

    def _switch(self, node: s.Switch, mask: Array) -> Array:
        value = self.value(node.value, mask)
        labels = [label for case in node.cases for label in case.labels]
        waiting = _Waiting(np.zeros_like(mask), None)
        self._frames[-1].loops.append(waiting)
        fallen, left = np.zeros_like(mask), np.zeros_like(mask)
        for case in node.cases:
            chosen = np.isin(value, case.labels) if case.labels else ~np.isin(value, labels)
            after = self.block(case.body, fallen | (mask & chosen))
            fallen = after if case.falls else np.zeros_like(mask)
            left |= np.zeros_like(mask) if case.falls else after
        self._frames[-1].loops.pop()
        return left | fallen | waiting.broken

    def _break(self, node: s.Break, mask: Array) -> Array:
        self._frames[-1].loops[-1].broken |= mask
        return np.zeros_like(mask)

    def _continue(self, node: s.Continue, mask: Array) -> Array:
        for waiting in reversed(self._frames[-1].loops):
            if waiting.continued is not None:
                waiting.continued |= mask
                break
        return np.zeros_like(mask)

    def _return(self, node: s.Return, mask: Array) -> Array:
        if node.value is not None:
            value = self.value(node.value, mask)
            frame = self._frames[-1]
            frame.value = self.chosen(mask, value, frame.value)
        return np.zeros_like(mask)

    def _fence(self, node: s.Fence, mask: Array) -> Array:
        return mask

    def call(self, node: s.UserCall, mask: Array) -> Array:
        """Return the result of a function of the program for the lanes that call it."""
        function, outer = self.functions[node.function], self.variables
        parameters = [parameter for parameter, _ in function.parameters]
        operands = [self.value(each, mask) for each in node.operands]
        known = dict(zip(parameters, operands, strict=True))
        lent = [
            Lent(taken, given.array, self.value(given.index, mask).astype(np.int64) % given.choices)
            for taken, given in zip(function.arrays, node.arrays, strict=True)
        ]
        for each in lent:
            known |= each.inside(outer)
        self.variables = known | {"i": outer["i"]} if function.reads else known
        self._frames.append(_Returned(self.zeros(function.type, mask.shape)))
        end = self.block(function.body, mask)
        last = self.value(function.result, end) if end.any() else self._frames[-1].value
        value = self.chosen(end, last, self._frames.pop().value)
        inside, self.variables = self.variables, outer
        for each in lent:
            outer |= each.written(inside, outer, mask)
        return value

    def _atomicupdate(self, node: s.AtomicUpdate, mask: Array) -> Array:
        first = OPERATIONS.index(node.operation) * CELLS
        place = first + self.value(node.index, mask).astype(np.int64) % CELLS
        value = self.value(node.value, mask)
        _UPDATES[node.operation].at(self.outputs["cells"], place[mask], value[mask])
        return mask

    def _fetch(self, node: s.Fetch, mask: Array) -> Array:
        cells, own = self.outputs["mine"], self.own()
        value, before = self.value(node.value, mask), cells[own]
        after = value if node.operation == "exchange" else _UPDATES[node.operation](before, value)
        cells[own[mask]] = after[mask]
        self.assign_variable(node.name, before, mask)
        return mask

    def _exchange(self, node: s.Exchange, mask: Array) -> Array:
        return self.block(node.reads, self.block(node.writes, mask))

    def _tally(self, node: s.Tally, mask: Array) -> Array:
        own = (self.places.group[mask], self.variables["tid"][mask])
        self.shared[node.array][own] = 5
        return self.block(node.reads, self.block(node.updates, mask))

    def _sharedupdate(self, node: s.SharedUpdate, mask: Array) -> Array:
        place = (self.places.group, self.of_thread(node.index, mask))
        value = self.value(node.value, mask)
        where = tuple(each[mask] for each in place)
        _UPDATES[node.operation].at(self.shared[node.array], where, value[mask])
        return mask
