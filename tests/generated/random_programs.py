"""Random programs from a seed: inputs, outputs, functions, the kernel's body, and the launch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from generated import syntax as s
from generated.kinds import width_of
from generated.random_choices import literal
from generated.random_shapes import RandomShapes
from generated.random_statements import SCALARS, SUM
from generated.scope import Scope
from generated.text import OUTPUT_PLACES, SHARED_PLACES

_THREADS = (
    *((32, 1, 1), (64, 1, 1), (256, 1, 1), (1024, 1, 1), (20, 1, 1), (33, 1, 1), (100, 1, 1)),
    *((8, 8, 1), (16, 16, 1), (32, 4, 1), (7, 5, 2), (8, 4, 2), (1, 40, 1), (16, 3, 1), (5, 1, 1)),
)
_ODD_THREADS = (
    *((31, 1, 1), (65, 1, 1), (48, 1, 1), (96, 1, 1), (500, 1, 1), (9, 9, 1), (3, 3, 3)),
    *((1, 1, 70), (12, 11, 1), (128, 3, 1), (47, 2, 1), (2, 2, 20), (64, 2, 1), (1, 32, 1)),
)
_INPUTS = ("short", "uchar", "ushort", "int", "long", "half", "char")
_VECTOR_INPUTS = ("uint2", "float4", "packed_float3", "half4", "uchar4", "float2", "uint4")
_OUTPUTS = ("uint", "float", "int", "ushort", "uchar", "long", "half", "uint2", "float4", "half4")


def random_program(seed: int, statements: int = 22, *, richer: bool = False) -> s.Program:
    """Return the program of a seed. Programs that are `richer` have more shapes of statements.

    A seed's two programs have nothing in common.
    """
    return _Programs(random.Random(seed), seed, statements, richer=richer).program()


def _launch(
    choose: random.Random, sizes: Sequence[tuple[int, int, int]]
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Threads of a group and of the grid, with fewer threads at its edges half of the time."""
    threads = choose.choice(sizes)
    counts = [choose.choice([1, 2, 3]) if size > 1 else 1 for size in threads]
    while counts[0] * counts[1] * counts[2] * threads[0] * threads[1] * threads[2] > 2048:
        counts = [max(1, each - 1) for each in counts]
    grid = [size * count for size, count in zip(threads, counts, strict=True)]
    if choose.random() < 0.5:
        grid = [
            max(1, whole - choose.randrange(size)) if size > 1 else whole
            for whole, size in zip(grid, threads, strict=True)
        ]
    return threads, (grid[0], grid[1], grid[2])


