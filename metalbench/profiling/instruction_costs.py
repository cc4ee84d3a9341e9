"""The cost of LLVM's instructions on a core of an Apple GPU, and the longest path of each step.

Throughput is in cycles of one of the four schedulers of a core for one instruction of a SIMD-group,
latency in cycles. Sources: [1] github.com/philipturner/metal-benchmarks, README, "Instruction
Throughputs" and "ALU Bottlenecks" (M1 Max, A14); [2] github.com/dougallj/applegpu; [3] assumed.
Fused instructions (a product and a sum, a shift and a sum, a comparison and a choice) are one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from metalbench.msl.ir.model import (
    Alloca,
    Atomic,
    CallInstruction,
    Compare,
    ElementPointer,
    Instruction,
    Memory,
    Part,
    Phi,
    Shuffle,
    Terminator,
)
from metalbench.msl.ir.types import Float, Int, Pointer, Type, Vector
from metalbench.profiling.lane_code import BARRIER, MARKER, OPAQUE, LaneCode, Step


@dataclass(frozen=True)
class Cost:
    """Cycles to issue, cycles of the unit for complex operations, and latency."""

    slots: float = 1.0
    complex: float = 0.0
    latency: float = 3.0


FREE = Cost(0.0, 0.0, 0.0)
# [1]: FADD32 and FMUL32 have a latency of 3 cycles, FFMA32 of 6, comparisons of 4.74.
SIMPLE, FUSED, COMPARE = Cost(), Cost(latency=6.0), Cost(latency=4.74)
# [1]: IMUL32, shifts by a variable, conversions.
MULTIPLY, SHIFT, CONVERT = Cost(1, 4, 4.02), Cost(1, 4, 4.02), Cost(1, 4, 3.66)
# [1]: IADD(64+64=64), IMUL(64x64=64).
ADD64, MULTIPLY64 = Cost(4, 0, 10.0), Cost(6, 16, 21.7)
# [1]: IMULHI32 and a shift for a constant divisor. [3]: a reciprocal, products and corrections.
DIVIDE_CONSTANT, DIVIDE_INTEGER = Cost(2, 12, 14.0), Cost(14, 30, 70.0)
# [1]: DIV32 is RECIP32 and FMUL32; "Precise DIV32".
DIVIDE = Cost(2, 6, 8.9)
# [1]: fast functions; sequences are one of their instructions with others around it.
FUNCTIONS: Mapping[str, Cost] = {
    "exp2": Cost(1, 4, 4.31),
    "log2": Cost(1, 4, 4.31),
    **dict.fromkeys(("exp", "exp10", "log", "log10"), Cost(2, 4, 7.6)),
    "sqrt": Cost(2, 8, 11.0),
    "rsqrt": Cost(1, 8, 9.0),
    **dict.fromkeys(("sin", "cos"), Cost(5, 14.3, 27.0)),
    **dict.fromkeys(("sinpi", "cospi"), Cost(8, 25.0, 56.0)),
    **dict.fromkeys(("pow", "powr"), Cost(3, 9, 15.0)),
    **dict.fromkeys(("rint", "round"), Cost(1, 4, 3.66)),
    "divide": DIVIDE,
    # [3]: from exponentials, reciprocals and polynomials.
    **dict.fromkeys(("tanh", "sinh", "cosh"), Cost(8, 14, 35.0)),
    **dict.fromkeys(
        ("asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh"), Cost(20, 14, 80.0)
    ),
    **dict.fromkeys(("tan", "tanpi"), Cost(12, 35, 70.0)),
    "fmod": Cost(6, 10, 30.0),
}
# [1]: "Precise ..." of the same functions.
PRECISE: Mapping[str, Cost] = {
    "sqrt": Cost(6, 15, 37.0),
    **dict.fromkeys(("sin", "cos"), Cost(15, 24.4, 225.0)),
    **dict.fromkeys(("sinpi", "cospi"), Cost(15, 29.0, 64.0)),
    "divide": Cost(10, 30.65, 60.0),
}
# [1]: communication in a SIMD-group.
SHUFFLE, REDUCE, SCAN = Cost(1, 2, 3.73), Cost(5, 14.54, 27.6), Cost(5, 11.6, 22.0)
MATRIX_PRODUCT = Cost(18, 0, 36.0)
# [2]: masks of execution are set and restored around a branch. [3]: the cycles of it.
BRANCH = Cost(2, 0, 6.0)
# [2]: a load or a store, and a wait.
ACCESS = Cost(2, 0, 0.0)
# Latencies by which the longest path is chosen, in cycles; the model has its own values.
NOMINAL = {"device": 250.0, "private": 250.0, "threadgroup": 40.0, "constant": 60.0}
CODE_BYTES = 8  # of an instruction on average (Mesa's agx_opcodes.py: 2 to 10 and more)


@dataclass
class Path:
    """The longest path of dependent instructions: cycles of arithmetic, loads by space."""

    alu: float = 0.0
    loads: dict[str, float] = field(default_factory=dict)

    @property
    def nominal(self) -> float:
        """The length at the nominal latencies."""
        return self.alu + sum(NOMINAL[space] * count for space, count in self.loads.items())

    def extend(self, alu: float, space: str = "") -> Path:
        """Return a path with one more instruction."""
        loads = dict(self.loads)
        if space:
            loads[space] = loads.get(space, 0.0) + 1
        return Path(self.alu + alu, loads)


@dataclass
class StepCost:
    """The cost of one execution of a step by a SIMD-group, without its memory accesses."""

    slots: float
    complex: float
    path: Path
    instructions: int
    in_order: float


class CostModel:
    """Costs of the instructions of a kernel. `spaces` are the address spaces of its sites."""

    def __init__(self, code: LaneCode, spaces: Mapping[int, str]) -> None:
        self.code = code
        self._function = code.function
        self.uniform = {code.function.parameters[0].text}
        self._users: dict[str, int] = {}
        self._single_user: dict[str, Instruction] = {}
        for step in code.steps:
            for each in step.instructions:
                for operand in each.operands:
                    if operand.is_local:
                        self._users[operand.text] = self._users.get(operand.text, 0) + 1
                        self._single_user[operand.text] = each
        self.definitions = {
            each.result: each for step in code.steps for each in step.instructions if each.result
        }
        self._space_of = {
            id(site.instruction): spaces.get(number, "") for number, site in enumerate(code.sites)
        }
        self._costs: dict[int, Cost] = {}
        self.steps = [self._measure(step) for step in code.steps]

    def cost_of(self, instruction: Instruction) -> Cost:
        """Return the cost of an instruction of the code."""
        return self._costs[id(instruction)]

    def _measure(self, step: Step) -> StepCost:
        slots = complex_ = 0.0
        count = 0
        # A scheduler issues in order: an instruction waits for its operands, and those after it
        # wait for it. Loads are not in this time, because compilers move them to earlier places.
        clock = 0.0
        ready: dict[str, float] = {}
        paths: dict[str, Path] = {}
        longest = Path()
        for each in step.instructions:
            cost, space = self._cost(each)
            self._costs[id(each)] = cost
            slots += cost.slots
            complex_ += cost.complex
            count += cost.slots > 0
            if isinstance(each, Phi):
                continue
            before = Path()
            begin = max([clock, *(ready.get(operand.text, 0.0) for operand in each.operands)])
            if cost is not FREE:
                clock = begin + max(cost.slots, 1.0)
            if each.result:
                ready[each.result] = begin + cost.latency
            for operand in each.operands:
                found = paths.get(operand.text)
                if found is not None and found.nominal > before.nominal:
                    before = found
            after = before.extend(cost.latency, space)
            if each.result:
                paths[each.result] = after
            if after.nominal > longest.nominal:
                longest = after
        in_order = max([clock, *ready.values()])
        return StepCost(slots, complex_, longest, count, in_order)

    def _cost(self, each: Instruction) -> tuple[Cost, str]:  # noqa: PLR0911 - a case for each instruction
        """Return the cost of an instruction, and the address space of a load."""
        if self._is_uniform(each):
            self.uniform.add(each.result)
            return FREE, ""
        if isinstance(each, Memory):
            space = self._space_of.get(id(each), "")
            words = max(1, -(-self.code.layout.size(each.accessed) // 16))
            cost = Cost(2.0 * words, 0, 0)
            return cost, space if each.opcode == "load" and space in NOMINAL else ""
        if isinstance(each, Atomic):
            space = self._space_of.get(id(each), "")
            used = each.result and each.result in self._users
            return ACCESS, space if used and space in NOMINAL else ""
        if isinstance(each, CallInstruction):
            return self._cost_of_call(each)
        if isinstance(each, Terminator):
            return (BRANCH if len(set(each.targets)) > 1 else FREE), ""
        if isinstance(each, Phi | Alloca | Part | Shuffle):
            return FREE, ""
        if isinstance(each, ElementPointer):
            return self._cost_of_address(each), ""
        cost = self._cost_of_arithmetic(each)
        count = each.type.count if isinstance(each.type, Vector) else 1
        return Cost(cost.slots * count, cost.complex * count, cost.latency), ""

    def _is_uniform(self, each: Instruction) -> bool:
        """Return whether a value depends on the arguments only: it is in a uniform register."""
        if not each.result or isinstance(each, Phi | Alloca | Atomic):
            return False
        if isinstance(each, CallInstruction) and not each.name.startswith(("llvm.", OPAQUE)):
            return False
        if isinstance(each, Memory) and self._space_of.get(id(each)) not in (
            *("launch", "constant", "table"),
            "",
        ):
            return False
        locals_ = [operand.text for operand in each.operands if operand.is_local]
        return bool(locals_) and all(text in self.uniform for text in locals_)

    def _is_fused_into(self, each: Instruction, opcodes: tuple[str, ...]) -> bool:
        user = self._single_user.get(each.result)
        return self._users.get(each.result) == 1 and user is not None and user.opcode in opcodes

    def _cost_of_arithmetic(self, each: Instruction) -> Cost:  # noqa: PLR0911, PLR0912 - a case for each instruction
        opcode = each.opcode
        bits = _bits(each.type if each.result else each.operands[0].type)
        if opcode == "fmul":
            return FREE if self._is_fused_into(each, ("fadd", "fsub")) else SIMPLE
        if opcode in ("fadd", "fsub"):
            return FUSED if self._has_fused(each, "fmul") else SIMPLE
        if opcode in ("fdiv", "frem"):
            return DIVIDE
        if isinstance(each, Compare):
            wide = _bits(each.operands[0].type) > 32
            fused = self._is_fused_into(each, ("select", "br"))
            return FREE if fused and not wide else Cost(2.0 if wide else 1.0, 0, 4.74)
        if opcode == "select":
            return Cost(max(1, bits // 32), 0, 4.74)
        if opcode == "fneg":
            return FREE
        if opcode in ("add", "sub"):
            if bits > 32:
                return ADD64
            return FREE if self._has_fused(each, "mul") else SIMPLE
        if opcode == "mul":
            return MULTIPLY64 if bits > 32 else MULTIPLY
        if opcode == "shl" and each.operands[1].integer is not None:
            small = each.operands[1].integer <= 4
            if small and self._is_fused_into(each, ("add", "sub", "getelementptr")):
                return FREE
            return SHIFT
        if opcode in ("shl", "lshr", "ashr"):
            return SHIFT if bits <= 32 else Cost(3, 12, 15.0)
        if opcode in ("udiv", "sdiv", "urem", "srem"):
            if each.operands[1].integer is not None:
                return DIVIDE_CONSTANT
            return DIVIDE_INTEGER if bits <= 32 else Cost(60, 120, 300.0)
        if opcode in ("and", "or", "xor"):
            return Cost(max(1, bits // 32))
        if opcode in ("uitofp", "sitofp", "fptoui", "fptosi"):
            return CONVERT
        if opcode in ("fptrunc", "fpext"):
            return SIMPLE
        # Changes of the type only, and moves of elements.
        return FREE

    def _has_fused(self, each: Instruction, opcode: str) -> bool:
        """Return whether an operand is computed in the same instruction."""
        for operand in each.operands:
            made = self.definitions.get(operand.text)
            if made is not None and made.opcode == opcode and self._users.get(operand.text) == 1:
                return True
        return False

    def _cost_of_address(self, each: ElementPointer) -> Cost:
        """Return the cost of an address: a load adds one offset to a base in uniform registers."""
        variable = [index for index in each.operands[1:] if index.is_local]
        if each.base.text in self.uniform and len(variable) <= 1:
            return FREE
        made = self.definitions.get(each.base.text)
        if isinstance(made, Alloca) or (
            isinstance(made, CallInstruction) and made.name == f"{MARKER}arena"
        ):
            return FREE
        return FREE if not variable else Cost(1.0 + len(variable), 0, 3.0)

    def _cost_of_call(self, call: CallInstruction) -> tuple[Cost, str]:  # noqa: PLR0911 - a case for each instruction
        name = call.name
        if name == BARRIER:
            return Cost(2, 0, 0.0), ""
        if name.startswith(MARKER):
            return self._cost_of_marker(name.removeprefix(MARKER)), ""
        if name.startswith(f"{OPAQUE}matrix_product"):
            return MATRIX_PRODUCT, ""
        if name.startswith(f"{OPAQUE}matrix_"):
            space = self._space_of.get(id(call), "")
            return ACCESS, space if call.result and space in NOMINAL else ""
        if name.startswith(OPAQUE):
            function = name.removeprefix(OPAQUE).partition(".")[0]
            table = PRECISE if "7precise" in name and function in PRECISE else FUNCTIONS
            cost = table.get(function, Cost(10, 10, 30.0))
            count = _components(call.type)
            return Cost(cost.slots * count, cost.complex * count, cost.latency), ""
        if name.startswith(("llvm.fma", "llvm.fmuladd")):
            return Cost(_components(call.type), 0, 6.0), ""
        if name.startswith(("llvm.memcpy", "llvm.memmove", "llvm.memset")):
            return Cost(2.0 * max(1, (call.operands[2].integer or 16) // 16), 0, 20.0), ""
        if name.startswith("llvm.sqrt"):
            return FUNCTIONS["sqrt"], ""
        if name.startswith(("llvm.ctpop", "llvm.bitreverse", "llvm.ctlz", "llvm.cttz", "llvm.fsh")):
            return SHIFT, ""
        if name.startswith(("llvm.floor", "llvm.ceil", "llvm.trunc", "llvm.rint", "llvm.fpto")):
            return CONVERT, ""
        if name.startswith("llvm.fabs"):
            return FREE, ""
        if name.startswith("llvm.") and call.result:
            return Cost(_components(call.type), 0, 4.74), ""
        return FREE, ""

    def _cost_of_marker(self, name: str) -> Cost:
        if name.startswith(("shuffle_", "first_", "ballot")):
            return SHUFFLE
        if name.startswith(("inclusive", "exclusive")):
            return SCAN
        if name.startswith(("sum", "product", "min", "max", "and", "or", "xor")):
            return REDUCE
        return FREE


def _bits(type_: Type) -> int:
    element = type_.element if isinstance(type_, Vector) else type_
    if isinstance(element, Pointer):
        return 64
    return element.bits if isinstance(element, Int | Float) else 32


def _components(type_: Type) -> int:
    return type_.count if isinstance(type_, Vector) else 1


# Instructions whose result is in the registers of their operands.
_ALIASES = frozenset(
    ("getelementptr", "zext", "sext", "trunc", "bitcast", "freeze", "inttoptr", "ptrtoint",
     "extractelement", "extractvalue", "insertelement", "insertvalue", "shufflevector", "fneg")
)  # fmt: skip


@dataclass(frozen=True)
class Pressure:
    """The most live registers of 16 bits in a step, those without loaded values, and words read."""

    halves: int
    computed_halves: int
    words_read: int


def measure_pressure(costs: CostModel) -> list[Pressure]:
    """Return the pressure of each step.

    Values in uniform registers do not count, and an instruction that only changes a type or moves
    elements has the registers of its operands.
    """
    return _Liveness(costs).measure()


class _Liveness:
    """Live values at each place, as bits of an integer by the number of the value."""

    def __init__(self, costs: CostModel) -> None:
        self.code = costs.code
        self.uniform = costs.uniform
        self.definitions = costs.definitions
        self._numbers: dict[str, int] = {}
        self._weights: list[int] = []
        # The values that can be loaded again.
        self._loaded = 0
        self._roots: dict[str, frozenset[int]] = {}
        for step in self.code.steps:
            for each in step.instructions:
                if each.result and not self._is_alias(each) and each.result not in self.uniform:
                    self._numbers[each.result] = len(self._weights)
                    if each.opcode == "load":
                        self._loaded |= 1 << len(self._weights)
                    self._weights.append(_halves(each.type))

    def _is_alias(self, each: Instruction) -> bool:
        if isinstance(each, Alloca):
            return True
        # A comparison is part of the choice or the branch that uses it.
        return each.opcode in _ALIASES or isinstance(each, Compare)

    def _find_roots(self, name: str) -> frozenset[int]:
        """Return the numbers of the values whose registers a value is in."""
        if name in self._roots:
            return self._roots[name]
        stack, found, seen = [name], set[int](), {name}
        while stack:
            at = stack.pop()
            if at in self._numbers:
                found.add(self._numbers[at])
                continue
            made = self.definitions.get(at)
            if made is None or at in self.uniform or isinstance(made, Alloca):
                continue
            for operand in made.operands:
                if operand.is_local and operand.text not in seen:
                    seen.add(operand.text)
                    stack.append(operand.text)
        self._roots[name] = frozenset(found)
        return self._roots[name]

    def _mask(self, names: list[str]) -> int:
        mask = 0
        for name in names:
            for number in self._find_roots(name):
                mask |= 1 << number
        return mask

    def _uses(self, each: Instruction) -> int:
        if isinstance(each, Phi) or self._is_alias(each) or each.result in self.uniform:
            return 0
        return self._mask([operand.text for operand in each.operands if operand.is_local])

    def measure(self) -> list[Pressure]:
        """Return the pressure of each step."""
        steps = self.code.steps
        uses = [[self._uses(each) for each in step.instructions] for step in steps]
        made = [
            [
                1 << self._numbers[each.result] if each.result in self._numbers else 0
                for each in step.instructions
            ]
            for step in steps
        ]
        successors, phi_uses = self._find_edges()
        gen, kill = [], []
        for used, defined in zip(uses, made, strict=True):
            live, killed = 0, 0
            for one, result in zip(reversed(used), reversed(defined), strict=True):
                live = (live & ~result) | one
                killed |= result
            gen.append(live)
            kill.append(killed)
        live_in = [0] * len(steps)
        changed = True
        while changed:
            changed = False
            for index in range(len(steps) - 1, -1, -1):
                out = phi_uses[index]
                for after in successors[index]:
                    out |= live_in[after]
                now = gen[index] | (out & ~kill[index])
                if now != live_in[index]:
                    live_in[index], changed = now, True
        found = []
        for index in range(len(steps)):
            live = phi_uses[index]
            for after in successors[index]:
                live |= live_in[after]
            read, peak = 0, live
            now = most = self._weigh(live)
            for one, result in zip(reversed(uses[index]), reversed(made[index]), strict=True):
                if result & live:
                    now -= self._weigh(result)
                    live &= ~result
                fresh = one & ~live
                if fresh:
                    now += self._weigh(fresh)
                    live |= fresh
                    if now > most:
                        most, peak = now, live
                read |= one
            computed = self._weigh(peak & ~self._loaded)
            found.append(Pressure(most, computed, -(-self._weigh(read) // 2)))
        return found

    def _find_edges(self) -> tuple[list[list[int]], list[int]]:
        steps = self.code.steps
        first = {step.block.name: i for i, step in enumerate(steps) if step.part == 0}
        successors: list[list[int]] = []
        phi_uses: list[int] = []
        for index, step in enumerate(steps):
            if step.ends_at_barrier:
                successors.append([index + 1])
                phi_uses.append(0)
                continue
            successors.append([first[each.name] for each in step.block.successors])
            names = [
                operand.text
                for after in step.block.successors
                for phi in after.phis
                for operand, source in zip(phi.operands, phi.sources, strict=True)
                if source == step.block.name and operand.is_local
            ]
            phi_uses.append(self._mask(names))
        return successors, phi_uses

    def _weigh(self, mask: int) -> int:
        total = 0
        while mask:
            lowest = mask & -mask
            total += self._weights[lowest.bit_length() - 1]
            mask ^= lowest
        return total


def _halves(type_: Type) -> int:
    """Return the registers of 16 bits of a value."""
    if isinstance(type_, Vector):
        return type_.count * _halves(type_.element)
    if isinstance(type_, Pointer):
        return 4
    if isinstance(type_, Int | Float):
        return -(-type_.bits // 16)
    members = getattr(type_, "members", ())
    return sum(_halves(each) for each in members) or 2
