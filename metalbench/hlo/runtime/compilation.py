"""Cache plans on disk, so that a known program needs no MLIR, passes or code generation.

The key depends on the program's bytes, the level, the kind of device, the sources of this package
and the version of jaxlib. An entry holds only the part of the graph that a run needs: arguments,
results, and the operations of the steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from metalbench import build_cache
from metalbench._core import Queue
from metalbench.build_cache import digest_trees
from metalbench.errors import MetalBenchError
from metalbench.hlo.codegen import GeneratedKernel
from metalbench.hlo.importer import read
from metalbench.hlo.ir import ELEMENT_TYPES, Block, Operation, TensorType, TensorValue, find_splat
from metalbench.hlo.passes.loops import LoopCounter
from metalbench.hlo.passes.pipeline import run_initial_passes
from metalbench.hlo.runtime.executable import Executable, open_device
from metalbench.hlo.runtime.host_regions import build_split_plan
from metalbench.hlo.runtime.plan import ExecutionPlan, PlanStep
from metalbench.process import usable_cores

Record = dict[str, Any]
# A plan with more bytes of constants is not cached: the program has them already.
MAX_CONSTANT_BYTES = 1 << 26


def compute_key(code: str | bytes, *parts: str) -> str:
    """Return the cache key of a program's plan; `parts` are further parts of the key."""
    return build_cache.digest("hlo plan", *_identify_versions(), *parts, code)


@cache
def _identify_versions() -> tuple[str, str]:
    """Return a digest of this package, and the version of jaxlib; a process has one of each."""
    try:
        reader = version("jaxlib")
    except PackageNotFoundError:
        reader = ""
    return digest_trees([(Path(__file__).parents[1], (".py", ".h"))]), reader


def store_plan(key: str, plan: ExecutionPlan, facts: Mapping[str, Any]) -> None:
    """Store a plan and the facts about its program; do nothing if the cache is not writable."""
    encoder = _PlanEncoder()
    encoded = encoder.encode_plan(plan)
    constants = b"".join(encoder.arrays)
    if len(constants) > MAX_CONSTANT_BYTES:
        return
    record = {
        "facts": dict(facts),
        "plan": encoded,
        "values": [[list(each.type.shape), each.type.element.name] for each in encoder.numbers],
        "texts": encoder.texts,
        "constants": build_cache.digest(constants),
    }
    try:
        with build_cache.write_atomically(build_cache.locate_file(key, ".bin")) as path:
            path.write_bytes(constants)
        build_cache.store(key, record)
    except MetalBenchError:
        return  # The kernels' builds need the same cache, and report why it fails.


def load_plan(key: str) -> tuple[ExecutionPlan, dict[str, Any]] | None:
    """Return the stored plan and the facts about its program, or None."""
    record = build_cache.load(key)
    if record is None:
        return None
    try:
        constants = build_cache.locate_file(key, ".bin").read_bytes()
    except OSError:
        return None
    if build_cache.digest(constants) != record["constants"]:
        return None
    return _PlanDecoder(record, constants).decode_plan(record["plan"]), record["facts"]


class _PlanEncoder:
    """Encoder of a plan as JSON values.

    Values become numbers, kernel texts are stored by name, constants as bytes.
    """

    def __init__(self) -> None:
        self.numbers: dict[TensorValue, int] = {}
        self.texts: dict[str, str] = {}
        self.arrays: list[bytes] = []

    def encode_number(self, value: TensorValue) -> int:
        return self.numbers.setdefault(value, len(self.numbers))

    def encode_plan(self, plan: ExecutionPlan) -> Record:
        return {
            "arguments": list(map(self.encode_number, plan.block.arguments)),
            "constants": [
                {
                    **self.encode_operation(each),
                    "value": self.encode_constant(each.attributes["value"]),
                }
                for each in plan.constants
            ],
            "steps": list(map(self.encode_step, plan.steps)),
            "returned": list(map(self.encode_number, plan.block.returned)),
            "temporary": sorted(map(self.encode_number, plan.temporary)),
            "decisions": plan.decisions,
        }

    def encode_step(self, step: PlanStep) -> Record:
        return {
            "operation": self.encode_operation(step.operation),
            "kernels": list(map(self.encode_kernel, step.kernels)),
            "plans": list(map(self.encode_plan, step.plans)),
            "last_uses": list(map(self.encode_number, step.last_uses)),
            "updated": None if step.updated is None else self.encode_number(step.updated),
            "counter": None if step.counter is None else self.encode_counter(step.counter),
            "host_plan": None if step.host_plan is None else self.encode_plan(step.host_plan),
            "host_run": step.host_run,
        }

    def encode_counter(self, counter: LoopCounter) -> Record:
        def encode(number: int | TensorValue) -> int | Record:
            return number if isinstance(number, int) else {"value": self.encode_number(number)}

        return {
            "start": encode(counter.start),
            "bound": encode(counter.bound),
            "step": counter.step,
            "is_inclusive": counter.is_inclusive,
            "element": counter.element.name,
        }

    def encode_operation(self, operation: Operation) -> Record:
        return {
            "name": operation.name,
            "operands": list(map(self.encode_number, operation.operands)),
            "results": list(map(self.encode_number, operation.results)),
            "location": operation.location,
        }

    def encode_kernel(self, kernel: GeneratedKernel) -> Record:
        self.texts[kernel.name] = kernel.text
        return {
            "name": kernel.name,
            "threads": kernel.threads,
            "group": kernel.group,
            "inputs": {name: self.encode_number(each) for name, each in kernel.inputs.items()},
            "outputs": {name: self.encode_number(each) for name, each in kernel.outputs.items()},
        }

    def encode_constant(self, array: np.ndarray[Any, Any]) -> list[int]:
        """Return the offset of a constant's bytes and its number of elements; a splat has one."""
        start = sum(map(len, self.arrays))
        one = find_splat(array)
        stored = array if one is None else one
        self.arrays.append(stored.tobytes())
        return [start, stored.size]


