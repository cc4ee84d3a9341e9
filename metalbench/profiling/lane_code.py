"""Translate the optimised LLVM IR of one thread to Python code that runs many threads at once.

Values of threads are NumPy arrays with one element for each thread; a value that is the same for
all threads may be a scalar. The IR is that of `compile_for_analysis`. The code of a kernel is split
into steps: a step ends at a branch or at a barrier of the threadgroup. `simt.py` runs the steps.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from metalbench.msl.analysis.control_flow import Flow, flow_of
from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    BasicBlock,
    CallInstruction,
    Compare,
    DebugRecord,
    ElementPointer,
    Function,
    Instruction,
    Memory,
    Part,
    Phi,
    Shuffle,
    Terminator,
    Value,
)
from metalbench.msl.ir.module import Module
from metalbench.msl.ir.text import IrError, split
from metalbench.msl.ir.types import (
    ArrayType,
    Float,
    Int,
    Layout,
    Pointer,
    Struct,
    Type,
    Vector,
    take_type,
)

BARRIER = "mb_vector_barrier"
OPAQUE = "mb_opaque_"
MARKER = "mb_vector_"
# Calls without an effect on values.
_NOTES = ("llvm.assume", "llvm.lifetime.", "llvm.experimental.noalias.", "llvm.donothing")
_BINARY = {
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "and": "{0} & {1}",
    "or": "{0} | {1}",
    "xor": "{0} ^ {1}",
    "fadd": "{0} + {1}",
    "fsub": "{0} - {1}",
    "fmul": "{0} * {1}",
    "fdiv": "{0} / {1}",
    "frem": "np.fmod({0}, {1})",
    "shl": "{0} << {1}",
    "lshr": "{0} >> {1}",
    "ashr": "as_unsigned(as_signed({0}) >> as_signed({1}))",
    "udiv": "{0} // nonzero({1})",
    "urem": "{0} % nonzero({1})",
    "sdiv": "divide({0}, {1})",
    "srem": "remainder({0}, {1})",
}
_COMPARE = {
    "eq": "{0} == {1}",
    "ne": "{0} != {1}",
    "ugt": "{0} > {1}",
    "uge": "{0} >= {1}",
    "ult": "{0} < {1}",
    "ule": "{0} <= {1}",
    "sgt": "as_signed({0}) > as_signed({1})",
    "sge": "as_signed({0}) >= as_signed({1})",
    "slt": "as_signed({0}) < as_signed({1})",
    "sle": "as_signed({0}) <= as_signed({1})",
    "oeq": "{0} == {1}",
    "ogt": "{0} > {1}",
    "oge": "{0} >= {1}",
    "olt": "{0} < {1}",
    "ole": "{0} <= {1}",
    "one": "({0} < {1}) | ({0} > {1})",
    "ord": "({0} == {0}) & ({1} == {1})",
    "uno": "({0} != {0}) | ({1} != {1})",
    "ueq": "~(({0} < {1}) | ({0} > {1}))",
    "une": "{0} != {1}",
}
for _unordered, _opposite in (("ugt", "ole"), ("uge", "olt"), ("ult", "oge"), ("ule", "ogt")):
    _COMPARE[f"f{_unordered}"] = f"~({_COMPARE[_opposite]})"
_INTRINSICS = {
    "llvm.fma": "{0} * {1} + {2}",
    "llvm.fmuladd": "{0} * {1} + {2}",
    "llvm.fabs": "np.abs({0})",
    "llvm.sqrt": "np.sqrt({0})",
    "llvm.floor": "np.floor({0})",
    "llvm.ceil": "np.ceil({0})",
    "llvm.trunc": "np.trunc({0})",
    "llvm.rint": "np.rint({0})",
    "llvm.nearbyint": "np.rint({0})",
    "llvm.roundeven": "np.rint({0})",
    "llvm.round": "np.trunc({0} + np.copysign(({0}) * 0 + {0}.dtype.type(0.5), {0}))",
    "llvm.copysign": "np.copysign({0}, {1})",
    "llvm.minnum": "np.fmin({0}, {1})",
    "llvm.maxnum": "np.fmax({0}, {1})",
    "llvm.minimum": "np.minimum({0}, {1})",
    "llvm.maximum": "np.maximum({0}, {1})",
    "llvm.minimumnum": "np.fmin({0}, {1})",
    "llvm.maximumnum": "np.fmax({0}, {1})",
    "llvm.umin": "np.minimum({0}, {1})",
    "llvm.umax": "np.maximum({0}, {1})",
    "llvm.smin": "as_unsigned(np.minimum(as_signed({0}), as_signed({1})))",
    "llvm.smax": "as_unsigned(np.maximum(as_signed({0}), as_signed({1})))",
    "llvm.abs": "as_unsigned(np.abs(as_signed({0})))",
    "llvm.usub.sat": "np.where({0} > {1}, {0} - {1}, {0}.dtype.type(0))",
    "llvm.ctpop": "np.bitwise_count({0}).astype({0}.dtype)",
    "llvm.fshl": "funnel_left({0}, {1}, {2})",
    "llvm.fshr": "funnel_right({0}, {1}, {2})",
    "llvm.bitreverse": "reverse_bits({0})",
    "llvm.bswap": "{0}.byteswap()",
    "llvm.ctlz": "leading_zeros({0})",
    "llvm.cttz": "trailing_zeros({0})",
    "llvm.ldexp": "np.ldexp({0}, as_signed({1})).astype({0}.dtype)",
}
_FUNCTIONS = {
    "exp": "np.exp({0})",
    "exp2": "np.exp2({0})",
    "exp10": "np.power({0}.dtype.type(10), {0})",
    "log": "np.log({0})",
    "log2": "np.log2({0})",
    "log10": "np.log10({0})",
    "pow": "np.power({0}, {1})",
    "powr": "np.power({0}, {1})",
    "sqrt": "np.sqrt({0})",
    "rsqrt": "1 / np.sqrt({0})",
    "sin": "np.sin({0})",
    "cos": "np.cos({0})",
    "tan": "np.tan({0})",
    "asin": "np.arcsin({0})",
    "acos": "np.arccos({0})",
    "atan": "np.arctan({0})",
    "atan2": "np.arctan2({0}, {1})",
    "sinpi": "np.sin(np.pi * {0})",
    "cospi": "np.cos(np.pi * {0})",
    "tanpi": "np.tan(np.pi * {0})",
    "sinh": "np.sinh({0})",
    "cosh": "np.cosh({0})",
    "tanh": "np.tanh({0})",
    "asinh": "np.arcsinh({0})",
    "acosh": "np.arccosh({0})",
    "atanh": "np.arctanh({0})",
    "fmod": "np.fmod({0}, {1})",
    "rint": "np.rint({0})",
    "round": "np.rint({0})",
    "divide": "{0} / {1}",
}
# In the offset of a threadgroup variable, which is the difference of two addresses.
_THREADGROUP_VARIABLE = re.compile(r'ptrtoint \(ptr (@(?:"[^"]*"|[\w.$-]+)) to i64\)')
_INTEGER = re.compile(r"-?\d+")
# Element types in memory: NumPy's name of each.
_FLOATS = {"half": "f2", "float": "f4", "double": "f8"}


@dataclass
class Site:
    """An instruction that accesses memory: its kind ("read", "write", "atomic"), and its bytes."""

    kind: str
    nbytes: int
    instruction: Instruction


@dataclass
class Step:
    """Code without branches and barriers. `block` is its block, `part` its number in the block."""

    block: BasicBlock
    part: int
    instructions: list[Instruction]
    sites: list[int] = field(default_factory=list)
    ends_at_barrier: bool = False


class UnsupportedCodeError(Exception):
    """The code has an instruction that cannot be run here."""


class LaneCode:
    """The translated code of a kernel. `source` is the Python text, `steps` are in their order."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module, self.function = module, function
        self.layout: Layout = function.layout
        self.flow: Flow = flow_of(function)
        self.sites: list[Site] = []
        self.frame_bytes = 0
        self.constants: list[Any] = []
        self.numbers: dict[str, int] = {}
        self._allocas: dict[str, int] = {}
        self._known_constants: dict[tuple[str, str], str] = {}
        self.global_data: dict[str, tuple[int, bytes]] = {}
        self._globals_end = 0
        self.threadgroup_bytes = 0
        self._threadgroup_variables: dict[str, int] = {}
        self.steps = list(self._split_steps())
        self._first = {
            step.block.name: index for index, step in enumerate(self.steps) if step.part == 0
        }
        self._shared = self._find_shared_values()
        texts = [self._translate(index) for index in range(len(self.steps))]
        self.source = "\n".join(texts)

    @property
    def values(self) -> int:
        """The number of values."""
        return len(self.numbers)

    def _split_steps(self) -> Iterator[Step]:
        for block in _order_blocks(self.function, self.flow):
            part, collected = 0, list[Instruction]()
            for each in block.instructions:
                if isinstance(each, DebugRecord):
                    continue
                collected.append(each)
                if isinstance(each, CallInstruction) and each.name == BARRIER:
                    yield Step(block, part, collected, ends_at_barrier=True)
                    part, collected = part + 1, []
            yield Step(block, part, collected)

    def _find_shared_values(self) -> set[str]:  # noqa: PLR0912 - a case for each instruction
        """Return values that another step than their own uses, and phis."""
        home: dict[str, int] = {}
        shared: set[str] = set()
        for index, step in enumerate(self.steps):
            for each in step.instructions:
                if each.result:
                    home[each.result] = index
                    if isinstance(each, Phi):
                        shared.add(each.result)
        for index, step in enumerate(self.steps):
            for each in step.instructions:
                for operand in each.operands:
                    if not isinstance(each, Phi) and home.get(operand.text, index) != index:
                        shared.add(operand.text)
        # Phis take their operands at the end of the block before.
        ends = {step.block.name: index for index, step in enumerate(self.steps)}
        for step in self.steps:
            for each in step.instructions:
                if isinstance(each, Phi):
                    for operand, source in zip(each.operands, each.sources, strict=True):
                        if source in ends and home.get(operand.text, ends[source]) != ends[source]:
                            shared.add(operand.text)
        return shared

    def _number(self, name: str) -> int:
        return self.numbers.setdefault(name, len(self.numbers))

    # One step as a Python function.

    def _translate(self, index: int) -> str:
        step = self.steps[index]
        self._loaded: dict[str, None] = {}
        self._own: set[str] = set()
        self._step = step
        lines: list[str] = []
        for each in step.instructions:
            if isinstance(each, Phi | Terminator):
                continue
            lines += self._translate_instruction(each)
        stores = [
            f"put(V, {self._number(name)}, I, v{self._number(name)})"
            for name in sorted(self._own & self._shared, key=self._number)
        ]
        if step.ends_at_barrier:
            ending = [f"return {index + 1}"]
        else:
            ending = list(self._translate_terminator(step.block, step.block.terminator))
        loads = [f"v{self._number(n)} = get(V, {self._number(n)}, I)" for n in self._loaded]
        body = [*loads, *lines, *stores, *ending]
        return f"def step_{index}(m, V, I):\n" + "\n".join(f"    {each}" for each in body)

    def _translate_terminator(self, block: BasicBlock, end: Terminator) -> Iterator[str]:
        if end.opcode in ("ret", "unreachable"):
            yield "return -1"
            return
        targets = end.targets
        if len(set(targets)) == 1:
            yield from self._enter(block, targets[0], "I", "None")
            yield f"return {self._first[targets[0]]}"
            return
        condition = self._use(end.operands[0])
        if end.opcode == "br":
            yield f"c = {condition}"
            yield "if uniform(c):"
            yield "    if c.flat[0]:"
            yield from _indent(self._enter(block, targets[0], "I", "None"), 2)
            yield f"        return {self._first[targets[0]]}"
            yield from _indent(self._enter(block, targets[1], "I", "None"), 1)
            yield f"    return {self._first[targets[1]]}"
            choices = [("c", targets[0]), ("~c", targets[1])]
        else:
            names = [
                f"{condition} == {self._integer(end.operands[0].type, case)}" for case in end.cases
            ]
            choices = list(zip(names, targets[1:], strict=True))
            others = " | ".join(f"({name})" for name in names)
            choices.append((f"~({others})", targets[0]))
        yield "r = np.empty(m.count(I), np.int32)"
        for name, target in choices:
            yield f"w = np.broadcast_to(np.asarray({name}), r.shape).nonzero()[0]"
            yield "if w.size:"
            yield from _indent(self._enter(block, target, "pick(I, w)", "w"), 1)
            yield f"    r[w] = {self._first[target]}"
        yield "return r"

    def _enter(self, block: BasicBlock, target: str, index: str, part: str) -> Iterator[str]:
        """Yield the assignments of the phis of a block that is entered from another one."""
        pairs = []
        for phi in self.function.blocks[target].phis:
            for operand, source in zip(phi.operands, phi.sources, strict=True):
                if source == block.name:
                    if not operand.is_undefined:
                        pairs.append((self._number(phi.result), self._use(operand)))
                    break
        if pairs:
            yield f"J = {index}"
        for number, value in pairs:
            yield f"put(V, {number}, J, taken({value}, {part}))"

    def _translate_instruction(self, each: Instruction) -> Iterator[str]:  # noqa: PLR0912 - a case for each instruction
        if isinstance(each, Alloca):
            size = self.layout.size(each.allocated)
            self.frame_bytes = -(-self.frame_bytes // 16) * 16
            self._allocas[each.result] = self.frame_bytes
            yield self._set(each, f"m.frames(I) + {self.frame_bytes}")
            self.frame_bytes += size
        elif isinstance(each, Memory):
            yield from self._translate_memory(each)
        elif isinstance(each, CallInstruction):
            yield from self._translate_call(each)
        elif isinstance(each, ElementPointer):
            yield self._set(each, self._address(each))
        elif isinstance(each, Atomic):
            yield from self._translate_atomic(each)
        elif isinstance(each, Compare):
            yield self._set(each, self._compare(each))
        elif isinstance(each, Part):
            yield self._set(each, self._part(each))
        elif isinstance(each, Shuffle):
            both = f"both({self._use(each.operands[0])}, {self._use(each.operands[1])})"
            yield self._set(each, f"{both}[:, {[max(0, at) for at in each.mask]}]")
        elif each.opcode in _BINARY:
            yield self._set(each, self._binary(each))
        elif each.opcode == "fneg":
            yield self._set(each, f"-{self._use(each.operands[0])}")
        elif each.opcode == "select":
            yield self._set(each, f"select({', '.join(map(self._use, each.operands))})")
        elif each.opcode == "extractelement":
            yield self._set(
                each, f"element({self._use(each.operands[0])}, {self._use(each.operands[1])})"
            )
        elif each.opcode == "insertelement":
            yield self._set(each, f"insert_element({', '.join(map(self._use, each.operands))})")
        elif each.opcode == "freeze":
            yield self._set(each, self._use(each.operands[0]))
        else:
            yield self._set(each, self._convert(each))

    def _binary(self, each: Instruction) -> str:
        first, second = map(self._use, each.operands)
        if _is_bool(each.type) and each.opcode in ("add", "sub", "mul"):
            return f"{first} {'&' if each.opcode == 'mul' else '^'} {second}"
        text = _BINARY[each.opcode].format(first, second)
        return self._round(each.type, text)

    def _round(self, type_: Type, text: str) -> str:
        element = type_.element if isinstance(type_, Vector) else type_
        return f"bfloat({text})" if element == Float("bfloat") else text

    def _compare(self, each: Compare) -> str:
        first, second = map(self._use, each.operands)
        predicate = each.predicate
        if each.opcode == "fcmp" and predicate in ("ugt", "uge", "ult", "ule"):
            predicate = f"f{predicate}"
        if predicate in ("true", "false"):
            return f"np.bool_({predicate == 'true'})"
        if isinstance(each.operands[0].type, Pointer) and predicate.startswith("s"):
            return _COMPARE[predicate].replace("as_signed", "").format(first, second)
        return _COMPARE[predicate].format(first, second)

    def _convert(self, each: Instruction) -> str:
        (operand,) = each.operands[:1]
        given = self._use(operand)
        target = self._numpy(each.type)
        opcode = each.opcode
        if opcode in ("zext", "trunc", "uitofp"):
            if opcode == "trunc" and _is_bool(each.type):
                return f"({given} & {given}.dtype.type(1)).astype(bool)"
            text = f"{given}.astype({target})"
        elif opcode in ("sext", "sitofp"):
            bits = _element(operand.type)
            value = f"as_signed({given})"
            if isinstance(bits, Int) and bits.bits == 1:
                value = f"-({given}.astype(np.int8))"
            text = (
                f"{value}.astype({self._name_signed(each.type)})"
                if opcode == "sext"
                else f"{value}.astype({target})"
            )
            text = f"as_unsigned({text})" if opcode == "sext" else text
        elif opcode in ("fpext", "fptrunc"):
            text = f"{given}.astype({target})"
        elif opcode == "fptoui":
            text = f"to_unsigned({given}, {target})"
        elif opcode == "fptosi":
            text = f"to_signed({given}, {target})"
        elif opcode in ("inttoptr", "ptrtoint"):
            text = f"{given}.astype({target})"
        elif opcode == "bitcast":
            return f"bits({given}, {target}, {self._count(each.type)})"
        else:
            raise UnsupportedCodeError(f"instruction {opcode}")
        return self._round(each.type, text)

    def _part(self, each: Part) -> str:
        whole = self._use(each.operands[0])
        if len(each.indices) != 1:
            raise UnsupportedCodeError("a part of a part")
        (at,) = each.indices
        if each.opcode == "extractvalue":
            return f"{whole}[{at}]"
        return f"({whole}[:{at}] + ({self._use(each.operands[1])},) + {whole}[{at + 1}:])"

    def _address(self, each: ElementPointer) -> str:
        terms = [self._use(each.base)]
        type_: Type = each.element
        offset = 0
        for place, index in enumerate(each.operands[1:]):
            if place == 0:
                size = self.layout.size(each.element)
            else:
                type_ = self.layout.resolve(type_)
                if isinstance(type_, Struct):
                    start, type_ = self.layout.member(type_, int(index.integer or 0))
                    offset += start
                    continue
                size, type_ = self.layout.size(type_.element), type_.element  # type: ignore[union-attr]
            if index.integer is not None:
                offset += index.integer * size
            else:
                terms.append(f"{self._use_signed(index)} * np.int64({size})")
        if offset or len(terms) == 1:
            terms.append(f"np.int64({offset})")
        return " + ".join(terms)

    def _use_signed(self, value: Value) -> str:
        if value.text in self.numbers or value.is_local:
            return f"as_signed({self._use(value)}).astype(np.int64)"
        if value.integer is not None:
            return f"np.int64({value.integer})"
        return f"np.int64({self._threadgroup_offset(value.text)})"

    def _threadgroup_offset(self, text: str) -> int:
        """Return the offset of a threadgroup variable, and of a place in it."""
        found = _THREADGROUP_VARIABLE.search(text)
        if found is None or found[1].startswith("@__start"):
            raise UnsupportedCodeError(f"constant {text}")
        name = found[1]
        if name not in self._threadgroup_variables:
            start = -(-self.threadgroup_bytes // 16) * 16
            declared = re.search(
                rf"^{re.escape(name)} = [^\n]*?\bglobal ([^\n]*)$", str(self.module), re.M
            )
            if declared is None:
                raise UnsupportedCodeError(f"variable {name}")
            size = self.layout.size(take_type(declared[1])[0])
            self._threadgroup_variables[name] = start
            self.threadgroup_bytes = start + size
        added = sum(int(each) for each in re.findall(r"(?:, |^add \()i64 (-?\d+)(?=[,)])", text))
        return self._threadgroup_variables[name] + added

    def _translate_memory(self, each: Memory) -> Iterator[str]:
        is_load = each.opcode == "load"
        type_ = self.layout.resolve(each.accessed)
        if isinstance(type_, Struct | ArrayType):
            raise UnsupportedCodeError(f"an access of a whole {type_}")
        kind = "atomic" if each.is_atomic else "read" if is_load else "write"
        site = self._site(kind, self.layout.size(type_), each)
        address = self._use(each.address)
        element = _element(type_)
        code = f"'{self._memory_code(element)}', {self._count(type_)}, {address}, {site}, I"
        if is_load:
            yield self._set(each, f"m.load({code})")
        else:
            yield f"m.store({code}, {self._use(each.operands[0])})"

    def _translate_atomic(self, each: Atomic) -> Iterator[str]:
        if each.opcode == "fence":
            return
        type_ = each.operands[1].type
        site = self._site("atomic", self.layout.size(type_), each)
        operands = ", ".join(map(self._use, each.operands))
        code = self._memory_code(_element(type_))
        if each.opcode == "cmpxchg":
            yield self._set(each, f"m.exchange('{code}', {site}, I, {operands})")
        else:
            yield self._set(each, f"m.update('{code}', '{each.operation}', {site}, I, {operands})")

    def _site(self, kind: str, nbytes: int, each: Instruction) -> int:
        self._step.sites.append(len(self.sites))
        self.sites.append(Site(kind, nbytes, each))
        return len(self.sites) - 1

    def _translate_call(self, each: CallInstruction) -> Iterator[str]:  # noqa: PLR0912 - a case for each instruction
        name = each.name
        if name.startswith(_NOTES) or name in (BARRIER, f"{MARKER}turn_begins"):
            if each.result:
                yield self._set(each, "np.uint32(0)")
            return
        if name == f"{MARKER}turn_ends":
            yield self._set(each, "np.bool_(False)")
        elif name.startswith(MARKER):
            yield from self._translate_marker(each, name.removeprefix(MARKER))
        elif name.startswith(f"{OPAQUE}matrix_"):
            yield from self._translate_matrix(each, name.removeprefix(f"{OPAQUE}matrix_"))
        elif name.startswith(OPAQUE):
            function = name.removeprefix(OPAQUE).partition(".")[0]
            if function not in _FUNCTIONS:
                raise UnsupportedCodeError(f"function {name}")
            given = [self._use(operand) for operand in each.operands]
            yield self._set(each, self._function(each.type, _FUNCTIONS[function], given))
        elif name.startswith(("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")):
            yield from self._translate_copy(each)
        elif name.startswith("llvm.fpto"):
            how = "to_unsigned" if name.startswith("llvm.fptoui") else "to_signed"
            yield self._set(each, f"{how}({self._use(each.operands[0])}, {self._numpy(each.type)})")
        elif name.startswith("llvm.vector.reduce."):
            yield self._set(each, self._reduction(each, name.split(".")[3]))
        elif name.startswith("llvm."):
            base = re.sub(r"(\.(?:v\d+)?(?:bf|[fip])\d+)+$", "", name)
            if base not in _INTRINSICS:
                raise UnsupportedCodeError(f"function {name}")
            text = _INTRINSICS[base].format(*map(self._use, each.operands))
            yield self._set(each, self._round(each.type, text))
        elif name in ("mb_divisor_i32", "mb_divisor_i64"):
            yield self._set(each, self._use(each.operands[1]))
        else:
            raise UnsupportedCodeError(f"function {name or each.text.strip()}")

    def _function(self, type_: Type, text: str, given: Sequence[str]) -> str:
        """Return a mathematical function; the parts of a struct are those of one vector."""
        type_ = self.layout.resolve(type_)
        if not isinstance(type_, Struct):
            return f"({text.format(*given)}).astype({self._numpy(type_)})"
        count = len(type_.members)
        parts = (
            f"({text.format(*given[number::count])}).astype({self._numpy(part)})"
            for number, part in enumerate(type_.members)
        )
        return f"({', '.join(parts)},)"

    def _reduction(self, each: CallInstruction, operation: str) -> str:
        vector = self._use(each.operands[-1])
        names = {"add": "add", "mul": "multiply", "fadd": "add", "fmul": "multiply",
                 "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
                 "umin": "minimum", "umax": "maximum", "fmin": "fmin", "fmax": "fmax"}  # fmt: skip
        if operation not in names:
            raise UnsupportedCodeError(f"function {each.name}")
        return f"np.{names[operation]}.reduce({vector}, axis=1, dtype={vector}.dtype)"

    def _translate_copy(self, each: CallInstruction) -> Iterator[str]:
        to, source, length = each.operands[:3]
        size = length.integer
        if size is None:
            raise UnsupportedCodeError("a copy of variable length")
        write = self._site("write", size, each)
        if each.name.startswith("llvm.memset."):
            yield f"m.fill({self._use(to)}, {self._use(source)}, {size}, {write}, I)"
        else:
            read = self._site("read", size, each)
            yield f"m.copy({self._use(to)}, {self._use(source)}, {size}, {write}, {read}, I)"

    def _translate_marker(self, each: CallInstruction, name: str) -> Iterator[str]:
        given = "".join(f", {self._use(operand)}" for operand in each.operands)
        if name in ("lane", "index", "x", "y", "z", "simdgroup", "arena"):
            yield self._set(each, f"m.place('{name}', I)")
        elif name == "ballot":
            yield self._set(each, f"m.ballot(I{given})")
        elif name.startswith("shuffle_"):
            yield self._set(each, f"m.shuffle(I{given})")
        else:
            kind = name.rpartition("_")[0]
            yield self._set(each, f"m.combine('{kind}', I{given})")

    def _translate_matrix(self, each: CallInstruction, name: str) -> Iterator[str]:
        given = "".join(f", {self._use(operand)}" for operand in each.operands)
        kind = name.partition(".")[0]
        if kind == "product":
            yield self._set(each, f"m.matrix_product(I{given})")
            return
        pair = each.type if kind == "read" else each.operands[0].type
        assert isinstance(pair, Int)
        site = self._site("read" if kind == "read" else "write", pair.bits // 8, each)
        text = f"m.matrix_{kind}({pair.bits // 16}, {site}, I{given})"
        yield self._set(each, text) if each.result else text

    # Values, constants and types.

    def _set(self, each: Instruction, text: str) -> str:
        self._own.add(each.result)
        return f"v{self._number(each.result)} = {text}"

    def _use(self, value: Value) -> str:
        if value.is_local:
            if value.text not in self._own:
                self._loaded[value.text] = None
            return f"v{self._number(value.text)}"
        return self._constant(value)

    def _constant(self, value: Value) -> str:
        key = str(value.type), value.text
        if key not in self._known_constants:
            self.constants.append(self._evaluate(value))
            self._known_constants[key] = f"K[{len(self.constants) - 1}]"
        return self._known_constants[key]

    def _integer(self, type_: Type, value: int) -> str:
        return self._constant(Value(type_, str(value)))

    def _evaluate(self, value: Value) -> Any:  # noqa: PLR0911 - a case for each instruction
        type_, text = self.layout.resolve(value.type), value.text
        if isinstance(type_, Struct | ArrayType):
            parts = type_.members if isinstance(type_, Struct) else (type_.element,) * type_.count
            if text in ("undef", "poison", "zeroinitializer"):
                return tuple(self._evaluate(Value(part, text)) for part in parts)
            raise UnsupportedCodeError(f"constant {text}")
        if isinstance(type_, Vector):
            return self._evaluate_vector(type_, text)
        if isinstance(type_, Pointer):
            if text in ("null", "undef", "poison", "zeroinitializer"):
                return np.int64(0)
            return np.int64(self._global_address(text))
        numpy = _numpy_type(type_)
        if text in ("undef", "poison", "zeroinitializer"):
            return numpy(0)
        if isinstance(type_, Float):
            return numpy(read_float(type_, text))
        integer = value.integer
        if integer is None and _THREADGROUP_VARIABLE.search(text):
            integer = self._threadgroup_offset(text)
        if integer is None:
            raise UnsupportedCodeError(f"constant {text}")
        if type_ == Int(1):
            return np.bool_(bool(integer))
        return numpy(integer & ((1 << 8 * numpy(0).itemsize) - 1))

    def _evaluate_vector(self, type_: Vector, text: str) -> Any:
        if text in ("undef", "poison", "zeroinitializer"):
            one = self._evaluate(Value(type_.element, text))
            return np.full((1, type_.count), one)
        if text.startswith("splat"):
            inside = text[text.index("(") + 1 : -1].rpartition(" ")
            one = self._evaluate(Value(type_.element, inside[2]))
            return np.full((1, type_.count), one)
        if not text.startswith("<"):
            raise UnsupportedCodeError(f"constant {text[:40]}")
        parts = [each.rpartition(" ")[2] for each in split(text[1:-1])]
        return np.array([[self._evaluate(Value(type_.element, each)) for each in parts]])

    def _global_address(self, text: str) -> int:
        """Return the address of a table of constants, which is stored from address 64 on."""
        offset = 0
        found = re.match(
            r"getelementptr (?:inbounds )?(?:nuw )?\(i8, ptr (@[^,]+), i64 (-?\d+)\)$", text
        )
        if found:
            text, offset = found[1], int(found[2])
        if not text.startswith("@"):
            raise UnsupportedCodeError(f"constant {text}")
        if text not in self.global_data:
            data = _read_global(self.module, self.layout, text)
            self.global_data[text] = (self._globals_end, data)
            self._globals_end += -(-len(data) // 64) * 64
        return GLOBALS_START + self.global_data[text][0] + offset

    @property
    def globals_bytes(self) -> int:
        """The bytes of all tables of constants."""
        return self._globals_end

    def _numpy(self, type_: Type) -> str:
        return f"np.{_numpy_type(_element(type_)).__name__}"

    def _name_signed(self, type_: Type) -> str:
        name = self._numpy(type_)
        return name.replace("np.u", "np.")

    def _count(self, type_: Type) -> int:
        return type_.count if isinstance(type_, Vector) else 0

    def _memory_code(self, element: Type) -> str:
        if element == Float("bfloat"):
            return "bf"
        if isinstance(element, Float):
            if element.name not in _FLOATS:
                raise UnsupportedCodeError(str(element))
            return _FLOATS[element.name]
        size = np.dtype(_numpy_type(element)).itemsize
        return f"{'i' if isinstance(element, Pointer) else 'u'}{size}"


# Tables of constants begin there; address 0 is null.
GLOBALS_START = 64


def _order_blocks(function: Function, flow: Flow) -> list[BasicBlock]:
    """Return the blocks so that a loop's blocks come before those after the loop.

    Threads run the first block that one of them is at. So threads that leave a loop wait for the
    others: they meet again where the paths of a branch join.
    """

    def depth(block: BasicBlock) -> int:
        loop, found = flow.loop_of.get(block), 0
        while loop is not None:
            loop, found = loop.parent, found + 1
        return found

    seen: set[str] = set()
    finished: list[BasicBlock] = []
    stack = [(function.entry, iter(_by_depth(function.entry, depth)))]
    seen.add(function.entry.name)
    while stack:
        block, successors = stack[-1]
        after = next((each for each in successors if each.name not in seen), None)
        if after is None:
            finished.append(block)
            stack.pop()
        else:
            seen.add(after.name)
            stack.append((after, iter(_by_depth(after, depth))))
    return finished[::-1]


def _by_depth(block: BasicBlock, depth: Any) -> list[BasicBlock]:
    """Return successors, those outside of the block's loops first."""
    return sorted(block.successors, key=depth)


def _indent(lines: Iterator[str], levels: int) -> Iterator[str]:
    for each in lines:
        yield "    " * levels + each


def _element(type_: Type) -> Type:
    return type_.element if isinstance(type_, Vector) else type_


def _is_bool(type_: Type) -> bool:
    return _element(type_) == Int(1)


def _numpy_type(type_: Type) -> Any:
    """Return NumPy's type of a scalar: unsigned integers, int64 for addresses."""
    if isinstance(type_, Pointer):
        return np.int64
    if isinstance(type_, Float):
        found = {
            "half": np.float16,
            "bfloat": np.float32,
            "float": np.float32,
            "double": np.float64,
        }
        if type_.name in found:
            return found[type_.name]
    if isinstance(type_, Int) and type_.bits <= 64:
        if type_.bits == 1:
            return np.bool_
        return next(
            each for each in (np.uint8, np.uint16, np.uint32, np.uint64)
            if 8 * np.dtype(each).itemsize >= type_.bits
        )  # fmt: skip
    raise UnsupportedCodeError(f"type {type_}")


def read_float(type_: Float, text: str) -> float:
    """Return the value of a constant: decimal, or the bits as LLVM writes them."""
    if text.startswith("0xH"):
        return float(np.uint16(int(text[3:], 16)).view(np.float16))
    if text.startswith("0xR"):
        return float(np.uint32(int(text[3:], 16) << 16).view(np.float32))
    if text.startswith("0x"):
        (value,) = struct.unpack("<d", int(text[2:], 16).to_bytes(8, "little"))
        return float(value)
    return float(text)


def _read_global(module: Module, layout: Layout, name: str) -> bytes:
    """Return the bytes of a table of constants."""
    found = re.search(rf"^{re.escape(name)} = [^\n]*?\bconstant ([^\n]*)$", str(module), re.M)
    if found is None:
        raise UnsupportedCodeError(f"variable {name}")
    type_, rest = take_type(found[1])
    rest = re.sub(r", (?:align|section|comdat|!)[^\n]*$", "", rest)
    return _flatten_constant(layout, type_, rest.strip())


def _flatten_constant(layout: Layout, type_: Type, text: str) -> bytes:
    type_ = layout.resolve(type_)
    if text in ("zeroinitializer", "undef", "poison"):
        return bytes(layout.size(type_))
    if isinstance(type_, ArrayType | Vector | Struct):
        if text.startswith('c"'):
            data = re.sub(
                rb"\\([0-9A-Fa-f]{2})",
                lambda m: bytes([int(m[1], 16)]),
                text[2:-1].encode("latin1"),
            )
            return data
        result = b""
        inner = text[1:-1] if text[:1] in "[<{" else text
        for index, part in enumerate(split(inner)):
            part_type, value = take_type(part)
            start = layout.member(type_, index)[0]
            result += bytes(start - len(result)) + _flatten_constant(layout, part_type, value)
        return result + bytes(layout.size(type_) - len(result))
    if isinstance(type_, Float):
        real = read_float(type_, text)
        if type_.name == "bfloat":
            return (int(np.float32(real).view(np.uint32)) >> 16).to_bytes(2, "little")
        return bytes(np.asarray(real, _FLOATS[type_.name]).tobytes())
    if isinstance(type_, Int):
        number = {"true": 1, "false": 0}.get(text)
        if number is None:
            if not _INTEGER.fullmatch(text):
                raise UnsupportedCodeError(f"constant {text[:40]}")
            number = int(text)
        size = layout.size(type_)
        return (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")
    raise UnsupportedCodeError(f"constant {text[:40]}")


def translate(module: Module, function: Function) -> LaneCode:
    """Return the code of a kernel. Raise UnsupportedCodeError."""
    try:
        return LaneCode(module, function)
    except IrError as error:
        raise UnsupportedCodeError(str(error)) from error
