"""Convert short conditional code to `select` instructions, for builds with MemorySanitizer.

MemorySanitizer's pass reports a branch on an uninitialised value. Clang makes a branch of
`v = o > v ? o : v`, and a GPU a select, which only chooses another value. So code that only
computes, and only writes to variables of the thread, becomes unconditional here. The result of a
select on an uninitialised value is uninitialised, too: it is reported where it reaches memory, a
branch or an address. This is the if-conversion of LLVM's SimplifyCFG. That pass cannot run here, as
it also removes uninitialised values.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count

from metalbench.msl.ir.model import (
    BasicBlock,
    CallInstruction,
    Function,
    Instruction,
    Memory,
    Phi,
    Terminator,
    Value,
    lazy_instruction,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError
from metalbench.msl.ir.types import BOOL

# The limit of the code that becomes unconditional.
_MOST_INSTRUCTIONS = 32
# fmt: off
_COMPUTING = frozenset({
    "add", "fadd", "sub", "fsub", "mul", "fmul", "fdiv", "fneg", "and", "or", "xor", "shl", "lshr",
    "ashr", "icmp", "fcmp", "select", "trunc", "zext", "sext", "fptrunc", "fpext", "sitofp",
    "uitofp", "bitcast", "freeze", "extractelement", "insertelement", "shufflevector",
})
# Opcodes that LLVM calls speculatable. The select does not choose a result that is undefined.
_INTRINSICS = tuple(f"llvm.{each}." for each in (
    "ctlz", "cttz", "ctpop", "bswap", "bitreverse", "fshl", "fshr", "smax", "umax", "smin", "umin",
    "sadd.sat", "uadd.sat", "ssub.sat", "usub.sat", "abs", "fabs", "minnum", "maxnum", "minimum",
    "maximum", "minimumnum", "maximumnum", "fma", "fmuladd", "copysign", "floor", "ceil", "trunc",
    "rint", "nearbyint", "round", "roundeven", "canonicalize", "fptosi.sat", "fptoui.sat",
))
# fmt: on


def convert_branches_to_selects(module: Module) -> None:
    """Convert short conditional code in all functions that MemorySanitizer instruments.

    Metal's own functions are among them: `max` of the headers is a conditional expression, too.
    Raises IrError for a function whose blocks have no names.
    """
    instrumented = {
        group
        for group, attributes in module.attribute_groups.items()
        if "sanitize_memory" in attributes.split()
    }
    for function in module.functions.values():
        if instrumented.isdisjoint(function.attribute_groups) or not function.mentions(" br i1 "):
            continue
        if not any(_find_branch(each) for each in function.blocks.values()):
            continue
        if not function.entry.head:
            raise IrError(f"blocks of {function.name} have numbers")
        is_users = module.is_users(function.subprogram)
        _IfConversion(function, _find_values_of_lanes(function) if is_users else None).convert()


def _find_branch(block: BasicBlock) -> Terminator | None:
    """Return the conditional branch that a block ends with, if a kernel's author wrote it."""
    end = block.instructions[-1]
    if end.opcode != "br" or not isinstance(end, Terminator) or end.attachment("nosanitize"):
        return None
    return end if len(end.targets) == 2 else None


def _find_jump(block: BasicBlock) -> str:
    """Return the block that a block always continues in, or ""."""
    end = block.instructions[-1]
    if end.opcode == "br" and isinstance(end, Terminator) and len(end.targets) == 1:
        return end.targets[0]
    return ""


def _find_values_of_lanes(function: Function) -> set[str]:
    """Return values and variables that depend on results of SIMD functions.

    An `if` statement by such a value often chooses among lanes, and has no effect in lanes that do
    not exist. By other values it stays a branch, and an uninitialised value is reported there.
    """
    found: set[str] = set()
    flows: list[tuple[str, list[str]]] = []
    for _, each in function.instructions:
        if _is_simd_function(each):
            found.add(each.result)
        elif each.opcode == "store" and isinstance(each, Memory) and not _is_special(each):
            flows.append((each.address.text, [each.operands[0].text]))
        elif each.result:
            flows.append((each.result, each.names))
    size = -1
    while size != len(found):
        size = len(found)
        found |= {to for to, values in flows if not found.isdisjoint(values)}
    return found


