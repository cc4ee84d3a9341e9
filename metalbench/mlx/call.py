"""Convert arrays of NumPy and MLX to kernel arguments, and outputs to arrays."""

from __future__ import annotations

import operator
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from metalbench import _core
from metalbench.errors import DispatchError, Unsupported
from metalbench.mlx.definition import (
    TYPES,
    Definition,
    Passing,
    SignatureType,
    TemplateArgument,
    Variant,
    element_type,
    is_mlx_dtype,
    mlx_dtype,
    narrow,
    template_arguments,
)

Array = np.ndarray[Any, Any]
# A NaN in every floating-point type.
_UNWRITTEN = 0xFF


class NoValue(Unsupported):
    """An input is traced by a transformation of MLX, and has no value yet."""


@dataclass(frozen=True)
class CallInput:
    """One input; `strides` count elements, `memory` is all that they reach, as one dimension."""

    passing: Passing
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    memory: Array

    def extent(self, what: str) -> bytes:
        """Return the bytes of NAME_shape, NAME_strides or NAME_ndim."""
        if what == "shape":
            return np.array(self.shape, np.int32).tobytes()
        if what == "strides":
            return np.array(self.strides, np.int64).tobytes()
        return np.int32(len(self.shape)).tobytes()


def is_mlx(value: object) -> bool:
    """Return whether `value` is an mlx array; does not import MLX."""
    core = sys.modules.get("mlx.core")
    return core is not None and isinstance(value, core.array)


def returns_mlx(inputs: Iterable[object], output_dtypes: Iterable[object]) -> bool:
    """Return whether outputs are MLX arrays: an input is one, or, without arrays, a dtype is."""
    if any(is_mlx(each) for each in inputs):
        return True
    arrays = any(isinstance(each, (np.ndarray, np.generic)) for each in inputs)
    return not arrays and any(is_mlx_dtype(each) for each in output_dtypes)


