"""A StableHLO program as a task: its text at other shapes, its work, and its exact results.

The oracle is the program with float64 in place of every float, compiled by XLA for the CPU. MLX
computes the reference if it has all operations of the program, else XLA in float32.

A program has one shape for each argument. Other shapes are those in which one extent is replaced by
another number in all types of the text, if the result is a valid program.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

from metalbench.errors import DeclarationError, MetalBenchError, TaskError, Unsupported
from metalbench.hlo.bench.rivals import XlaProgram, create_mlx_function
from metalbench.hlo.ir import Block
from metalbench.hlo.runtime.compilation import import_program
from metalbench.hlo.runtime.costs import count_work
from metalbench.mlx import call

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]
FLOATS = {"f16": "<f2", "bf16": "bfloat16", "f32": "<f4", "f64": "<f8"}

_TENSOR = re.compile(r"tensor<((?:\d+x)*)([^<>]+(?:<[^<>]*>)?)>")
_CONSTANT = re.compile(r"dense<(\"[^\"]*\"|[^>]*)>(\s*:\s*)tensor<((?:\d+x)*)(f16|bf16|f32)>")
_NUMBER = re.compile(r"(?<![\w%#.@])[-+]?\d+(?:\.\d*)?(?:[eE][-+]?\d+)?(?![\w.])")
_HEXADECIMAL = re.compile(r"0x[0-9A-Fa-f]+")
# A number of a text has seven digits or so.
_NEAR = 1e-6


@dataclass
class StableHloProgram:
    """The program of a text file, at the shapes of its arguments or at others.

    The functions of a task call it: `__call__` with MLX's arrays, and `exact` with NumPy's.
    """

    path: Path
    _programs: dict[tuple[Shape, ...], XlaProgram] = field(default_factory=dict)
    _functions: dict[tuple[Shape, ...], Callable[..., Any]] = field(default_factory=dict)

    @classmethod
    def next_to(cls, task_file: str, file: str) -> StableHloProgram:
        """Return the program of `file` in the folder of a task file."""
        return cls(Path(task_file).parent / file)

    @cached_property
    def text(self) -> str:
        """The text; raise DeclarationError if the file cannot be read as text."""
        try:
            return self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise DeclarationError(
                f"{self.path}: expected a StableHLO program as text, got {error}; of bytecode "
                "`stablehlo-translate --deserialize` writes the text"
            ) from None

    @cached_property
    def block(self) -> Block:
        """The graph at the shapes of the text; raise DeclarationError or Unsupported."""
        return import_program(self.text, str(self.path))

    @cached_property
    def own_shapes(self) -> tuple[Shape, ...]:
        """The shapes of the arguments in the text."""
        return tuple(each.type.shape for each in self.block.arguments)

    @cached_property
    def fixed_extents(self) -> set[int]:
        """Extents that the program also uses as numbers, such as the divisor of a mean.

        With other extents in the types it would be valid, and another problem.
        """
        rest = _TENSOR.sub("", re.sub(r"loc\(.*?\)|//.*", "", self.text))
        numbers = {abs(float(each)) for each in _NUMBER.findall(rest)}
        return {
            extent
            for shape in self.own_shapes
            for extent in shape
            if any(_is_near(wanted, each) for wanted in _uses(extent) for each in numbers)
        }

    def text_at(self, shapes: Sequence[Shape], element: str) -> str:
        """Return the program of arguments with these shapes, and `element` in place of all floats.

        Raise DeclarationError if one extent of the text would be two.
        """
        extents: dict[int, int] = {}
        for own, shape in zip(self.own_shapes, shapes, strict=True):
            for before, after in zip(own, shape, strict=True):
                if extents.setdefault(before, after) != after:
                    raise DeclarationError(
                        f"{self.path}: the extent {before} stands for {extents[before]} and {after}"
                    )

        def write(found: re.Match[str]) -> str:
            dims, kind = found[1], found[2]
            sizes = [int(each) for each in dims.split("x") if each]
            changed = "".join(f"{extents.get(each, each)}x" for each in sizes)
            return f"tensor<{changed}{element if kind in FLOATS else kind}>"

        text = _CONSTANT.sub(lambda found: _write_constant(found, element), self.text)
        return _TENSOR.sub(write, text)

    def block_at(self, shapes: Sequence[Shape]) -> Block:
        """Return the graph in float32 at these shapes. Raise DeclarationError or Unsupported."""
        return import_program(self.text_at(shapes, "f32"), str(self.path))

    def flops_at(self, shapes: Sequence[Shape]) -> int:
        """Return the operations on elements at these shapes."""
        return count_work(self.block_at(shapes)).total

    def exact(self, *arrays: Array) -> Any:
        """Return the results in float64 of arrays of floats or integers."""
        shapes = tuple(each.shape for each in self.own_arrays(arrays))
        given = [
            np.array(each, np.float64 if each.dtype.kind == "f" else None)
            for each in self.own_arrays(arrays)
        ]
        if shapes not in self._programs:
            self._programs = {shapes: self._compile(shapes, "f64", given)}
        program = self._programs[shapes]
        program.load(given)
        return _only([_one_axis(each) for each in program.compute_results()])

    def __call__(self, *arrays: Any) -> Any:
        """Return the results of MLX's arrays, in float32. Raise Unsupported as `MlxProgram`."""
        given = self.own_arrays(arrays)
        shapes = tuple(tuple(each.shape) for each in given)
        if shapes not in self._functions:
            self._functions[shapes] = create_mlx_function(self.block_at(shapes))
        return _only([_one_axis(each) for each in self._functions[shapes](*given)])

    def by_xla(self, *arrays: Any) -> Any:
        """Return the results of XLA, in float32, as MLX's arrays."""
        given = [call.as_numpy(each, "[hlo] argument") for each in arrays]
        found = XlaForm(self).outputs(dict(enumerate(given)))
        return _only([call.to_mlx(each) for each in found])

    def own_arrays(self, arrays: Sequence[Any]) -> list[Any]:
        """Return arrays with the program's ranks: a scalar of it is one element of a task."""
        return [
            each.reshape(()) if not own else each
            for own, each in zip(self.own_shapes, arrays, strict=True)
        ]

    def _compile(self, shapes: Sequence[Shape], element: str, given: Sequence[Array]) -> XlaProgram:
        try:
            return XlaProgram(self.text_at(shapes, element), given)
        except Unsupported as error:
            raise TaskError(
                f"{self.path}, with {element} in place of its floats: {error}"
            ) from None