def _is_simd_function(instruction: Instruction) -> bool:
    if not isinstance(instruction, CallInstruction) or not instruction.result:
        return False
    _, is_metals, rest = instruction.name.partition("_ZN5metal")
    return bool(is_metals) and rest.lstrip("0123456789").startswith(("simd_", "quad_"))


def _is_special(access: Memory) -> bool:
    return access.is_atomic or access.volatile


class _IfConversion:
    """The blocks of one function, in which short conditional code is made unconditional."""

    def __init__(self, function: Function, conditions: set[str] | None) -> None:
        # Conditions of `if` statements that may become selects; None: all.
        self._conditions = conditions
        self._function = function
        self._blocks = function.blocks
        self._entry = function.entry.name
        self._local = {each.result for _, each in function.instructions if each.opcode == "alloca"}
        self._numbers = count()
        self._predecessors: dict[str, set[str]] = defaultdict(set)
        for block in self._blocks.values():
            self._note_successors(block)

    def convert(self) -> None:
        """Convert conditional code until nothing more can be converted.

        Code within a conditional comes after its branch, so it is converted before that is.
        """
        for name in reversed(list(self._blocks)):
            while name in self._blocks and self._change(self._blocks[name]):
                pass
        self._function.forget_derived()

    def _change(self, block: BasicBlock) -> bool:
        branch = _find_branch(block)
        if branch is None or branch.targets[0] == branch.targets[1]:
            return False
        return self._join_conditions(block, branch) or self._choose(block, branch)

    def _note_successors(self, block: BasicBlock) -> None:
        for each in block.terminator.targets:
            self._predecessors[each].add(block.name)

    def _remove(self, name: str) -> None:
        for each in self._blocks.pop(name).terminator.targets:
            self._predecessors[each].discard(name)

    def _is_short(self, name: str, of: BasicBlock, *, stores: bool) -> bool:
        """Return whether only `of` leads to a block, and its code may run without an effect."""
        block = self._blocks[name]
        if len(block.instructions) > _MOST_INSTRUCTIONS + 1 or name == self._entry:
            return False
        if self._predecessors[name] != {of.name} or block.terminator.opcode == "switch":
            return False
        return all(self._is_harmless(each, stores=stores) for each in block.instructions[:-1])

    def _is_harmless(self, instruction: Instruction, *, stores: bool) -> bool:
        if instruction.attachment("nosanitize"):
            return False
        if isinstance(instruction, Memory):
            if _is_special(instruction) or (instruction.opcode == "store" and not stores):
                return False
            return instruction.address.text in self._local
        if isinstance(instruction, CallInstruction):
            return instruction.name.startswith(_INTRINSICS)
        return instruction.opcode in _COMPUTING

    def _join_conditions(self, block: BasicBlock, branch: Terminator) -> bool:
        """Make one branch of the two of `a && b`, or `a || b`."""
        for at, second in enumerate(branch.targets):
            other = branch.targets[1 - at]
            inner = _find_branch(self._blocks[second])
            if inner is None or not self._is_short(second, block, stores=False):
                continue
            if other not in inner.targets or inner.targets[0] == inner.targets[1]:
                continue
            if any(next(self._blocks[each].phis, None) for each in inner.targets):
                continue
            # `other` is the target if the first condition says so, else if the second one does.
            whole = f"%mb.joined.{next(self._numbers)}"
            first, condition = branch.operands[0], inner.operands[0]
            if self._conditions is not None and {first.text, condition.text} & self._conditions:
                self._conditions.add(whole)
            to_other = Value(BOOL, "true" if inner.targets[0] == other else "false")
            yes, no = (condition, to_other) if at == 0 else (to_other, condition)
            text = f"  {whole} = select {first}, {yes}, {no}{branch.located}"
            block.instructions[-1:] = [
                *self._blocks[second].instructions[:-1],
                lazy_instruction(text),
                lazy_instruction(inner.text),
            ]
            block.instructions[-1].replace_operand(condition, Value(BOOL, whole))
            self._remove(second)
            self._note_successors(block)
            return True
        return False

    def _choose(self, block: BasicBlock, branch: Terminator) -> bool:
        """Make selects of a branch whose sides meet again at once."""
        then, other = branch.targets
        jumps = {each: _find_jump(self._blocks[each]) for each in (then, other)}
        if jumps[then] and jumps[then] == jumps[other]:
            sides, end = [then, other], jumps[then]
        elif jumps[then] == other:
            sides, end = [then], other
        elif jumps[other] == then:
            sides, end = [other], then
        else:
            return False
        # Of `?:` both sides give a value. Of others, the branch itself is reported.
        condition = branch.operands[0]
        is_statement = any(
            instruction.opcode == "store"
            for each in sides
            for instruction in self._blocks[each].instructions
        )
        if is_statement and self._conditions is not None and condition.text not in self._conditions:
            return False
        if end == block.name or not all(self._is_short(each, block, stores=True) for each in sides):
            return False
        sources = tuple(each if each in sides else block.name for each in (then, other))
        joined = self._blocks[end]
        phis = list(joined.phis)
        if self._predecessors[end] != {*sources} or any({*p.sources} != {*sources} for p in phis):
            return False
        made: list[str] = []
        for side in sides:
            for each in self._blocks[side].instructions[:-1]:
                made += self._make_unconditional(each, condition, is_then=side == then)
            self._remove(side)
        made += [_select_of(phi, sources, condition) for phi in phis]
        made.append(f"  br label {end}{branch.located}")
        block.instructions[-1:] = map(self._read, made)
        joined.instructions = joined.instructions[len(phis) :]
        self._predecessors[end] = {block.name}
        self._merge(block)
        return True

    def _read(self, text: str) -> Instruction:
        return lazy_instruction(text, self._function.layout)

    def _make_unconditional(
        self, instruction: Instruction, condition: Value, *, is_then: bool
    ) -> Iterator[str]:
        """Yield instructions that have no effect if the given one would not run."""
        if not isinstance(instruction, Memory) or instruction.opcode != "store":
            yield instruction.text
            return
        number = next(self._numbers)
        stored, address = instruction.operands
        old, new = f"%mb.old.{number}", f"%mb.new.{number}"
        values = stored, Value(stored.type, old)
        yes, no = values if is_then else values[::-1]
        yield f"  {old} = load {stored.type}, {address}, align 1{instruction.located}"
        yield f"  {new} = select {condition}, {yes}, {no}{instruction.located}"
        yield (
            f"  store {stored.type} {new}, {address}, align {instruction.alignment}"
            f"{instruction.attachments}"
        )

    def _merge(self, block: BasicBlock) -> None:
        """Append a block's only successor to it, if it has no other predecessor."""
        name = _find_jump(block)
        if block.terminator.loop or name in ("", block.name, self._entry):
            return
        successor = self._blocks[name]
        if self._predecessors[name] != {block.name} or next(successor.phis, None):
            return
        block.instructions[-1:] = successor.instructions
        self._remove(name)
        self._note_successors(block)
        for target in block.terminator.targets:
            for phi in self._blocks[target].phis:
                phi.rename({name: block.name})


def _select_of(phi: Phi, sources: tuple[str, ...], condition: Value) -> str:
    """Return the select in place of a phi, by the blocks for a true and a false condition."""
    values: Mapping[str, Value] = dict(zip(phi.sources, phi.operands, strict=True))
    yes, no = (values[each] for each in sources)
    words = " ".join(["select", *phi.flags])
    return f"  {phi.result} = {words} {condition}, {yes}, {no}{phi.attachments}"
