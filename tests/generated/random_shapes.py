"""Random statements of shapes that only richer programs have."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from generated import syntax as s
from generated.kinds import VECTORS, scalar_of, width_of
from generated.random_choices import literal
from generated.random_statements import SCALARS, RandomStatements
from generated.scope import Scope

_FETCHES = ("add", "sub", "min", "max", "and", "or", "xor")
_TAKEN = ("uint", "float", "ushort", "uchar", "long", "half", "float4")
_UNUSUAL = ("ulong", "bfloat")
_LETTERS = "xyzw"


class RandomShapes(RandomStatements):
    """Loops that are left across levels, private memory and inputs given to functions, swizzles.

    And atomic operations whose results are used, 64-bit numbers without a sign, and bfloat.
    """

    richer = False
    asks = True  # whether lanes ask for each other at all
    meets = True  # whether there are barriers
    taking: Sequence[s.Function] = ()  # the functions that take private memory

    def _statement(self, scope: Scope) -> tuple[s.Block, Scope]:
        if not self.richer or not self.chance(0.35):
            return super()._statement(scope)
        ways = [
            *[self._across, self._across, self._fetch, self._swizzled, self._swizzled],
            *[self._passed, self._passed, self._passed, self._unusual],
        ]
        return self.choose.choice(ways)(scope)

    def jumps_of_cases(self, scope: Scope) -> frozenset[str]:
        """In richer programs `break` leaves a switch from within an `if`, too."""
        return super().jumps_of_cases(scope) | ({"break"} if self.richer else set())

    def _meet(self, scope: Scope) -> s.Block:
        return super()._meet(scope) if self.meets else self._assign(scope)

    def _across(self, scope: Scope) -> tuple[s.Block, Scope]:
        """A loop in which lanes decide that they leave, behind it, what is around it."""
        if not scope.loops or not scope.jumps:
            return self._assign(scope), scope
        flag = s.Name("uint", self.names.fresh("g"))
        counter = s.Name("uint", self.names.fresh("k"))
        inner = self._looped(scope, counter, is_uniform=False)
        calm = replace(inner.inside(), jumps=frozenset())
        leaving: s.Block = self.block(calm, 2) if self.chance(0.6) else []
        leaving += [s.Assign(flag, literal("uint", 1)), s.Break()]
        body = [
            *self.block(inner, 2),
            s.If(self.condition(inner, 1), leaving, []),
            *self.block(inner, 2),
        ]
        raised = s.Compare("bool", "!=", flag, literal("uint", 0))
        return [
            s.Declare(flag.name, literal("uint", 0)),
            s.For(counter.name, "uint", self._turns(scope), body),
            s.If(raised, self._leaving(scope.inside()), []),
        ], scope

    def _fetch(self, scope: Scope) -> tuple[s.Block, Scope]:
        if not scope.outputs:
            return self._assign(scope), scope
        # In a loop that lanes leave, an exchange might wait for others.
        operations = _FETCHES if scope.in_loop else (*_FETCHES, "exchange")
        name = s.Name("uint", self.names.fresh("v"))
        value = self.expression("uint", scope, 1)
        inner = replace(scope, variables=(*scope.variables, name))
        return [s.Fetch(name.name, self.choose.choice(operations), value)], inner

    def _swizzled(self, scope: Scope) -> tuple[s.Block, Scope]:
        """An assignment to some of a vector's components."""
        vectors = [
            (each, kind)
            for each in scope.variables
            for kind in VECTORS
            if scalar_of(each.type) == scalar_of(kind) and width_of(each.type) >= width_of(kind)
            if width_of(each.type) > 1
        ]
        before: s.Block = []
        if not vectors:
            kind = self.choose.choice(VECTORS)
            vector = s.Name(kind, self.names.fresh("v"))
            before = [s.Declare(vector.name, self.expression(kind, scope))]
            scope = replace(scope, variables=(*scope.variables, vector))
            vectors = [(vector, kind)]
        vector, kind = self.choose.choice(vectors)
        letters = self.choose.sample(_LETTERS[: width_of(vector.type)], width_of(kind))
        target = s.Swizzle(kind, vector, "".join(letters))
        return [*before, s.Assign(target, self.expression(kind, scope))], scope

    def _vector(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        if not self.richer or not self.chance(0.3):
            return super()._vector(kind, scope, depth)
        source = self.choose.choice(
            [each for each in VECTORS if scalar_of(each) == scalar_of(kind)]
        )
        letters = self.choose.choices(_LETTERS[: width_of(source)], k=width_of(kind))
        return s.Swizzle(kind, self.expression(source, scope, depth), "".join(letters))

    def _unusual(self, scope: Scope) -> tuple[s.Block, Scope]:
        name = s.Name(self.choose.choice(_UNUSUAL), self.names.fresh("v"))
        value = self.expression(name.type, scope)
        return [s.Declare(name.name, value)], replace(scope, variables=(*scope.variables, name))

    # Functions that take private memory.

    def functions_that_take(
        self, structs: list[s.Struct], inputs: list[s.Buffer], known: list[s.Function]
    ) -> list[s.Function]:
        """Some that take an array, by pointer or a copy of one element, and may read inputs."""
        return [
            self._function_that_takes(f"h{at}", structs, inputs, known)
            for at in range(self.choose.choice([0, 1, 1, 2]))
        ]

    def _function_that_takes(
        self, name: str, structs: list[s.Struct], inputs: list[s.Buffer], known: list[s.Function]
    ) -> s.Function:
        inlined, copied = self.chance(0.5), bool(structs) and self.chance(0.4)
        is_struct = copied or (bool(structs) and self.chance(0.4))
        kind = structs[0].name if is_struct else self.choose.choice(_TAKEN)
        taken = s.Taken("q", kind, 1 if copied else self.choose.randrange(1, 5), copied)
        parameters = [(f"a{at}", self.choose.choice(SCALARS)) for at in range(2)]
        result = self.choose.choice(["uint", "int", "float", "ushort", "long"])
        reads = inputs if self.chance(0.5) else []
        scope = Scope(
            variables=tuple(s.Name(kind, name) for name, kind in parameters),
            constants=(s.Name("uint", "i"),) if reads else (),
            arrays=(s.DeclareArray(taken.name, taken.type, taken.size),),
            structs=tuple(structs),
            inputs=tuple(reads),
            functions=tuple(each for each in known if inlined or not each.inlined),
            jumps=frozenset({"return"}),
            together=self.asks and inlined and self.chance(0.6),
            level=False,
            returns=result,
        )
        body = self.block(scope, 3)
        last = self.expression(result, scope, 1)
        if scope.together:
            self.meeting.add(name)
        return s.Function(name, result, parameters, body, last, inlined, [taken], reads)

    def _passed(self, scope: Scope) -> tuple[s.Block, Scope]:
        """Return a call of such a function as a statement: it writes what others may read."""
        fitting = [each for each in self.taking if scope.together or each.name not in self.meeting]
        if not fitting or not scope.outputs:
            return self._assign(scope), scope
        function = self.choose.choice(fitting)
        (taken,) = function.arrays
        before: s.Block = []
        arrays = [
            each for each in scope.arrays if each.type == taken.type and each.size >= taken.size
        ]
        if not arrays:
            size = taken.size + self.choose.randrange(3)
            arrays = [s.DeclareArray(self.names.fresh("p"), taken.type, size)]
            before = list(arrays)
            scope = replace(scope, arrays=(*scope.arrays, *arrays))
        array = self.choose.choice(arrays)
        choices = array.size - taken.size + 1
        index = self.index(replace(scope, together=False), choices)
        given = s.Given(array.name, index, choices, taken.copied)
        operands = [self.expression(kind, scope, 1) for _, kind in function.parameters]
        reads = ["i", *(each.name for each in function.reads)] if function.reads else []
        value = s.UserCall(function.type, function.name, operands, [given], reads)
        name = s.Name(function.type, self.names.fresh("v"))
        inner = replace(scope, variables=(*scope.variables, name))
        return [*before, s.Declare(name.name, value)], inner
