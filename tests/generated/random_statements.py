"""Random statements, nested, each fit for where it stands."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

from generated import syntax as s
from generated.kinds import INTEGERS, VECTORS, is_float, scalar_of, width_of
from generated.random_choices import literal, remainder
from generated.random_expressions import RandomExpressions
from generated.scope import Names, Scope
from generated.text import OPERATIONS

SCALARS = ("uint", "uint", "int", "float", "ushort", "uchar", "short", "long", "half", "char")
SUM = "sum"  # the variable that everything goes into
_COUNTERS = ("uint", "uint", "int", "ushort")


class RandomStatements(RandomExpressions):
    """Blocks of statements, of as many as `budget` says."""

    def __init__(self, choose: random.Random, total: int, budget: int) -> None:
        super().__init__(choose, total)
        self.names = Names()
        self.budget = budget
        self.loops_everywhere = False  # also where lanes are about to leave the loop around
        self.tangled = self.chance(0.4)  # more of branches and loops, less of anything else

    def block(self, scope: Scope, most: int = 5) -> s.Block:
        """Some statements. What they declare is known to those behind."""
        found: s.Block = []
        outer = scope
        for _ in range(self.choose.randrange(1, most + 1)):
            if self.budget <= 0:
                break
            self.budget -= 1
            made, scope = self._statement(scope)
            found += made
        return [*found, *self.kept(scope, outer)]

    def kept(self, scope: Scope, outer: Scope) -> s.Block:
        """Put what a block has computed into the kernel's sum: nothing else reads it."""
        fresh = [each for each in scope.variables if each not in outer.variables]
        total = next((each for each in outer.variables if each.name == SUM), None)
        if total is None or not (fresh or self.chance(0.4)):
            return []
        added: s.Expression = s.Binary("uint", "*", total, literal("uint", 31))
        for each in [*fresh, *self.choose.sample(outer.variables, 1)]:
            added = s.Binary("uint", "+", added, self.as_number(each, scope))
        for array in scope.arrays:
            if array not in outer.arrays and array.type in SCALARS:
                element = s.Element(array.type, array.name, self.index(scope, array.size))
                added = s.Binary("uint", "^", added, s.Cast("uint", element))
        return [s.Assign(total, added)]

    def as_number(self, value: s.Expression, scope: Scope) -> s.Expression:
        """A uint of any value."""
        if width_of(value.type) > 1:
            index = self.index(replace(scope, together=False), width_of(value.type))
            value = s.Component(scalar_of(value.type), value, index)
        if is_float(value.type):
            value = s.Binary(value.type, "*", value, literal(value.type, 4))
        return value if value.type == "uint" else s.Cast("uint", value)

    def _statement(self, scope: Scope) -> tuple[s.Block, Scope]:
        kind = self.choose.randrange(100)
        if self.tangled and self.chance(0.7):
            kind = self.choose.choice([45, 60, 60, 75, 75, 85, 90, 93, 93])
        if kind < 15:
            return self._declare(scope)
        if kind < 20:
            return self._declare_array(scope)
        ways: list[tuple[int, Callable[[Scope], s.Block]]] = [
            *[(50, self._assign), (56, self._atomic), (72, self._if), (82, self._for)],
            *[(87, self._while), (92, self._switch), (95, self._leave), (100, self._meet)],
        ]
        make = next(make for limit, make in ways if kind < limit)
        return make(scope), scope

    def _declare(self, scope: Scope) -> tuple[s.Block, Scope]:
        kind = self.choose.choice(VECTORS if self.chance(0.25) else SCALARS)
        name = s.Name(kind, self.names.fresh("v"))
        value = self.expression(kind, scope)
        return [s.Declare(name.name, value)], replace(scope, variables=(*scope.variables, name))

    def _declare_array(self, scope: Scope) -> tuple[s.Block, Scope]:
        kinds = [*SCALARS, "float4", "uint2", *[each.name for each in scope.structs] * 4]
        size = self.choose.choice([2, 3, 4, 7, 8])
        array = s.DeclareArray(self.names.fresh("p"), self.choose.choice(kinds), size)
        inner = replace(scope, arrays=(*scope.arrays, array))
        filled: s.Block = [array]
        if scope.loops and self.chance(0.7):
            filled += self._fill_array(array, inner)
        return filled, inner

    def _fill_array(self, array: s.DeclareArray, scope: Scope) -> s.Block:
        """Fill an array by a loop that writes every element, as kernels do."""
        counter = s.Name("uint", self.names.fresh("k"))
        inner = self._looped(scope, counter, is_uniform=True)
        target = s.Element(array.type, array.name, counter)
        for struct in scope.structs:
            if struct.name == array.type:
                member, kind = self.choose.choice(struct.members)
                target = s.Element(kind, array.name, counter, member)
        value = self.expression(target.type, replace(inner, together=False))
        body: s.Block = [s.Assign(target, value)]
        return [s.For(counter.name, "uint", literal("uint", array.size), body)]

    def _target(self, scope: Scope) -> s.Expression | None:
        """Something to assign to."""
        kind = self.choose.choice([*SCALARS, *INTEGERS, "half", "float", "float4", "uint2"])
        fitting = [each for each in scope.variables if each.type == kind]
        outputs = [each for each in scope.outputs if each.type == kind]
        own = [each for each in scope.own if each.type == kind]
        ways: list[s.Expression | None] = [self.element(kind, scope)] * 2
        ways += [self.component(kind, scope)]
        if fitting:
            ways += [self.choose.choice(fitting)] * 3
        if outputs:
            output = self.choose.choice(outputs)
            ways.append(s.OwnOutput(kind, output.name, self.choose.randrange(output.slots)))
        if own:
            ways += [s.OwnShared(kind, self.choose.choice(own).name)] * 3
        known = [each for each in ways if each is not None]
        return self.choose.choice(known) if known else None

    def _assign(self, scope: Scope) -> s.Block:
        if self.tangled and any(each.name == SUM for each in scope.variables):
            total = s.Name("uint", SUM)
            more = self.expression("uint", scope, 1)
            if scope.together:
                more = self.together("uint", scope, 1)
            product = s.Binary("uint", "*", total, literal("uint", 31))
            return [s.Assign(total, s.Binary("uint", "+", product, more))]
        names = [each.name for each in scope.structs]
        structs = [each for each in scope.arrays if each.type in names]
        if structs and self.chance(0.25):
            array = self.choose.choice(structs)
            places = [self.index(scope, array.size) for _ in range(2)]
            return [s.Copy(array.name, *places)]
        for _ in range(6):
            target = self._target(scope)
            if target is not None:
                return [s.Assign(target, self.expression(target.type, scope))]
        return []

    def _atomic(self, scope: Scope) -> s.Block:
        if not scope.outputs:
            return self._assign(scope)
        index, value = (self.expression("uint", scope, 1) for _ in range(2))
        if scope.tally is not None and self.chance(0.7):
            return [s.SharedUpdate(*scope.tally, index, value)]
        return [s.AtomicUpdate(self.choose.choice(OPERATIONS), index, value)]

    def _if(self, scope: Scope) -> s.Block:
        condition = self.condition(scope, 2)
        inner = scope.inside()
        if not scope.jumps or not self.chance(0.35):
            no = self.block(inner, 3) if self.chance(0.5) else []
            return [s.If(condition, self.block(inner, 3), no)]
        return [s.If(condition, self._leaving(inner), [])]

    def _leaving(self, scope: Scope) -> s.Block:
        """A block at the end of which lanes leave what they are in."""
        jump = self.choose.choice(sorted(scope.jumps))
        loops = not scope.in_loop or jump == "continue" or self.loops_everywhere
        functions = scope.functions if loops else ()
        inner = replace(scope, jumps=frozenset(), loops=loops, functions=functions)
        body = self.block(inner, 2) if self.chance(0.6) else []
        if jump == "return":
            value = None
            if scope.returns:
                value = self.expression(scope.returns, inner, 1)
            return [*body, s.Return(value)]
        return [*body, s.Break() if jump == "break" else s.Continue()]

    def _leave(self, scope: Scope) -> s.Block:
        if not scope.jumps:
            return self._assign(scope)
        return [s.If(self.condition(scope, 1), self._leaving(scope.inside()), [])]

    def _looped(self, scope: Scope, counter: s.Name, *, is_uniform: bool) -> Scope:
        """The scope of a loop's body; barriers are still in place where all take the same turns."""
        return replace(
            scope,
            constants=(*scope.constants, counter),
            uniform=(*scope.uniform, counter) if is_uniform else scope.uniform,
            jumps=(scope.jumps & {"return"}) | {"break", "continue"},
            level=False,
            in_loop=True,
        )

    def _for(self, scope: Scope) -> s.Block:
        if not scope.loops:
            return self._assign(scope)
        kind = self.choose.choice(_COUNTERS)
        counter = s.Name(kind, self.names.fresh("k"))
        is_uniform = self.chance(0.45)
        limit = self.uniform(scope, 6) if is_uniform else self._turns(scope)
        inner = self._looped(scope, counter, is_uniform=is_uniform)
        if is_uniform and scope.level and self.chance(0.4):
            # With barriers inside, which all must reach: no thread leaves.
            inner = replace(inner, level=True, jumps=frozenset())
        limit = limit if kind == "uint" else s.Cast(kind, limit)
        body = self.block(inner, 4)
        return [s.For(counter.name, kind, limit, body, down=self.chance(0.2))]

    def _turns(self, scope: Scope) -> s.Expression:
        return remainder(self.expression("uint", replace(scope, together=False), 1), 6)

    def _while(self, scope: Scope) -> s.Block:
        if not scope.loops:
            return self._assign(scope)
        name, turns = self.names.fresh("w"), self.choose.randrange(1, 6)
        inner = self._looped(scope, s.Name("uint", name), is_uniform=False)
        condition = self.condition(scope, 2)
        body = self.block(inner, 4)
        return [s.While(name, turns, condition, body, after=self.chance(0.4))]

    def _switch(self, scope: Scope) -> s.Block:
        labels = self.choose.sample(range(7), self.choose.randrange(2, 5))
        cases = []
        # A jump out of a switch is one of the loop's; `break` is one of the switch's own.
        inner = scope.inside(jumps=self.jumps_of_cases(scope))
        while labels:
            count = 2 if len(labels) > 2 and self.chance(0.3) else 1
            own, labels = labels[:count], labels[count:]
            cases.append(s.Case(own, self.block(inner, 2), falls=self.chance(0.3)))
        default = self.block(inner, 2) if self.chance(0.6) else []
        value = remainder(self.expression("uint", scope, 1), 7)
        return [s.Switch(value, [*cases, s.Case([], default, falls=False)])]

    def jumps_of_cases(self, scope: Scope) -> frozenset[str]:
        """Return the jumps by which lanes may leave the cases of a switch."""
        return scope.jumps - {"break"}

    def _meet(self, scope: Scope) -> s.Block:
        if not scope.level or not scope.outputs or scope.own or scope.read or scope.tally:
            fence = scope.together and self.chance(0.5)
            return [s.Fence()] if fence else self._assign(scope)
        return self.exchange(scope)

    def exchange(self, scope: Scope) -> s.Block:
        """Return statements that all threads of a threadgroup execute around barriers."""
        array = self.choose.choice(self.shared_arrays())
        # Jumps would take threads past the barrier within.
        scope = replace(scope, jumps=frozenset(), level=False)
        reading = replace(scope, read=(array,))
        if array.type == "uint" and self.chance(0.3):
            operation = self.choose.choice(OPERATIONS)
            updates = self.block(replace(scope, tally=(array.name, operation)), 3)
            return [s.Tally(array.name, operation, updates, self.block(reading, 3))]
        value = self.expression(array.type, scope)
        writes: s.Block = [s.Assign(s.OwnShared(array.type, array.name), value)]
        writes += self.block(replace(scope, own=(array,)), 2)
        return [s.Exchange(array.name, writes, self.block(reading, 3))]

    def shared_arrays(self) -> list[s.Shared]:
        """The program's threadgroup arrays."""
        return []
