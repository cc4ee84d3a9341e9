"""Plan a program: steps in order, each a list of kernels or control flow on the host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from metalbench.devices import find_kind
from metalbench.errors import OutOfMemoryError, Unsupported
from metalbench.hlo.codegen import (
    EMITTERS,
    FACTORIZATIONS,
    STAGED,
    STAGED_BY_PASSES,
    GeneratedKernel,
    build_attention_kernel,
    build_cholesky_kernel,
    build_loop_kernel,
    build_map_kernel,
    build_matrix_kernel,
    build_row_product_kernel,
    build_row_sums_kernel,
    build_rows_kernel,
    build_stage_kernel,
    build_update_kernel,
    find_block,
    find_register_tile,
    find_row_product,
    format_library,
    shares_cholesky,
)
from metalbench.hlo.ir import Block, Operation, TensorValue
from metalbench.hlo.operations import CONTROL_FLOW, FUSED_LOOPS, HOST_CALLS, HOST_REGIONS
from metalbench.hlo.passes.fusion import (
    can_scatter_in_place,
    choose_inlined_values,
    find_updates_in_place,
)
from metalbench.hlo.passes.loops import LoopCounter, find_loop_counter
from metalbench.hlo.passes.matrix_products import can_use_tiles
from metalbench.hlo.passes.pipeline import run_passes
from metalbench.hlo.passes.verification import verify
from metalbench.hlo.runtime.host_calls import HostFunction, find_function

_FUSED_KERNELS = {
    "attention": build_attention_kernel,
    "row_product": build_row_product_kernel,
    "rows": build_rows_kernel,
}
_STAGED = {**STAGED, **STAGED_BY_PASSES}
_KERNELS = {**_FUSED_KERNELS, **FACTORIZATIONS, "counted_loop": build_loop_kernel}
LEVELS = (0, 2, 3)
# From this level on, lanes of a SIMD-group share sums, which changes their order.
ROW_LEVEL = 3


@dataclass
class PlanStep:
    """One operation: its kernels in order, the plans of its regions, or work of the host.

    `last_uses` are the values whose live ranges end after this step. The result of a step with an
    `updated` value has its elements where the kernels do not write: it takes over its buffer if
    nothing else refers to it, else a copy. A loop with a `counter` does not need its condition.
    `function` is one of Python. `host_plan` is that of a host region which begins here, and
    `host_run` the number of the region that begins or ends here.
    """

    operation: Operation
    kernels: list[GeneratedKernel] = field(default_factory=list)
    plans: list[ExecutionPlan] = field(default_factory=list)
    last_uses: list[TensorValue] = field(default_factory=list)
    updated: TensorValue | None = None
    counter: LoopCounter | None = None
    function: HostFunction | None = None
    host_plan: ExecutionPlan | None = None
    host_run: int | None = None

    @property
    def results(self) -> list[TensorValue]:
        """Values that the step defines."""
        return self.operation.results

    def find_inputs(self) -> list[TensorValue]:
        """Return the values that must be in buffers before this step."""
        if self.plans:
            used = [one for each in self.plans for one in each.find_used_values()]
            return list(dict.fromkeys([*self.operation.operands, *used]))
        if self.function or self.host_run is not None:
            return list(dict.fromkeys(self.operation.operands))
        updated = [] if self.updated is None else [self.updated]
        return [*updated, *(value for each in self.kernels for value in each.inputs.values())]


@dataclass
class ExecutionPlan:
    """The steps of a block, and the constants that need buffers.

    `temporary` are the values whose buffers can be reused after their live ranges. Buffers that
    control flow reads or passes on, and returned values, are not temporary. `decisions` tell why
    operations run on the host or not.
    """

    block: Block
    steps: list[PlanStep]
    constants: list[Operation]
    temporary: set[TensorValue] = field(default_factory=set)
    decisions: list[str] = field(default_factory=list)

    def find_used_values(self) -> list[TensorValue]:
        """Return the values that the block uses and does not define."""
        own = set(self.block.arguments)
        own.update(each.results[0] for each in self.constants)
        found: dict[TensorValue, None] = {}
        for step in self.steps:
            found.update(dict.fromkeys(each for each in step.find_inputs() if each not in own))
            own.update(step.results)
        found.update(dict.fromkeys(each for each in self.block.returned if each not in own))
        return list(found)

    def calls_host(self) -> bool:
        """Return whether the plan, or a nested one, calls a function of the host."""
        return any(step.function is not None for step in self.iterate_steps())

    def iterate_blocks(self) -> Iterator[ExecutionPlan]:
        """Yield this plan and those of regions, in order; plans of the host are separate."""
        yield self
        for step in self.steps:
            for plan in step.plans:
                yield from plan.iterate_blocks()

    def iterate_steps(self) -> Iterator[PlanStep]:
        """Yield all steps, each before those of its regions."""
        for step in self.steps:
            yield step
            for plan in step.plans:
                yield from plan.iterate_steps()

    def iterate_kernels(self) -> Iterator[GeneratedKernel]:
        """Yield all kernels, including those of nested plans."""
        for step in self.iterate_steps():
            yield from step.kernels

    def format_steps(self, indent: str = "") -> str:
        """Return the steps as text: kernels with threads and buffers, and control flow."""
        lines = [f"{indent}{each}" for each in self.decisions]
        for step in self.steps:
            for kernel in step.kernels:
                inputs = ", ".join(str(each.type) for each in kernel.inputs.values())
                outputs = ", ".join(str(each.type) for each in kernel.outputs.values())
                lines.append(
                    f"{indent}{kernel.name}: {kernel.threads} threads, ({inputs}) -> ({outputs})"
                )
            if step.function:
                lines.append(f"{indent}{step.operation.name}, by the host")
            if step.host_run is not None:
                lines.append(f"{indent}{step.operation.name} {step.host_run}")
            if step.host_plan is not None:
                lines.append(step.host_plan.format_steps(indent + "    "))
            if step.plans:
                counted = ", counted" if step.counter else ""
                lines.append(f"{indent}{step.operation.name}, by the host{counted}:")
            lines += [
                f"{indent}  region:\n{each.format_steps(indent + '    ')}" for each in step.plans
            ]
        return "\n".join(lines)


def build_plan(block: Block, level: int, *, device: str = "") -> ExecutionPlan:
    """Return the plan of a program at an optimisation level, for a kind of device if it is known.

    Raise Unsupported with the operation's name, or GraphError if a pass made an invalid graph.
    """
    if device and not find_kind(device).has_double:
        refuse_double(block)
    run_passes(block, level, device=device)
    verify(block)
    return _Planner(level, device).plan_block(block)


def refuse_double(block: Block) -> None:
    """Raise Unsupported for the first operation, argument or result of type `double`."""
    for number, each in enumerate(block.arguments):
        _refuse_double_value(f"argument {number}", each)
    for operation in block.operations:
        for each in (*operation.operands, *operation.results):
            _refuse_double_value(operation.where, each)
        for region in operation.regions:
            refuse_double(region)


def _refuse_double_value(where: str, value: TensorValue) -> None:
    if value.type.element.has_double:
        raise Unsupported(
            f"{where}: {value.type}: Metal's language has no double; convert to f32 "
            "(in JAX, leave jax_enable_x64 off), or run on the device cpu or cuda"
        )


def format_source(whole: ExecutionPlan) -> str:
    """Return all kernels of a plan as one MSL file; identical kernels appear once."""
    texts = {kernel.name: kernel.text for kernel in whole.iterate_kernels()}
    return format_library(texts.values())


class _Planner:
    """Builder of the plans of a program and its regions; it deduplicates kernels."""

    def __init__(self, level: int, device: str) -> None:
        self._level, self._device = level, device
        self._count = 0
        self._known: dict[str, GeneratedKernel] = {}
        # Results of updates that write only the elements that change.
        self._updates: set[TensorValue] = set()

    def plan_block(self, block: Block) -> ExecutionPlan:
        """Return the plan of a block."""
        whole = {
            *(*_STAGED, *CONTROL_FLOW, *FACTORIZATIONS),
            *(*FUSED_LOOPS, *HOST_CALLS, *HOST_REGIONS),
        }
        inlined = choose_inlined_values(block, self._level, whole)
        if self._level:
            self._updates.update(find_updates_in_place(block, inlined))
        plan = ExecutionPlan(block, [], [])
        for operation in block.operations:
            if operation.name == "constant" and operation.results[0] not in inlined:
                plan.constants.append(operation)
            elif not inlined.issuperset(operation.results):
                plan.steps.append(self._plan_step(operation, inlined))
            else:
                _check_supported(operation)
        _mark_last_uses(plan)
        return plan

    def _plan_step(self, operation: Operation, inlined: set[TensorValue]) -> PlanStep:
        _check_supported(operation)
        if operation.name in CONTROL_FLOW:
            counter = find_loop_counter(operation) if operation.name == "while" else None
            plans = [self.plan_block(each) for each in operation.regions]
            return PlanStep(operation, plans=plans, counter=counter)
        if operation.name in HOST_CALLS:
            return PlanStep(operation, function=find_function(operation))
        if operation.name in HOST_REGIONS:
            plan, number = operation.attributes.get("plan"), operation.attributes["run"]
            return PlanStep(operation, host_plan=plan, host_run=number)
        if operation.results[0] in self._updates:
            kernel = build_update_kernel(self._make_name(operation), operation, inlined)
            return PlanStep(operation, [self._deduplicate(kernel)], updated=operation.operands[0])
        updated = None
        if operation.name == "cholesky" and shares_cholesky(operation):
            write = build_cholesky_kernel
            kernels = [write(self._make_name(operation), operation, inlined, device=self._device)]
        elif operation.name in _STAGED:
            stages = _STAGED[operation.name](operation)
            if self._level and can_scatter_in_place(operation, inlined):
                # Without the stage that copies the operand.
                updated, stages = operation.operands[0], stages[1:]
            kernels = [
                build_stage_kernel(self._make_name(operation), stage, operation.results, inlined)
                for stage in stages
            ]
        elif operation.name in _KERNELS:
            write = _KERNELS[operation.name]
            kernels = [write(self._make_name(operation), operation, inlined, device=self._device)]
        else:
            kernels = [
                self._plan_map_kernel(self._make_name(operation), operation.results, inlined)
            ]
        return PlanStep(operation, [self._deduplicate(each) for each in kernels], updated=updated)

    def _plan_map_kernel(
        self, name: str, results: Sequence[TensorValue], inlined: set[TensorValue]
    ) -> GeneratedKernel:
        rows = find_row_product(results, inlined) if self._level >= ROW_LEVEL else None
        if rows is not None:
            return build_row_sums_kernel(name, results[0], rows, inlined)
        tile = find_register_tile(results, inlined) if self._level else None
        if tile is not None and can_use_tiles(tile.product, self._device):
            return build_matrix_kernel(name, results, tile.product, inlined)
        moves_blocks = self._level and find_kind(self._device).is_simulated
        block = find_block(results, inlined) if moves_blocks else ()
        return build_map_kernel(name, results, inlined, tile=tile, block=block)

    def _deduplicate(self, kernel: GeneratedKernel) -> GeneratedKernel:
        """Return the kernel with the name and text of the first identical kernel."""
        known = self._known.setdefault(kernel.nameless_text, kernel)
        return replace(kernel, name=known.name, text=known.text)

    def _make_name(self, operation: Operation) -> str:
        self._count += 1
        return f"{operation.name}_{self._count}"


def _check_supported(operation: Operation) -> None:
    """Raise Unsupported for operations without a kernel, also inside fused regions."""
    if operation.name not in {
        *EMITTERS,
        *_STAGED,
        *CONTROL_FLOW,
        *_KERNELS,
        *HOST_CALLS,
        *HOST_REGIONS,
    }:
        target = operation.attributes.get("call_target_name")
        what = f"@{target} " if target else ""
        raise Unsupported(f"{operation.where}: {what}has no kernel yet")
    if operation.name in CONTROL_FLOW:
        return
    for region in operation.regions:
        for inner in region.operations:
            if inner.name not in EMITTERS:
                raise Unsupported(f"{inner.where}: cannot be in a region of {operation.name}")
            _check_supported(inner)


def _mark_last_uses(plan: ExecutionPlan) -> None:
    """Set `last_uses` of each step, and the temporary values of the plan."""
    own = {each for operation in plan.block.operations for each in operation.results}
    own.update(plan.block.arguments)
    needed = set(plan.block.returned)
    for step in reversed(plan.steps):
        touched = dict.fromkeys([*step.find_inputs(), *step.operation.results])
        step.last_uses = [each for each in touched if each in own and each not in needed]
        needed.update(touched)
    held = {each for step in plan.steps if step.plans for each in step.find_inputs()}
    plan.temporary = {
        each for step in plan.steps if not step.plans for each in step.operation.results
    }
    plan.temporary -= held | set(plan.block.returned)


# Compute the peak memory of a plan, and compare it with the memory of the machine.


def compute_live_bytes(plan: ExecutionPlan) -> int:
    """Return the peak of live buffer bytes while a plan runs."""
    return _find_peak(plan)[0]


def check_memory(plan: ExecutionPlan, limit_bytes: int) -> None:
    """Raise OutOfMemoryError with the operation's name if the peak exceeds `limit_bytes`.

    Linux overcommits memory, and ends a process that touches pages it cannot back.
    """
    most, where = _find_peak(plan)
    if most > limit_bytes:
        raise OutOfMemoryError(
            f"{where}: expected at most {limit_bytes} bytes of live buffers, the memory of this "
            f"machine, got {most}; use smaller sizes or a device with more memory"
        )


def _find_peak(plan: ExecutionPlan) -> tuple[int, str]:
    """Return the peak of live buffer bytes, and the beginning of an error message about it."""
    live = dict.fromkeys([*plan.block.arguments, *(each.results[0] for each in plan.constants)])
    total = _sum_bytes(live)
    found = total, "[hlo] arguments and constants"
    if plan.constants:
        largest = max(plan.constants, key=lambda each: each.results[0].type.nbytes)
        found = found[0], largest.where
    for step in plan.steps:
        new = dict.fromkeys(each for each in step.operation.results if each not in live)
        live.update(new)
        total += _sum_bytes(new)
        inside = max(map(_find_peak, step.plans), default=(0, step.operation.where))
        # A captured value counts in the block that defines it.
        found = max(found, (total + inside[0], inside[1]), key=lambda each: each[0])
        for value in step.last_uses:
            if value in plan.temporary and value in live:
                del live[value]
                total -= value.type.nbytes
    return found


def _sum_bytes(values: Iterable[TensorValue]) -> int:
    return sum(each.type.nbytes for each in values)
