"""Run programs and keep tensors for the PJRT plugin, and report the facts that JAX asks for."""

from __future__ import annotations

import ctypes
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from math import prod
from threading import Lock
from typing import Any

import numpy as np

from metalbench import _core
from metalbench.errors import (
    DeclarationError,
    DispatchError,
    MetalBenchError,
    OutOfMemoryError,
    TimeLimitExceeded,
    Unsupported,
)
from metalbench.hlo.importer import parse
from metalbench.hlo.importer.graph import MAX_ELEMENTS
from metalbench.hlo.ir import ELEMENT_TYPES, ElementType, TensorType, find_element_type
from metalbench.hlo.runtime.compilation import compile_with_facts
from metalbench.hlo.runtime.executable import Executable, open_device, to_storage, view_buffer

_MAGIC = b"metalbench program 1\n"
_LENGTH_BYTES = 8
# Attributes by which JAX marks donated arguments.
_DONATION_MARKS = ("tf.aliasing_output", "jax.buffer_donor")


@dataclass
class CompiledProgram:
    """A program and its executable.

    `types` (numbers of PJRT) and `shapes` are those of the outputs. `donated` are indices of
    arguments.
    """

    code: bytes
    options: bytes
    name: str
    donated: list[int]
    types: list[int] = field(default_factory=list)
    shapes: list[tuple[int, ...]] = field(default_factory=list)
    argument_bytes: int = 0
    output_bytes: int = 0
    code_bytes: int = 0
    executable: Executable = field(init=False)
    lock: Lock = field(init=False)

    @property
    def serialized(self) -> bytes:
        """Bytes for `deserialize`. They hold no kernels: the build cache stores these."""
        length = len(self.options).to_bytes(_LENGTH_BYTES, "little")
        return b"".join([_MAGIC, length, self.options, self.code])

    @property
    def fingerprint(self) -> str:
        """Hash of the program, its options and the version of metalbench."""
        digest = hashlib.sha256(version("metalbench").encode())
        digest.update(self.serialized)
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


def read_facts(code: bytes) -> dict[str, Any]:
    """Return the `name` of a program and the indices of its `donated` arguments.

    Raise DeclarationError if the code is not StableHLO.
    """
    module = parse(code, "<program>")
    from jaxlib.mlir import ir

    name = "program"
    if "sym_name" in module.operation.attributes:
        name = ir.StringAttr(module.operation.attributes["sym_name"]).value
    return {"name": name, "donated": _find_donated(module)}


def check_options(options: bytes) -> None:
    """Raise Unsupported for a program for several devices: the platform has one."""
    if not options:
        return
    from jaxlib import _jax

    found = _jax.CompileOptions.ParseFromString(options)
    count = found.num_replicas * found.num_partitions
    if count > 1:
        raise Unsupported(f"compile options: expected one device, got a program for {count}")


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


# Implement the functions that the PJRT library (csrc/pjrt) calls: device, tensors, programs.

Array = np.ndarray[Any, Any]
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


@dataclass(frozen=True)
class DeviceTensor:
    """Elements on the device. They are immutable, so tensors may share a buffer."""

    type: TensorType
    buffer: _core.Buffer

    @property
    def nbytes(self) -> int:
        """Size of the elements, in bytes."""
        return self.type.nbytes

    @property
    def address(self) -> int:
        """Address of the elements on the device."""
        return self.buffer.address