class _PlanDecoder:
    """Decoder of a plan from JSON values and the bytes of constants."""

    def __init__(self, record: Record, constants: bytes) -> None:
        self._values = [
            TensorValue(TensorType(tuple(shape), ELEMENT_TYPES[name]))
            for shape, name in record["values"]
        ]
        self._texts, self._constants = record["texts"], constants

    def decode_values(self, numbers: list[int]) -> list[TensorValue]:
        return [self._values[each] for each in numbers]

    def decode_plan(self, record: Record) -> ExecutionPlan:
        block = Block(
            self.decode_values(record["arguments"]), [], self.decode_values(record["returned"])
        )
        constants = [self.decode_constant(each) for each in record["constants"]]
        steps = [self.decode_step(each) for each in record["steps"]]
        temporary = set(self.decode_values(record["temporary"]))
        return ExecutionPlan(block, steps, constants, temporary, record["decisions"])

    def decode_step(self, record: Record) -> PlanStep:
        return PlanStep(
            self.decode_operation(record["operation"]),
            [self.decode_kernel(each) for each in record["kernels"]],
            [self.decode_plan(each) for each in record["plans"]],
            self.decode_values(record["last_uses"]),
            None if record["updated"] is None else self._values[record["updated"]],
            None if record["counter"] is None else self.decode_counter(record["counter"]),
            None,
            None if record["host_plan"] is None else self.decode_plan(record["host_plan"]),
            record["host_run"],
        )

    def decode_counter(self, record: Record) -> LoopCounter:
        def decode(number: int | Record) -> int | TensorValue:
            return number if isinstance(number, int) else self._values[number["value"]]

        return LoopCounter(
            decode(record["start"]),
            decode(record["bound"]),
            record["step"],
            record["is_inclusive"],
            ELEMENT_TYPES[record["element"]],
        )

    def decode_operation(self, record: Record) -> Operation:
        operands, results = (
            self.decode_values(record["operands"]),
            self.decode_values(record["results"]),
        )
        operation = Operation(record["name"], operands, results, {}, [], record["location"])
        for number, each in enumerate(results):
            each.operation, each.number = operation, number
        return operation

    def decode_kernel(self, record: Record) -> GeneratedKernel:
        name = record["name"]
        inputs, outputs = (
            {parameter: self._values[each] for parameter, each in record[side].items()}
            for side in ("inputs", "outputs")
        )
        text, threads, group = self._texts[name], record["threads"], record["group"]
        return GeneratedKernel(name, text, threads, inputs, outputs, group)

    def decode_constant(self, record: Record) -> Operation:
        operation = self.decode_operation(record)
        type_, (start, count) = operation.results[0].type, record["value"]
        array = np.frombuffer(self._constants, type_.element.storage, count, start)
        shaped = array.reshape(type_.shape) if count == type_.size else array.reshape(())
        operation.attributes["value"] = np.broadcast_to(shaped, type_.shape)
        return operation


# Compile a program to an executable through the plan cache.


def import_program(
    program: Any, filename: str = "<program>", entry: str = "main", *, until: str | None = None
) -> Block:
    """Return the graph of a program after the initial passes.

    `until` names the last initial pass to run, if it is one of them.
    """
    block = read(program, filename, entry)
    run_initial_passes(block, until)
    return block


def compile_program(
    program: Any,
    *,
    level: int = 2,
    device: str = "auto",
    filename: str = "<program>",
    run_limit: float | None = None,
    host: str = "never",
) -> Executable:
    """Compile a program (text, bytes or a module) for a device.

    `host` is one of CHOICES in `host_regions.py`. A run that takes longer than `run_limit` seconds
    raises TimeLimitExceeded. Raise DeclarationError, Unsupported, OutOfMemoryError or CompileError.
    """
    executable, _ = compile_with_facts(
        program,
        lambda _: {},
        which="none",
        level=level,
        device=device,
        filename=filename,
        host=host,
    )
    executable.run_limit = run_limit
    return executable


def compile_with_facts(
    program: Any,
    facts_of: Callable[[Block], dict[str, Any]],
    *,
    which: str,
    level: int = 2,
    device: str = "auto",
    filename: str = "<program>",
    queue: Queue | None = None,
    may_defer: Callable[[ExecutionPlan], bool] = lambda _: False,
    host: str = "never",
) -> tuple[Executable, dict[str, Any]]:
    """Return the executable of a program, and the facts that `facts_of` returns about its graph.

    The facts are stored in the plan cache, so they must be JSON values. `which` names the kind of
    facts; it is a part of the cache's key. The kernels of a plan that `may_defer` accepts are built
    by the first run, or together with those of other programs (`build_kernels`).
    """
    code = program if isinstance(program, (str, bytes)) else program.operation.get_asm()
    opened = open_device(device)
    # The choice depends on both processors.
    processors = f"{opened.name}, {opened.cores}, {usable_cores()}" if host == "auto" else ""
    key = compute_key(code, f"-O {level}", opened.kind, which, host, processors)
    cached = load_plan(key)
    if cached is not None:
        plan, facts = cached
    else:
        block = import_program(program, filename)
        facts = facts_of(block)
        plan = build_split_plan(block, level, device=opened.kind, cores=opened.cores, choice=host)
        # Functions of the host are those of this process.
        if not plan.calls_host():
            store_plan(key, plan, facts)
    return Executable(plan, device=device, queue=queue, deferred=may_defer(plan)), facts
