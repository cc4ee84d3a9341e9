"""Run sequential operations of a program on the host's processors, while the GPU runs others.

A GPU needs thousands of threads. A loop on a small state, a sort of a short row or a factorisation
of one matrix has few, and a launch for each step. Such operations, with the small ones between
them, are candidates. Each becomes a *host region*: `host_begin` copies its operands to the host,
`host_end` copies its results back, and the operations between the two run at the same time.

A cost model compares the program with and without the region, from the plans of both. A candidate
becomes a region only if the program then takes at most 1 / `LEAST_GAIN` of the time (`auto`), or
always (`always`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from metalbench.devices import find_kind
from metalbench.hlo.ir import (
    ELEMENT_TYPES,
    Block,
    Operation,
    TensorType,
    TensorValue,
    copy_block,
)
from metalbench.hlo.operations import OperationKind, has_side_effects, list_names
from metalbench.hlo.passes.loops import count_iterations
from metalbench.hlo.runtime.costs import count_moved_bytes, count_operation
from metalbench.hlo.runtime.plan import ExecutionPlan, PlanStep, build_plan
from metalbench.process import usable_cores

CHOICES = ("never", "auto", "always")
# The model's errors are larger than the gain of 10 % that would pay.
LEAST_GAIN = 1.3
# Operations with few threads or many launches.
_FACTORIZATIONS = list_names(OperationKind.FACTORIZATION) | {"cholesky"}
SEQUENTIAL = _FACTORIZATIONS | {"while", "sort", "triangular_solve"}
# Bytes of the operands and results of an operation that may be in a region between others.
SMALL_BYTES = 1 << 20
# Iterations of a loop that are assumed if a run decides.
UNKNOWN_ITERATIONS = 1
_TOKEN = TensorType((0,), ELEMENT_TYPES["i1"])


@dataclass(frozen=True)
class DeviceRates:
    """The speed of a device for generated kernels, per second, and its fixed costs in seconds.

    `operations` are those of one core. `serial` are operations of one thread that depend on each
    other. `step_s` is the time of a step of a factorisation: its threads wait for each other.
    `read_s` is the time until the host has a value that the device computes.
    """

    cores: int
    operations: float
    bytes: float
    serial: float
    launch_s: float
    step_s: float
    read_s: float
    copied_bytes: float


def assume_gpu_rates(kind: str, cores: int = 0) -> DeviceRates:
    """Return the assumed rates of a kind of GPU; they err on the side of a fast one.

    0 cores are unknown ones: those of an H100 or of an M4 Max. A core of an NVIDIA GPU has 128
    lanes of about 1.5 GHz, one of Apple's 128 of 1.3 GHz; dependent operations are issued every 4
    cycles on NVIDIA (CUDA C++ Programming Guide, "Arithmetic Instructions") and every 2 to 4 on
    Apple (philipturner/metal-benchmarks). The bandwidths are those of an H100 and of an M4 Max,
    copies those of a pageable PCIe 5 transfer; Apple's memory needs none.
    """
    if find_kind(kind).has_separate_memory:
        return DeviceRates(cores or 132, 128 * 1.5e9, 3e12, 4e8, 4e-6, 5e-7, 1e-5, 1e10)
    return DeviceRates(cores or 40, 128 * 1.3e9, 5e11, 4e8, 3e-6, 5e-7, 1.5e-4, 1e11)


def assume_host_rates() -> DeviceRates:
    """Return the assumed rates of the `cpu` device, which err on the side of a slow one."""
    cores = usable_cores()
    return DeviceRates(cores, 2e9, min(cores * 5e9, 5e10), 1e9, 2e-6, 1e-7, 0.0, 1e10)


def estimate_seconds(plan: ExecutionPlan, rates: DeviceRates) -> float:
    """Return the estimated time of a plan on a device. Its block must have its operations."""
    steps = {each.operation for each in plan.steps}
    # An inlined operation counts where its first reader is computed.
    places: dict[TensorValue, Operation] = {}
    inlined: Counter[Operation] = Counter()
    for operation in reversed(plan.block.operations):
        place = operation
        if operation not in steps:
            place = next((places[each] for each in operation.results if each in places), operation)
            inlined[place] += count_operation(operation).total
        places.update(dict.fromkeys(operation.find_inputs(), place))
    return sum(_estimate_step(each, inlined[each.operation], rates) for each in plan.steps)


def _estimate_step(step: PlanStep, inlined: int, rates: DeviceRates) -> float:
    operation = step.operation
    if operation.name == "while":
        condition, body = (estimate_seconds(each, rates) for each in step.plans)
        count = count_iterations(step.counter)
        if count is None:
            count = UNKNOWN_ITERATIONS
        each = body if step.counter is not None else body + condition + rates.read_s
        return count * each
    if step.plans:
        return rates.read_s + max(estimate_seconds(each, rates) for each in step.plans)
    work = (inlined + count_operation(operation).total) / max(len(step.kernels), 1)
    # Elements of a result do not depend on each other, also if one thread computes several.
    chain = work / max([1, *(each.type.size for each in operation.results)])
    found = 0.0
    for kernel in step.kernels:
        cores = min(rates.cores, -(-kernel.threads // kernel.group))
        found += rates.launch_s + max(
            work / (max(cores, 1) * rates.operations),
            chain / rates.serial,
            count_moved_bytes(kernel) / rates.bytes,
        )
    if operation.name in _FACTORIZATIONS:
        *_, rows, columns = operation.operands[0].type.shape
        found += min(rows, columns) * rates.step_s
    return found


@dataclass
class Candidate:
    """Operations that may become a host region, in the order of their block."""

    operations: list[Operation]
    inputs: list[TensorValue]
    outputs: list[TensorValue]

    @property
    def where(self) -> str:
        """The name of the first sequential operation, for the text of a decision."""
        return next(each for each in self.operations if each.name in SEQUENTIAL).where

    def copy(self) -> Block:
        """Return a new block of these operations."""
        return copy_block(Block(self.inputs, self.operations, self.outputs))


def find_candidates(block: Block) -> list[Candidate]:
    """Return disjoint groups of operations whose paths to each other do not leave the group."""
    movable = _find_movable(block)
    depths: dict[Operation, int] = {}
    groups: dict[Operation, dict[Operation, None]] = {}
    for operation in block.operations:
        inputs = [each.operation for each in operation.find_inputs()]
        producers = [each for each in inputs if each is not None and each.name != "constant"]
        own = operation in movable
        # Grows by one on each path from the device back to the host.
        depths[operation] = max(
            (depths[each] + (own and each not in movable) for each in producers if each in depths),
            default=0,
        )
        if not own:
            continue
        group = {operation: None}
        for each in producers:
            if each in groups and depths[each] == depths[operation]:
                group.update(groups[each])
        groups.update(dict.fromkeys(group, group))
    order = {each: number for number, each in enumerate(block.operations)}
    found = {id(each): each for each in groups.values()}.values()
    return [
        _make_candidate(block, sorted(each, key=order.__getitem__))
        for each in found
        if any(one.name in SEQUENTIAL for one in each)
    ]


def _find_movable(block: Block) -> set[Operation]:
    """Return the sequential operations, and the small ones on paths from one to another."""
    allowed = [
        each
        for each in block.operations
        if each.name != "constant"
        and not has_side_effects(each)
        and not _has_opaque_call(each)
        and (each.name in SEQUENTIAL or _is_small(each))
    ]
    after: set[Operation] = set()
    before: set[Operation] = set()
    for each in allowed:
        producers = {one.operation for one in each.find_inputs()}
        if each.name in SEQUENTIAL or producers & after:
            after.add(each)
    readers: set[TensorValue] = set()
    for each in reversed(allowed):
        if each.name in SEQUENTIAL or readers.intersection(each.results):
            before.add(each)
            readers.update(each.find_inputs())
    return after & before


def _has_opaque_call(operation: Operation) -> bool:
    if operation.name in ("host_call", "custom_call"):
        return True
    return any(_has_opaque_call(each) for region in operation.regions for each in region.operations)


def _is_small(operation: Operation) -> bool:
    return _sum_bytes((*operation.find_inputs(), *operation.results)) <= SMALL_BYTES


def _make_candidate(block: Block, operations: list[Operation]) -> Candidate:
    """Return a candidate with copies of the constants that it uses."""
    own = set(operations)
    constants: dict[Operation, None] = {}
    inputs: dict[TensorValue, None] = {}
    for operation in operations:
        for value in operation.find_inputs():
            source = value.operation
            if source is not None and source.name == "constant":
                constants[source] = None
            elif source not in own:
                inputs[value] = None
    used = set(block.returned)
    for operation in block.operations:
        if operation not in own:
            used.update(operation.find_inputs())
    outputs = [each for operation in operations for each in operation.results if each in used]
    return Candidate([*constants, *operations], list(inputs), outputs)


def _find_related(block: Block, candidate: Candidate) -> tuple[set[Operation], set[Operation]]:
    """Return the operations that a candidate depends on, and those that depend on it."""
    own = set(candidate.operations)
    before: set[Operation] = set()
    needed = set(candidate.inputs)
    for operation in reversed(block.operations):
        if operation not in own and needed.intersection(operation.results):
            before.add(operation)
            needed.update(operation.find_inputs())
    after: set[Operation] = set()
    changed = set(candidate.outputs)
    for operation in block.operations:
        if operation not in own and changed.intersection(operation.find_inputs()):
            after.add(operation)
            changed.update(operation.results)
    return before, after


def _estimate_gain(
    block: Block, candidate: Candidate, level: int, device: str, cores: int
) -> tuple[float, str]:
    """Return how many times faster a program is with a region, and the times as text."""
    gpu, host = assume_gpu_rates(device, cores), assume_host_rates()
    before, after = _find_related(block, candidate)
    excluded = {*before, *after, *candidate.operations}
    others = [each for each in block.operations if each not in excluded and each.name != "constant"]

    def estimate(work: Block, kind: str, rates: DeviceRates) -> float:
        return estimate_seconds(build_plan(work, level, device=kind), rates)

    whole = estimate(copy_block(block), device, gpu)
    region = estimate(candidate.copy(), device, gpu)
    concurrent = estimate(_make_candidate(block, others).copy(), device, gpu) if others else 0.0
    moved = _sum_bytes(candidate.inputs) + _sum_bytes(candidate.outputs)
    on_host = estimate(candidate.copy(), "cpu", host) + 2 * gpu.read_s + moved / gpu.copied_bytes
    split = max(whole - region, 0.0) + max(on_host - concurrent, 0.0)
    text = (
        f"{1e6 * region:.3g} us on the GPU, {1e6 * on_host:.3g} us on the host with copies, "
        f"{1e6 * concurrent:.3g} us of the GPU at the same time"
    )
    return whole / max(split, 1e-9), text


def _sum_bytes(values: Iterable[TensorValue]) -> int:
    return sum(each.type.nbytes for each in values)


def _outline(block: Block, candidate: Candidate, number: int, plan: ExecutionPlan) -> None:
    """Replace the operations of a candidate by a begin and an end, in place."""
    before, after = _find_related(block, candidate)
    where = candidate.where.split("] ", 1)[-1]
    token = TensorValue(_TOKEN)
    begin = Operation(
        "host_begin", candidate.inputs, [token], {"plan": plan, "run": number}, [], where
    )
    end = Operation("host_end", [token], candidate.outputs, {"run": number}, [], where)
    token.operation = begin
    for index, each in enumerate(candidate.outputs):
        each.operation, each.number = end, index
    own = {each for each in candidate.operations if each.name != "constant"}
    others = [each for each in block.operations if each not in own]
    block.operations = [
        *(each for each in others if each in before or each.name == "constant"),
        begin,
        *(each for each in others if each not in before | after and each.name != "constant"),
        end,
        *(each for each in others if each in after),
    ]


def build_split_plan(
    block: Block, level: int, *, device: str = "", cores: int = 0, choice: str = "never"
) -> ExecutionPlan:
    """Return the plan of a program for a kind of device with some GPU cores.

    `choice` is one of CHOICES; `level` and the errors are those of `build_plan`. `decisions` of the
    plan tell the estimated times of each candidate.
    """
    decisions: list[str] = []
    is_gpu = not find_kind(device).is_simulated
    candidates = (
        find_candidates(block) if choice == "always" or (choice == "auto" and is_gpu) else []
    )
    for number, candidate in enumerate(candidates):
        gain, text = _estimate_gain(block, candidate, level, device, cores)
        is_placed = choice == "always" or gain >= LEAST_GAIN
        place = "on the host" if is_placed else f"on {device}"
        decisions.append(f"{candidate.where}: {place}; estimated gain {gain:.2f}: {text}")
        if is_placed:
            _outline(block, candidate, number, build_plan(candidate.copy(), level, device="cpu"))
    plan = build_plan(block, level, device=device)
    plan.decisions = decisions
    return plan