class XlaForm:
    """A program run by XLA for the CPU, as an external reference of a task."""

    def __init__(self, program: StableHloProgram) -> None:
        self._program = program
        self._loaded: Any = None

    @property
    def name(self) -> str:
        """The name in reports."""
        return "XLA:CPU"

    def beside(self, kind: str) -> None:
        """Do nothing: XLA runs on the processor, next to any device."""

    def load(self, *works: Mapping[Any, Array]) -> None:
        """Load inputs. Runs alternate between several of them."""
        self._loaded = cycle([self._compile(each) for each in works])

    def outputs(self, arrays: Mapping[Any, Array]) -> list[Array]:
        """Return the results in float32."""
        return [_one_axis(each) for each in self._compile(arrays).compute_results()]

    def __call__(self, repetitions: int) -> None:
        """Run `repetitions` times to completion."""
        for _ in range(repetitions):
            next(self._loaded)(1)

    def _compile(self, arrays: Mapping[Any, Array]) -> XlaProgram:
        program = self._program
        given = [np.array(each) for each in program.own_arrays(list(arrays.values()))]
        return program._compile([each.shape for each in given], "f32", given)


def has_mlx_form(program: StableHloProgram) -> str:
    """Return why MLX cannot compute a program; empty if it can."""
    try:
        create_mlx_function(program.block_at(program.own_shapes))
    except MetalBenchError as error:
        return str(error)
    return ""


def _uses(extent: int) -> list[float]:
    """Return numbers of a program that follow from an extent."""
    one_less = max(1, extent - 1)
    return [
        *(extent, one_less, 1 / extent, 1 / one_less),
        *(math.sqrt(extent), 1 / math.sqrt(extent), math.log(extent)),
    ]


def _is_near(wanted: float, number: float) -> bool:
    return wanted not in (0, 1) and abs(number - wanted) <= _NEAR * wanted


def _write_constant(found: re.Match[str], element: str) -> str:
    """Return a constant of floats with its bits, where it has them, in another element type."""
    import ml_dtypes

    values, colon, dims, kind = found[1], found[2], found[3], found[4]

    def find_type(name: str) -> np.dtype[Any]:
        return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)

    own, wanted = find_type(FLOATS[kind]), find_type(FLOATS[element])

    def convert(data: bytes) -> bytes:
        return np.frombuffer(data, own).astype(wanted).tobytes()

    if values.startswith('"'):
        # The bytes of all elements, as they are in memory.
        data = convert(bytes.fromhex(values.strip('"').removeprefix("0x")))
        values = f'"0x{data.hex().upper()}"'
    else:

        def write(bits: re.Match[str]) -> str:
            number = int(bits[0], 16).to_bytes(own.itemsize, "little")
            return f"0x{convert(number)[::-1].hex().upper()}"

        values = _HEXADECIMAL.sub(write, values)
    return f"dense<{values}>{colon}tensor<{dims}{kind}>"


def _one_axis(each: Any) -> Any:
    return each.reshape(1) if each.ndim == 0 else each


def _only(results: list[Any]) -> Any:
    return tuple(results) if len(results) > 1 else results[0]