class Client:
    """One device and its programs. Any thread may call the methods."""

    def __init__(self, device: str = "auto") -> None:
        self._kind = device
        self._device = open_device(device)
        self.device_kind = self._device.name
        self.device_text = f"metalbench {self._device.kind}: {self._device.name}"
        self.version = f"metalbench, {self._device.kind}"

    def compile(self, code: bytes, options: bytes) -> CompiledProgram:
        """Compile a StableHLO program. Raise Unsupported with the operation's name."""
        check_options(options)
        executable, facts = compile_with_facts(
            code, partial(read_facts, code), which="plugin", device=self._kind
        )
        program = CompiledProgram(code, options, **facts)
        program.types = [NUMBERS[each.element.name] for each in executable.outputs]
        program.shapes = [each.shape for each in executable.outputs]
        program.argument_bytes = sum(each.nbytes for each in executable.inputs)
        program.output_bytes = sum(each.nbytes for each in executable.outputs)
        program.code_bytes = len(executable.source)
        program.executable, program.lock = executable, Lock()
        return program

    def load(self, serialized: bytes) -> CompiledProgram:
        """Compile a program from the bytes of `CompiledProgram.serialized`."""
        return self.compile(*deserialize(serialized))

    def execute(
        self, program: CompiledProgram, arguments: Sequence[DeviceTensor]
    ) -> list[DeviceTensor]:
        """Run a program. Raise DispatchError if an argument does not fit."""
        executable = program.executable
        expected = executable.inputs
        if len(arguments) != len(expected):
            raise DispatchError(
                f"[{program.name}] expected {len(expected)} arguments, got {len(arguments)}"
            )
        for number, (argument, type_) in enumerate(zip(arguments, expected, strict=True)):
            if argument.type != type_:
                raise DispatchError(
                    f"[{program.name}] argument {number}: expected {type_}, got {argument.type}"
                )
        with program.lock:
            given = [each.buffer for each in arguments]
            found = executable.run(given)
            # A result must not share memory with constants or with arguments that are not donated.
            kept = [each for number, each in enumerate(given) if number not in program.donated]
            shared = {*kept, *executable.constants}
            results = []
            for buffer in found:
                results.append(self._copy(buffer) if buffer in shared else buffer)
                shared.add(buffer)
        return [DeviceTensor(*each) for each in zip(executable.outputs, results, strict=True)]

    def _copy(self, buffer: _core.Buffer) -> _core.Buffer:
        copy = self._device.allocate(buffer.nbytes)
        copy.numpy("uint8")[:] = buffer.numpy("uint8")
        return copy

    def from_host(
        self, address: int, number: int, shape: tuple[int, ...], strides: tuple[int, ...] | None
    ) -> DeviceTensor:
        """Return a copy of an array in host memory; `strides` are in bytes, row-major if None."""
        if any(each < 0 for each in shape) or prod(shape) > MAX_ELEMENTS:
            raise DispatchError(
                f"dims: expected sizes of at most {MAX_ELEMENTS} elements, got {shape}"
            )
        type_ = TensorType(shape, find_pjrt_type(number))
        source = _wrap_memory(address, type_, strides)
        elements = to_storage(source, type_, "an array of the host").reshape(-1)
        buffer = self._device.allocate(max(type_.nbytes, 1))
        buffer.numpy("uint8")[: type_.nbytes] = elements.view(np.uint8)
        return DeviceTensor(type_, buffer)

    def to_host(
        self,
        tensor: DeviceTensor,
        address: int,
        size: int,
        minor_to_major: tuple[int, ...] | None,
        strides: tuple[int, ...] | None,
    ) -> None:
        """Copy the elements to host memory, with an order of axes or with strides in bytes."""
        if size < tensor.nbytes:
            raise DispatchError(f"dst_size: expected at least {tensor.nbytes}, got {size}")
        shape = tensor.type.shape
        if minor_to_major is not None:
            if sorted(minor_to_major) != list(range(len(shape))):
                raise DispatchError(f"minor_to_major: expected all axes, got {minor_to_major}")
            strides = _compute_strides(tensor.type, minor_to_major)
        target = _wrap_memory(address, tensor.type, strides)
        target[...] = view_buffer(tensor.buffer, tensor.type)

    def raw_to_host(self, tensor: DeviceTensor, address: int, offset: int, size: int) -> None:
        """Copy a range of bytes to host memory."""
        if offset < 0 or size < 0 or offset + size > tensor.nbytes:
            raise DispatchError(
                f"expected a range of {tensor.nbytes} bytes, got {size} from {offset} on"
            )
        if size:
            ctypes.memmove(address, tensor.buffer.numpy("uint8")[offset:].ctypes.data, size)


def find_pjrt_type(number: int) -> ElementType:
    """Return the element type with a PJRT number. Raise Unsupported if kernels have none."""
    name = _NAMES[number] if 0 < number < len(_NAMES) else f"number {number}"
    return find_element_type(name, "an array of the host")


def failure(error: BaseException) -> tuple[int, str]:
    """Return the status code and message of an exception, for callers of the C API."""
    code = next((code for kind, code in _CODES if isinstance(error, kind)), _INTERNAL)
    text = str(error)
    return code, text if isinstance(error, MetalBenchError) else f"{type(error).__name__}: {text}"


def _compute_strides(type_: TensorType, minor_to_major: Sequence[int]) -> tuple[int, ...]:
    """Return the strides in bytes of an array with an order of axes."""
    strides, step = [0] * len(type_.shape), type_.element.numpy.itemsize
    for axis in minor_to_major:
        strides[axis] = step
        step *= type_.shape[axis]
    return tuple(strides)


def _wrap_memory(address: int, type_: TensorType, strides: tuple[int, ...] | None) -> Array:
    """Return host memory as an array; it is valid only as long as the caller's memory."""
    dtype = type_.element.numpy
    if not type_.size:
        return np.empty(type_.shape, dtype)
    if not address:
        raise DispatchError("expected the host's memory, got null")
    if strides is None:
        strides = _compute_strides(type_, range(len(type_.shape))[::-1])
    spans = [step * (size - 1) for step, size in zip(strides, type_.shape, strict=True)]
    low = sum(span for span in spans if span < 0)
    high = sum(span for span in spans if span > 0) + dtype.itemsize
    memory = memoryview((ctypes.c_char * (high - low)).from_address(address + low))
    return np.ndarray(type_.shape, dtype, memory, -low, strides)
