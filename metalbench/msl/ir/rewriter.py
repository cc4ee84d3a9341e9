"""Changes to a function of a module, collected while a pass reads it and applied at once."""

from __future__ import annotations

from collections import defaultdict

from metalbench.msl.ir.model import BasicBlock, Function, Instruction, lazy_instruction


class Rewriter:
    """Inserts, replaces and erases instructions of one function.

    Nothing changes before `apply`, so a pass may go on reading what it changes. A text of several
    lines is several instructions.
    """

    def __init__(self, function: Function) -> None:
        self._function = function
        self._before: dict[Instruction, list[str]] = defaultdict(list)
        self._after: dict[Instruction, list[str]] = defaultdict(list)
        self._instead: dict[Instruction, list[str]] = {}
        self._at_start: dict[BasicBlock, list[str]] = defaultdict(list)

    def insert_before(self, at: Instruction, *texts: str) -> None:
        """Insert instructions before another one, behind those inserted there already."""
        self._before[at] += texts

    def insert_after(self, at: Instruction, *texts: str) -> None:
        """Insert instructions after another one, behind those inserted there already."""
        self._after[at] += texts

    def insert_at_start(self, block: BasicBlock, *texts: str) -> None:
        """Insert instructions at the beginning of a block, behind its phis."""
        self._at_start[block] += texts

    def replace(self, at: Instruction, *texts: str) -> None:
        """Replace an instruction by others, of which one gives its result."""
        self._instead[at] = [*texts]

    def erase(self, at: Instruction) -> None:
        """Erase an instruction. What uses its result must be replaced, too."""
        self._instead[at] = []

    @property
    def is_empty(self) -> bool:
        """Return whether there is nothing to change."""
        return not (self._before or self._after or self._instead or self._at_start)

    def apply(self) -> bool:
        """Change the function; return whether anything changed."""
        if self.is_empty:
            return False
        changed = {*self._before, *self._after, *self._instead}
        for block in self._function.blocks.values():
            if block in self._at_start or not changed.isdisjoint(block.instructions):
                block.instructions = self._change(block)
        self._function.forget_derived()
        return True

    def _change(self, block: BasicBlock) -> list[Instruction]:
        made: list[Instruction] = []
        starting = self._at_start.get(block)
        for each in block.instructions:
            if starting and each.opcode != "phi":
                made += map(self._make, starting)
                starting = None
            made += map(self._make, self._before.get(each, ()))
            instead = self._instead.get(each)
            made += [each] if instead is None else map(self._make, instead)
            made += map(self._make, self._after.get(each, ()))
        return made

    def _make(self, text: str) -> Instruction:
        return lazy_instruction(text if text[:1] in " \t" else f"  {text}", self._function.layout)