class _Programs(RandomShapes):
    def __init__(self, choose: random.Random, seed: int, statements: int, *, richer: bool) -> None:
        self._seed = seed
        self.richer = richer
        sizes = (*_THREADS, *_ODD_THREADS) if richer else _THREADS
        self._threads, self._grid = _launch(choose, sizes)
        x, y, z = self._grid
        if richer:  # of small ones clang unrolls the loops
            statements = choose.choice([4, 6, 10, statements])
        super().__init__(choose, x * y * z, choose.randrange(statements // 2, statements + 1))
        self.loops_everywhere = richer
        # Of kernels whose lanes do not ask for each other, narrower rows may be run.
        self.asks = choose.random() < 0.8
        # And of richer ones, some whose threads share nothing: those are run in loops.
        self.meets = not richer or choose.random() < 0.85
        self.asks = self.asks and self.meets
        self._threadgroup: list[s.Shared] = []

    def shared_arrays(self) -> list[s.Shared]:
        return self._threadgroup

    def program(self) -> s.Program:
        structs, inputs, outputs = self._structs(), self._inputs(), self._outputs()
        self._threadgroup = self._arrays()
        functions = self._functions(structs)
        if self.richer:
            self.taking = self.functions_that_take(structs, inputs, functions)
        scope = Scope(
            constants=self._places(),
            uniform=(s.Name("uint", "group"), s.Name("uint", "total")),
            structs=tuple(structs),
            inputs=tuple(inputs),
            outputs=tuple(outputs),
            functions=tuple(functions),
            jumps=frozenset({"return"}),
            together=self.asks,
        )
        body = self._body(scope)
        shared = self._threadgroup
        return s.Program(
            *(self._seed, self._threads, self._grid, body, inputs, outputs, shared, structs),
            functions=[*functions, *self.taking],
        )

    def _places(self) -> tuple[s.Name, ...]:
        """Return the expressions that give a thread's position."""
        names = ["i", "i", "tid", "tid", "sg", "group", "count", "total"]
        if self.asks:
            names += ["lane", "lane", "lane"]
        if self._grid[1:] != (1, 1) or self._threads[1:] != (1, 1):
            names += ["x", "y", "z"]
        return tuple(s.Name("uint", each) for each in names)

    def _meeting(self, scope: Scope, total: s.Name) -> s.Block:
        """Something that takes a way of running other than in loops."""
        if not self.meets:
            return []
        if not self.asks:
            return self.exchange(scope)
        vote = s.Together("uint", "simd_ballot", [self.condition(scope, 1)])
        return [s.Assign(total, s.Binary("uint", "^", total, vote))]

    def _structs(self) -> list[s.Struct]:
        if self.chance(0.6):
            return []
        kinds = [
            self.choose.choice([*SCALARS, "float2"]) for _ in range(self.choose.randrange(1, 4))
        ]
        return [s.Struct("S0", [(f"m{at}", kind) for at, kind in enumerate(kinds)])]

    def _inputs(self) -> list[s.Buffer]:
        kinds = ["uint", "float", self.choose.choice(_INPUTS), self.choose.choice(_VECTOR_INPUTS)]
        spare = [16, 16, self.choose.choice([0, 16]), 16]
        return [
            s.Buffer("abcd"[at], kind, self.total + more, self.choose.randrange(1 << 30))
            for at, (kind, more) in enumerate(zip(kinds, spare, strict=True))
        ]

    def _outputs(self) -> list[s.Output]:
        kinds = ["uint", self.choose.choice(_OUTPUTS)]
        return [
            s.Output(f"out{at}", kind, self.choose.choice([1, 2, 3, 4]), self._order())
            for at, kind in enumerate(kinds)
        ]

    def _order(self) -> str:
        return self.choose.choice(list(OUTPUT_PLACES))

    def _arrays(self) -> list[s.Shared]:
        kinds = self.choose.sample(["uint", "uint", "float", "ushort", "float2"], 2)
        orders = list(SHARED_PLACES)
        return [
            s.Shared(f"t{at}", kind, self.choose.choice(orders)) for at, kind in enumerate(kinds)
        ]

    def _functions(self, structs: list[s.Struct]) -> list[s.Function]:
        found: list[s.Function] = []
        for at in range(self.choose.choice([0, 0, 1, 2])):
            inlined = self.chance(0.6)
            kinds = [self.choose.choice(SCALARS) for _ in range(self.choose.randrange(1, 4))]
            parameters = [(f"a{number}", kind) for number, kind in enumerate(kinds)]
            result = self.choose.choice(["uint", "int", "float", "uchar", "long"])
            scope = Scope(
                variables=tuple(s.Name(kind, name) for name, kind in parameters),
                structs=tuple(structs),
                functions=tuple(each for each in found if inlined or not each.inlined),
                jumps=frozenset({"return"}),
                together=self.asks and inlined and self.chance(0.7),
                level=False,
                returns=result,
            )
            body = self.block(scope, 3)
            last = self.expression(result, scope, 1)
            found.append(s.Function(f"f{at}", result, parameters, body, last, inlined))
            if scope.together:
                self.meeting.add(f"f{at}")
        return found

    def _body(self, scope: Scope) -> s.Block:
        """Variables, statements, and what they come to in every output."""
        total = s.Name("uint", SUM)
        body: s.Block = [s.Declare(total.name, self.expression("uint", scope, 1))]
        scope = replace(scope, variables=(total,))
        while self.budget > 0:
            self.budget -= 1
            made, scope = self._statement(scope)
            body += made
        body += self.kept(scope, replace(scope, variables=(total,), arrays=()))
        body += self._meeting(scope, total)
        for output in scope.outputs:
            for slot in range(output.slots):
                value: s.Expression = self.expression(output.type, scope, 1)
                if output.type == "uint":
                    value = total
                elif slot == 0 and width_of(output.type) == 1:
                    value = s.Cast(output.type, s.Binary("uint", "&", total, literal("uint", 127)))
                body.append(s.Assign(s.OwnOutput(output.type, output.name, slot), value))
        return body
