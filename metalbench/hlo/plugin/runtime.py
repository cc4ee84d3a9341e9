"""Run programs and keep tensors for the PJRT plugin, and report the facts that JAX asks for."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any, NoReturn

from metalbench import _core
from metalbench.devices import find_kind
from metalbench.errors import (
    DeclarationError,
    DispatchError,
    MetalBenchError,
    OutOfMemoryError,
    TimeLimitExceeded,
    Unsupported,
)
from metalbench.hlo.importer import parse
from metalbench.hlo.ir import ELEMENT_TYPES, Block, ElementType, TensorType, find_element_type
from metalbench.hlo.runtime.compilation import compile_with_facts
from metalbench.hlo.runtime.costs import count_alias_bytes, count_plan_bytes, count_work
from metalbench.hlo.runtime.executable import Executable, build_kernels, open_device
from metalbench.hlo.runtime.host_regions import CHOICES
from metalbench.hlo.runtime.plan import LEVELS, ExecutionPlan, compute_live_bytes

_MAGIC = b"metalbench program 1\n"
_LENGTH_BYTES = 8
# Attributes by which JAX marks donated arguments.
_DONATION_MARKS = ("tf.aliasing_output", "jax.buffer_donor")


@dataclass
class CompiledProgram:
    """A program and its executable.

    `types` (numbers of PJRT) and `shapes` are those of the outputs, `input_types` and
    `input_shapes` those of the arguments. `donated` are indices of arguments. `flops` and
    `transcendentals` count operations on elements, `accessed_bytes` what kernels read and write,
    `peak_bytes` live buffers, and `alias_bytes` results in the memory of donated arguments.
    `runner` runs the program without Python. Runs of a program that `can_be_deferred` wait until
    something needs their results.
    """

    code: bytes
    options: bytes
    name: str
    donated: list[int]
    flops: int
    transcendentals: int
    types: list[int] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    input_types: list[int] = field(default_factory=list)
    input_shapes: list[tuple[int, ...]] = field(default_factory=list)
    argument_bytes: int = 0
    output_bytes: int = 0
    code_bytes: int = 0
    accessed_bytes: int = 0
    peak_bytes: int = 0
    alias_bytes: int = 0
    can_be_deferred: bool = False
    executable: Executable = field(init=False)

    @property
    def runner(self) -> _core.ExecutionPlan:
        """Plan that the plugin runs. First use builds kernels that have been deferred."""
        return self.executable.runner

    def reject_arguments(self, given: list[tuple[int, tuple[int, ...]]]) -> NoReturn:
        """Raise DispatchError for arguments (number of PJRT's type, shape) that do not fit."""
        expected = self.executable.inputs
        if len(given) != len(expected):
            raise DispatchError(
                f"[{self.name}] expected {len(expected)} arguments, got {len(given)}"
            )
        for number, ((kind, shape), type_) in enumerate(zip(given, expected, strict=True)):
            got = TensorType(tuple(shape), find_pjrt_type(kind))
            if got != type_:
                raise DispatchError(f"[{self.name}] argument {number}: expected {type_}, got {got}")
        raise AssertionError(f"[{self.name}] expected an argument that does not fit")

    @property
    def serialized(self) -> bytes:
        """Bytes for `deserialize`. They hold no kernels: the build cache stores these.

        Raise Unsupported for a program with callbacks, whose functions are those of this process.
        """
        if self.executable.plan.calls_host():
            raise Unsupported(f"[{self.name}] a program with callbacks cannot be serialised")
        return self._pack()

    def _pack(self) -> bytes:
        length = len(self.options).to_bytes(_LENGTH_BYTES, "little")
        return b"".join([_MAGIC, length, self.options, self.code])

    @property
    def fingerprint(self) -> str:
        """Hash of the program, its options and the version of metalbench."""
        digest = hashlib.sha256(version("metalbench").encode())
        digest.update(self._pack())
        return digest.hexdigest()


def deserialize(serialized: bytes) -> tuple[bytes, bytes]:
    """Return the code and options of a serialised program.

    Raise DeclarationError for other bytes.
    """
    start = len(_MAGIC) + _LENGTH_BYTES
    if not serialized.startswith(_MAGIC) or len(serialized) < start:
        raise DeclarationError("expected a program that metalbench serialised, got other bytes")
    length = int.from_bytes(serialized[len(_MAGIC) : start], "little")
    if len(serialized) < start + length:
        raise DeclarationError("expected a program that metalbench serialised, got a part of one")
    return serialized[start + length :], serialized[start : start + length]


def read_facts(code: bytes, block: Block) -> dict[str, Any]:
    """Return the `name` of a program, the indices of its `donated` arguments, and its work.

    `block` is its graph. Raise DeclarationError if the code is not StableHLO.
    """
    module = parse(code, "<program>")
    from jaxlib.mlir import ir

    name = "program"
    if "sym_name" in module.operation.attributes:
        name = ir.StringAttr(module.operation.attributes["sym_name"]).value
    work = count_work(block)
    return {
        "name": name,
        "donated": _find_donated(module),
        "flops": work.flops,
        "transcendentals": work.transcendentals,
    }


def read_options(options: bytes, level: int) -> int:
    """Return the optimisation level of compile options, or `level` if they have none.

    Raise Unsupported for a program for several devices: the platform has one.
    """
    if not options:
        return level
    from jaxlib import _jax

    found = _jax.CompileOptions.ParseFromString(options)
    count = found.num_replicas * found.num_partitions
    if count > 1:
        raise Unsupported(f"compile options: expected one device, got a program for {count}")
    for name, value in found.env_option_overrides:
        if name == LEVEL_OPTION:
            return parse_level(str(value), LEVEL_OPTION)
    return level


def _find_donated(module: Any) -> list[int]:
    """Return the indices of the donated arguments of `main`."""
    from jaxlib.mlir import ir

    for each in module.body.operations:
        operation = each.operation
        if operation.name != "func.func" or "arg_attrs" not in operation.attributes:
            continue
        if ir.StringAttr(operation.attributes["sym_name"]).value == "main":
            marks = [ir.DictAttr(each) for each in ir.ArrayAttr(operation.attributes["arg_attrs"])]
            return [
                number
                for number, mark in enumerate(marks)
                if any(name in mark for name in _DONATION_MARKS)
            ]
    return []


# Implement the functions that the PJRT library (csrc/pjrt) calls: device and programs.

# Optimisation level of programs, and the variable that sets another one.
DEFAULT_LEVEL = 3
# Kernels of programs whose runs are deferred. Larger programs are compiled at once, on all
# processors.
MAX_DEFERRED_KERNELS = 16
LEVEL_VARIABLE = "METALBENCH_HLO_LEVEL"
# Variable that says whether the host runs sequential parts of programs (`host_regions.py`).
HOST_VARIABLE = "METALBENCH_HLO_HOST"
# Compile option of one program with its level.
LEVEL_OPTION = "metalbench_level"
# StableHLO names in the order of PJRT_Buffer_Type.
_NAMES = (
    *("", "i1", "i8", "i16", "i32", "i64", "ui8", "ui16", "ui32", "ui64"),
    *("f16", "f32", "f64", "bf16", "complex<f32>", "complex<f64>"),
    *("f8E5M2", "f8E4M3FN", "f8E4M3B11FNUZ", "f8E5M2FNUZ", "f8E4M3FNUZ"),
    *("i4", "ui4", "token", "i2", "ui2", "f8E4M3", "f8E3M4", "f8E8M0FNU", "f4E2M1FN"),
)
NUMBERS = {name: number for number, name in enumerate(_NAMES) if name in ELEMENT_TYPES}
# Numbers of absl::StatusCode for errors that the plugin does not cause.
_CODES: tuple[tuple[type[BaseException], int], ...] = (
    (KeyboardInterrupt, 1),
    (TimeLimitExceeded, 4),
    (OutOfMemoryError, 8),
    (MemoryError, 8),
    (Unsupported, 12),
    (DeclarationError, 3),
    (DispatchError, 3),
)
_INTERNAL = 13


def read_level() -> int:
    """Return the optimisation level for programs of JAX. Raise DeclarationError for another."""
    return parse_level(os.environ.get(LEVEL_VARIABLE) or str(DEFAULT_LEVEL), LEVEL_VARIABLE)


def parse_level(text: str, name: str) -> int:
    """Return an optimisation level, the value of `name`. Raise DeclarationError for another."""
    if text not in map(str, LEVELS):
        expected = ", ".join(map(str, LEVELS))
        raise DeclarationError(f"{name}: expected {expected}, got {text}")
    return int(text)


def read_host_choice() -> str:
    """Return whether the host runs parts of programs. Raise DeclarationError for another text."""
    text = os.environ.get(HOST_VARIABLE) or CHOICES[0]
    if text not in CHOICES:
        raise DeclarationError(f"{HOST_VARIABLE}: expected {', '.join(CHOICES)}, got {text}")
    return text


class Client:
    """One device and its programs. Any thread may call the methods."""

    def __init__(self, device: str = "auto") -> None:
        self._kind, self._level, self._host = device, read_level(), read_host_choice()
        self._device = open_device(device)
        self.queue = _core.Queue(self._device)
        self.has_host_memory = find_kind(self._device.kind).is_simulated
        self.device_kind = self._device.name
        self.device_text = f"metalbench {self._device.kind}: {self._device.name}"
        self.version = f"metalbench, {self._device.kind}"

    @property
    def element_layouts(self) -> list[tuple[int, int, bool]]:
        """Bytes, bits and whether signed, by PJRT's number of a type; 0 bytes if unsupported."""
        elements = [ELEMENT_TYPES.get(name) for name in _NAMES]
        return [
            (0, 0, False)
            if each is None
            else (
                each.storage.itemsize,
                each.bits if each.is_narrow or each.is_small_float else 8,
                each.kind == "i",
            )
            for each in elements
        ]

    def compile(self, code: bytes, options: bytes) -> CompiledProgram:
        """Compile a StableHLO program. Raise Unsupported with the operation's name."""
        level = read_options(options, self._level)
        executable, facts = compile_with_facts(
            code,
            partial(read_facts, code),
            which="plugin",
            level=level,
            device=self._kind,
            queue=self.queue,
            may_defer=self._may_defer,
            host=self._host,
        )
        program = CompiledProgram(code, options, **facts)
        program.types = [NUMBERS[each.element.name] for each in executable.outputs]
        program.shapes = [each.shape for each in executable.outputs]
        program.input_types = [NUMBERS[each.element.name] for each in executable.inputs]
        program.input_shapes = [each.shape for each in executable.inputs]
        program.argument_bytes = sum(each.nbytes for each in executable.inputs)
        program.output_bytes = sum(each.nbytes for each in executable.outputs)
        program.code_bytes = len(executable.source)
        program.accessed_bytes = count_plan_bytes(executable.plan)
        program.peak_bytes = compute_live_bytes(executable.plan)
        program.alias_bytes = count_alias_bytes(executable.plan, program.donated)
        program.can_be_deferred = self._may_defer(executable.plan)
        program.executable = executable
        return program

    def _may_defer(self, plan: ExecutionPlan) -> bool:
        """Return whether runs may wait until something needs a result.

        The program is small, and it has results and no effects. Other devices compile programs
        alone.
        """
        count = sum(1 for _ in plan.iterate_kernels())
        only_kernels = not any(
            step.plans or step.function or step.host_run is not None for step in plan.steps
        )
        return (
            self.has_host_memory
            and only_kernels
            and count <= MAX_DEFERRED_KERNELS
            and bool(plan.block.returned)
        )

    @staticmethod
    def compile_kernels(programs: list[CompiledProgram]) -> None:
        """Build the kernels of deferred programs together. Errors are raised by `runner`."""
        build_kernels([each.executable for each in programs])

    def load(self, serialized: bytes) -> CompiledProgram:
        """Compile a program from the bytes of `CompiledProgram.serialized`."""
        return self.compile(*deserialize(serialized))


def find_pjrt_type(number: int) -> ElementType:
    """Return the element type with a PJRT number. Raise Unsupported if kernels have none."""
    name = _NAMES[number] if 0 < number < len(_NAMES) else f"number {number}"
    return find_element_type(name, "an array of the host")


def failure(error: BaseException) -> tuple[int, str]:
    """Return the status code and message of an exception, for callers of the C API."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), _INTERNAL)
    text = str(error)
    return code, text if isinstance(error, MetalBenchError) else f"{type(error).__name__}: {text}"