def read(value: object, where: str, *, row_contiguous: bool) -> CallInput:
    """Return the input that an array or a number is; with `row_contiguous` copied if it is not so.

    Arrays with negative strides are copied in any case: a kernel's memory begins where its
    pointer does. Raise DispatchError beginning with `where`.
    """
    array = as_numpy(value, where)
    type_ = element_type(array.dtype, where)
    odd = any(stride < 0 or stride % array.itemsize for stride in array.strides)
    if odd or not array.size or (row_contiguous and not array.flags.c_contiguous):
        array = np.array(array, order="C")
    strides = tuple(stride // array.itemsize for stride in array.strides)
    passing = Passing.of(type_, array.shape, array.size)
    return CallInput(passing, array.shape, strides, _memory(array, strides))


def as_numpy(value: object, where: str) -> Array:
    """`value` as a numpy array of a type that Metal has; shares an mlx array's memory."""
    if is_mlx(value):
        return _view(value, where)
    if isinstance(value, (np.ndarray, np.generic)):
        # Python's own numbers are among numpy's scalars: float64 is a float.
        return narrow(np.asarray(value))
    if isinstance(value, bool):
        return np.array(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise DispatchError(f"{where}: {value} does not fit 64 bits")
        return np.array(value, np.int32 if -(2**31) <= value < 2**31 else np.int64)
    if isinstance(value, (float, complex)):
        return narrow(np.array(value))
    raise DispatchError(f"{where}: expected an array or a number, got {type(value).__name__}")


def to_mlx(array: Array) -> Any:
    """Return an mlx array with these elements."""
    import mlx.core as mx

    if array.dtype.name == "bfloat16":
        return mx.array(array.view(np.uint16)).view(mx.bfloat16)
    return mx.array(array)


def mlx_zeros(shape: tuple[int, ...], type_: SignatureType) -> Any:
    """Return an mlx array of zeros."""
    import mlx.core as mx

    return mx.zeros(shape, mlx_dtype(type_))


class Output:
    """Memory for one output: `init_value` everywhere, or undefined if that is None.

    With `poison`, what is undefined is NaN, or -1.
    """

    def __init__(
        self,
        device: _core.Device,
        shape: tuple[int, ...],
        type_: SignatureType,
        init_value: float | None,
        *,
        poison: bool,
    ) -> None:
        nbytes = int(np.prod(shape, dtype=np.int64)) * type_.numpy.itemsize
        # Never empty: a kernel needs an address.
        self.buffer = device.allocate(max(nbytes, 1)).slice(0, nbytes)
        memory = self.buffer.numpy("uint8")
        if poison:
            memory.fill(_UNWRITTEN)
        self.array: Array = memory.view(type_.numpy).reshape(shape)
        if init_value is not None:
            self.array[...] = _convert(init_value, type_)


def _convert(value: float, type_: SignatureType) -> Any:
    """`value` by way of float32, as MLX passes it; out of an integer's range its nearest end."""
    with np.errstate(over="ignore"):
        single = np.float32(value)
    if "int" not in type_.name:
        return single.astype(type_.numpy)
    limits = np.iinfo(type_.numpy)
    if np.isnan(single):
        return 0
    return int(min(max(float(single), limits.min), limits.max))


def _view(value: Any, where: str) -> Array:
    import mlx.core as mx

    _evaluate(value, where)
    is_bfloat = value.dtype == mx.bfloat16
    array: Array = np.asarray(memoryview(value.view(mx.uint16) if is_bfloat else value))
    return array.view(TYPES["bfloat16"].numpy) if is_bfloat else narrow(array)


def _evaluate(value: Any, where: str) -> None:
    """Evaluate first: in `memoryview` an error crashes MLX before 0.32."""
    import mlx.core as mx

    try:
        mx.eval(value)
    except (RuntimeError, ValueError) as error:
        if "during function transformations" not in str(error):
            raise
        raise NoValue(
            f"{where}: has no value yet, and a kernel on the cpu device needs it. For mx.compile "
            "call metalbench.patch_mlx() first, or set MLX_DISABLE_COMPILE=1; for mx.vmap call "
            "metalbench.patch_mlx() before mx.vmap; mx.export_function cannot export kernels here"
        ) from None


def _memory(array: Array, strides: tuple[int, ...]) -> Array:
    """From the first element to the last that the strides reach."""
    if not array.size:
        return np.zeros(1, array.dtype)
    last = sum((count - 1) * stride for count, stride in zip(array.shape, strides, strict=True))
    return as_strided(array, (last + 1,), (array.itemsize,))


# One call of a kernel, its arguments read and checked.

Size = tuple[int, int, int]


@dataclass(frozen=True)
class Call:
    """The arguments of a run; `shapes` and `types` are those of the outputs.

    As MLX does, a threadgroup is cut to the size of the grid.
    """

    template: tuple[TemplateArgument, ...]
    inputs: tuple[CallInput, ...]
    shapes: tuple[tuple[int, ...], ...]
    types: tuple[SignatureType, ...]
    threads_in_grid: Size
    threads: Size
    init_value: float | None

    @property
    def variant(self) -> Variant:
        """The properties that the generated kernel depends on."""
        return Variant(self.template, tuple(each.passing for each in self.inputs), self.types)


def call(
    definition: Definition,
    *,
    inputs: Sequence[Any],
    output_shapes: Sequence[Sequence[int]],
    output_dtypes: Sequence[Any],
    grid: Sequence[int],
    threadgroup: Sequence[int],
    template: Sequence[tuple[str, Any]] | None = None,
    init_value: float | None = None,
) -> Call:
    """Read the arguments of a call; raises DispatchError that names the one that is wrong."""
    name = f"[{definition.name}]"
    _check_count(f"{name} inputs", inputs, definition.input_names)
    shapes, types = shapes_and_types(definition, output_shapes, output_dtypes)
    threads_in_grid = _size(f"{name} grid", grid, least=0)
    threads = _size(f"{name} threadgroup", threadgroup, least=1)
    contiguous = definition.ensure_row_contiguous
    return Call(
        template=template_arguments(f"{name} template", template),
        inputs=tuple(
            read(value, f"{name} inputs: {each}", row_contiguous=contiguous)
            for each, value in zip(definition.input_names, inputs, strict=True)
        ),
        shapes=shapes,
        types=types,
        threads_in_grid=threads_in_grid,
        threads=_cut(threads, threads_in_grid),
        init_value=_number(f"{name} init_value", init_value),
    )


def shapes_and_types(
    definition: Definition, shapes: Sequence[Sequence[int]], dtypes: Sequence[Any]
) -> tuple[tuple[tuple[int, ...], ...], tuple[SignatureType, ...]]:
    """Return shapes and types of outputs; raise DispatchError that names a wrong one."""
    name, outputs = f"[{definition.name}]", definition.output_names
    _check_count(f"{name} output_shapes", shapes, outputs)
    _check_count(f"{name} output_dtypes", dtypes, outputs)
    return (
        tuple(
            _shape(f"{name} output_shapes: {each}", value)
            for each, value in zip(outputs, shapes, strict=True)
        ),
        tuple(
            element_type(value, f"{name} output_dtypes: {each}")
            for each, value in zip(outputs, dtypes, strict=True)
        ),
    )


def _check_count(where: str, given: Sequence[Any], names: tuple[str, ...]) -> None:
    if not isinstance(given, (list, tuple)):
        raise DispatchError(f"{where}: expected a list, got {type(given).__name__}")
    if len(given) != len(names):
        listed = f"{len(names)} ({', '.join(names)})" if names else "none"
        raise DispatchError(f"{where}: expected {listed}, got {len(given)}")


def _size(where: str, given: Sequence[int], *, least: int) -> Size:
    sizes = _integers(given)
    if len(sizes) != 3 or min(sizes) < least:
        raise DispatchError(f"{where}: expected three integers of at least {least}, got {given!r}")
    return sizes[0], sizes[1], sizes[2]


def _cut(threads: Size, grid: Size) -> Size:
    return min(threads[0], grid[0]), min(threads[1], grid[1]), min(threads[2], grid[2])


def _shape(where: str, given: Sequence[int]) -> tuple[int, ...]:
    sizes = _integers(given)
    if min(sizes, default=0) < 0:
        raise DispatchError(f"{where}: expected sizes such as (4, 16), got {given!r}")
    return sizes


def _integers(given: Iterable[Any]) -> tuple[int, ...]:
    """Return the numbers of a sequence; (-1,) if it is none or holds anything else."""
    try:
        return tuple(operator.index(each) for each in given)
    except TypeError:
        return (-1,)


def _number(where: str, given: Any) -> float | None:
    if given is None:
        return None
    try:
        if not isinstance(given, str):
            return float(given)
    except (TypeError, ValueError):
        pass
    raise DispatchError(f"{where}: expected a number or None, got {given!r}")
