"""Random calls of functions of SIMD-groups and quads."""

from __future__ import annotations

from generated import syntax as s
from generated.kinds import is_float
from generated.lanes import MOVES, REDUCTIONS, SCANS
from generated.random_choices import RandomChoices, literal
from generated.scope import Scope


class RandomTogether(RandomChoices):
    """Calls whose operands are random expressions."""

    def _part(self) -> tuple[str, int]:
        return ("quad", 4) if self.choose.random() < 0.25 else ("simd", 32)

    def together(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        """Return an expression of a type that lanes of a SIMD-group or a quad compute together."""
        ways = [self._reduction, self._reduction, self._move, self._move, self._fill]
        if not is_float(kind) or kind == "float":
            ways.append(self._scan)
        if kind == "uint":
            ways += [self._ballot, self._ballot]
        return self.choose.choice(ways)(kind, scope, depth)

    def vote(self, scope: Scope, depth: int) -> s.Expression:
        """Return a condition that lanes decide together."""
        part, _ = self._part()
        name = self.choose.choice(["any", "all", "is_first"])
        operands = [] if name == "is_first" else [self.condition(scope, depth)]
        return s.Together("bool", f"{part}_{name}", operands)

    def _ballot(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        part, _ = self._part()
        if self.choose.random() < 0.3:
            return s.Together(kind, f"{part}_active_threads_mask", [])
        return s.Together(kind, f"{part}_ballot", [self.condition(scope, depth)])

    def _reduction(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        names = REDUCTIONS[:4] if is_float(kind) else REDUCTIONS
        name = self.choose.choice(names)
        return s.Together(kind, f"{self._part()[0]}_{name}", [self.expression(kind, scope, depth)])

    def _scan(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        operand = self.expression(kind, scope, depth)
        names = SCANS
        if is_float(kind):
            # Sums of small whole numbers are the same in any order.
            whole = s.Binary(
                "uint", "&", self.expression("uint", scope, depth), literal("uint", 63)
            )
            operand, names = s.Cast(kind, whole), [each for each in SCANS if each.endswith("sum")]
        return s.Together(kind, f"{self._part()[0]}_{self.choose.choice(names)}", [operand])

    def _move(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        part, size = self._part()
        value = self.expression(kind, scope, depth)
        name = self.choose.choice([*MOVES, "broadcast_first"])
        if name == "broadcast_first":
            return s.Together(kind, f"{part}_{name}", [value])
        by: s.Expression = literal("ushort", self.choose.randrange(size))
        if name == "shuffle":
            lane = s.Binary(
                "uint", "%", self.expression("uint", scope, depth), literal("uint", size + 2)
            )
            by = s.Cast("ushort", lane)
        if name in ("shuffle_up", "shuffle_down"):
            by = literal("ushort", self.choose.choice([0, 1, 1, 2, size // 2, size, size + 1]))
        return s.Together(kind, f"{part}_{name}", [value, by])

    def _fill(self, kind: str, scope: Scope, depth: int) -> s.Expression:
        part, size = self._part()
        value, fill = (self.expression(kind, scope, depth) for _ in range(2))
        name = f"{part}_shuffle_and_fill_{self.choose.choice(['up', 'down'])}"
        modulo = self.choose.choice([each for each in (2, 4, 8, 16, 32) if each <= size])
        by = literal("ushort", self.choose.randrange(modulo))
        if modulo == size:
            return s.Together(kind, name, [value, fill, by])
        return s.Together(kind, name, [value, fill, by, literal("ushort", modulo)])
