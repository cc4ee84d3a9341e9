"""Read standalone kernels, whose header lines declare buffers and textures with contents."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from metalbench.errors import DeclarationError, DispatchError, TaskError, suggestion
from metalbench.expression import Expression, Parser, parse
from metalbench.kernel import header
from metalbench.kernel.header import Kernel, Scratch, TensorView, find_misspelt_keyword
from metalbench.kernel.textures import pixel_format, sampler_options
from metalbench.sandbox.resources import memory_bytes
from metalbench.task import Task
from metalbench.task.dtypes import DTYPES, DType, storage_type
from metalbench.task.inputs import Array, Draw, Input

LONGEST_NUMBER = 64
OUTPUT, INOUT, SCRATCH = "output", "inout", "scratch"


def parse_contents(words: list[str], dtype: DType | None) -> Draw:
    """Return the function that draws the contents `words` of an array of `dtype`.

    Raise DeclarationError for unknown contents.
    """
    name, *given = words or [""]
    numbers = [each for each in map(parse_number, given) if each is not None]
    if name not in CONTENTS:
        raise DeclarationError(
            f"unknown content {name!r}; {suggestion(name, [*CONTENTS, OUTPUT, SCRATCH])}"
        )
    draw, counts = CONTENTS[name]
    if len(given) not in counts or len(numbers) != len(given):
        example = "`integers 0 64`" if name == "integers" else f"`{name}`"
        raise DeclarationError(f"content {' '.join(words)!r}: expected such as {example}")
    if name == "uniform" and numbers and not numbers[0] <= numbers[1]:
        raise DeclarationError(f"content {' '.join(words)!r}: expected the lower bound first")
    if name == "integers" and not numbers[0] < numbers[1]:
        raise DeclarationError(f"content {' '.join(words)!r}: expected the lower bound first")
    if name == "integers" and dtype is not None and dtype.numpy.kind in "iu":
        least, most = np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max
        if not (least <= numbers[0] and numbers[1] - 1 <= most):
            raise DeclarationError(
                f"content {' '.join(words)!r}: expected integers of {dtype.name}, from {least} to "
                f"{most} (the upper bound is not drawn)"
            )
    return partial(draw, numbers, dtype)


def parse_number(text: str) -> int | float | None:
    """Return `text` as an integer, else as a float; None for other text.

    Numbers below -2^63 or above 2^64 (the exclusive end of uint64's range), infinity and NaN give
    None.
    """
    if len(text) > LONGEST_NUMBER:
        return None
    for kind in (int, float):
        try:
            number: int | float = kind(text)
        except ValueError:
            continue
        fits = math.isfinite(number) if isinstance(number, float) else -(2**63) <= number <= 2**64
        return number if fits else None
    return None


Numbers = list[int | float]
Shape = tuple[int, ...]
Values = Mapping[str, int]
Drawn = np.ndarray[Any, Any]


def _plain(array: Drawn, dtype: DType | None) -> Drawn:
    """Return floats as tasks draw them, and anything else in its own type."""
    is_float = dtype is None or dtype.is_float
    return array.astype(np.float32 if dtype is None or is_float else dtype.numpy)


def _normal(
    _: Numbers, dtype: DType | None, rng: np.random.Generator, shape: Shape, __: Values
) -> Drawn:
    return _plain(rng.standard_normal(shape), dtype)


def _uniform(
    bounds: Numbers, dtype: DType | None, rng: np.random.Generator, shape: Shape, _: Values
) -> Drawn:
    low, high = bounds or (0.0, 1.0)
    return _plain(rng.uniform(low, high, shape), dtype)


def _integers(
    bounds: Numbers, dtype: DType | None, rng: np.random.Generator, shape: Shape, _: Values
) -> Drawn:
    low, high = int(bounds[0]), int(bounds[1])
    if dtype is not None and dtype.numpy.kind in "iu" and dtype.nbytes == 8:
        return rng.integers(low, high, shape, dtype=dtype.numpy)
    return _plain(rng.integers(low, high, shape), dtype)


def _constant(
    value: int, _: Numbers, dtype: DType | None, __: np.random.Generator, shape: Shape, ___: Values
) -> Drawn:
    return _plain(np.full(shape, value), dtype)


def _draw_value(value: int | float, _: np.random.Generator, shape: Shape, __: Values) -> Drawn:
    return np.full(shape, value)


def _iota(
    _: Numbers, dtype: DType | None, __: np.random.Generator, shape: Shape, ___: Values
) -> Drawn:
    return _plain(np.arange(np.prod(shape, dtype=np.int64)).reshape(shape), dtype)


def copy_given(array: Drawn, _: np.random.Generator, __: Shape, ___: Values) -> Drawn:
    """Return the array itself, as it was given."""
    return array


# By name: how it is drawn, and how many numbers it takes.
CONTENTS: dict[str, tuple[Any, tuple[int, ...]]] = {
    "normal": (_normal, (0,)),
    "uniform": (_uniform, (0, 2)),
    "integers": (_integers, (2,)),
    "zeros": (partial(_constant, 0), (0,)),
    "ones": (partial(_constant, 1), (0,)),
    "iota": (_iota, (0,)),
}


# Structs: `// struct:` lines declare their members in order, each with its contents.


@dataclass(frozen=True)
class Member:
    """A member of a struct: a scalar or a vector of `width` elements, which `draw` makes."""

    name: str
    dtype: DType
    width: int
    draw: Draw

    @property
    def nbytes(self) -> int:
        """The size, which is also the alignment: a vector of three takes the space of four."""
        return self.dtype.nbytes * (4 if self.width == 3 else self.width)


@dataclass(frozen=True)
class StructLayout:
    """Members at the offsets of C and of MSL: each at a multiple of its alignment."""

    members: tuple[Member, ...]
    offsets: tuple[int, ...]
    nbytes: int

    @classmethod
    def of(cls, members: Sequence[Member]) -> StructLayout:
        """Place at least one member after the other."""
        offsets, end = [], 0
        for each in members:
            offsets.append(-(-end // each.nbytes) * each.nbytes)
            end = offsets[-1] + each.nbytes
        alignment = max(each.nbytes for each in members)
        return cls(tuple(members), tuple(offsets), -(-end // alignment) * alignment)

    def draw(self, rng: np.random.Generator, shape: Shape, values: Values) -> Drawn:
        """Return the bytes of an array of structs; padding is zero."""
        count = math.prod(shape) // self.nbytes
        structs = np.zeros((count, self.nbytes), np.uint8)
        for each, offset in zip(self.members, self.offsets, strict=True):
            elements = each.draw(rng, (count, each.width), values).astype(each.dtype.numpy)
            size = each.width * each.dtype.nbytes
            packed = np.ascontiguousarray(elements).view(np.uint8).reshape(count, size)
            structs[:, offset : offset + size] = packed
        return structs.reshape(shape)


# Standalone kernels: lines such as `// buffer:` and `// value:` declare their arguments.
#
# The lines become a task, so that functions on a kernel and its task accept such a file as well.

SIZE = "file"
FORMS = {
    "buffer": "`// buffer: name float32 (1024) normal`",
    "tensor": "`// tensor: name float16 (64, 32) normal`",
    "texture": "`// texture: name rgba8unorm (64, 32) uniform`",
    "sampler": "`// sampler: name filter::linear, address::repeat`",
    "value": "`// value: name = 1024`",
    "struct": "`// struct: name (16) uint32 count = 4, float32x2 scale normal`",
}
_LINE = re.compile(r"\s*//\s*(\w+):(.*)")
_BUFFER = re.compile(r"\s*(\w+)\s+(\w+)\s*(\(.*\))\s*([^()]+)")
_TENSOR = re.compile(r"\s*(\w+)\s+(\w+)\s*(\([^()]*(?:\([^()]*\)[^()]*)*\))\s*(.*)")
_STRIDES = re.compile(r"strides\s*(\([^()]*(?:\([^()]*\)[^()]*)*\))\s*(.*)")
# Elements of four bits, two in a byte: the least and the greatest value.
_NIBBLES = {"int4": (-8, 7), "uint4": (0, 15)}
_SAMPLER = re.compile(r"\s*([A-Za-z_]\w*)(?!\s*(?:::|\())\b\s*(.*)")
_VALUE = re.compile(r"\s*([A-Za-z_]\w*)\s*=\s*(\S+)\s*")
_STRUCT = re.compile(r"\s*(\w+)\s*(\(.*?\))?\s*([^()]+)")
_MEMBER = re.compile(r"\s*(\w+?)(?:x([234]))?\s+([A-Za-z_]\w*)\s*(?:=\s*(\S+)|(\S.*\S))\s*")
_WORDS = {"true": 1, "false": 0}
_OF_NUMPY = {each.numpy.str: each for each in DTYPES.values() if each.name != "bfloat16"}


@dataclass(frozen=True)
class StandaloneKernel:
    """A kernel file and the task of its lines, with one size called `SIZE`.

    `inout` are inputs that the kernel may write to.
    """

    kernel: Kernel
    task: Task
    inout: frozenset[str]

    @property
    def size(self) -> str:
        """The only size of the task."""
        return SIZE


def is_kernel_file(name: str) -> bool:
    """Return whether what a command was given means a file, not a kernel of the library."""
    return name.endswith(".metal")


def read_standalone_kernel(path: Path, arrays: Path | None = None) -> StandaloneKernel:
    """Read the kernel in `path`; its inputs are in its lines and in the .npz file `arrays`.

    Raise DeclarationError, with file and line, if a line is wrong.
    """
    kernel = header.read(path)
    for name, line in kernel.inouts.items():
        raise DeclarationError(
            f"[{kernel.name}] {path.name}:{line}: `// inout:` is for kernels of a task; here write "
            f"`// buffer: {name} float32 (1024) normal inout`"
        )
    lines = _Lines(kernel)
    lines.read()
    if arrays is not None:
        lines.take(_load_arrays(kernel.name, arrays), arrays)
    scratches = (*kernel.scratches, *lines.scratches)
    kernel = replace(kernel, scratches=scratches, samplers=lines.samplers, tensors=lines.tensors)
    return StandaloneKernel(kernel, _task(kernel, lines), frozenset(lines.inout))


def _draw_nibbles(
    draw: Draw, rng: np.random.Generator, shape: Shape, values: Values
) -> np.ndarray[Any, Any]:
    """Return bytes of two elements of four bits each; the first one has the low bits."""
    elements = draw(rng, (*shape[:-1], 2 * shape[-1]), values).astype(np.uint8) & 15
    return elements[..., 0::2] | elements[..., 1::2] << 4


class _Lines:
    """Collects the lines of one header."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._line = 0
        self.inputs: dict[str, Input] = {}
        self.outputs: dict[str, Array] = {}
        self.values: dict[str, int | float] = {}
        self.inout: set[str] = set()
        self.scratches: list[Scratch] = []
        self.samplers: dict[str, str] = {}
        self.tensors: dict[str, TensorView] = {}
        # Texts of lines whose sizes may be values of later lines.
        self._tensor_texts: dict[int, tuple[str, ...]] = {}

    def read(self) -> None:
        """Read every line above the first one of code."""
        self._read_lines()
        for line, found in self._tensor_texts.items():
            self._line = line
            self._add_tensor(*found)

    def _read_lines(self) -> None:
        lines = self._kernel.source.splitlines()
        for self._line, text in enumerate(lines, 1):
            if text.strip() and not text.lstrip().startswith("//"):
                return
            match = _LINE.match(text)
            if match and match[1] in FORMS:
                getattr(self, f"_read_{match[1]}")(match[2])
            elif match and (keyword := find_misspelt_keyword(match[1], match[2], FORMS)):
                hint = f"did you mean {keyword!r}?"
                raise self._error(f"unknown header line `// {match[1]}:`; {hint}")

    def take(self, arrays: Mapping[str, np.ndarray[Any, Any]], path: Path) -> None:
        """Use `arrays` as inputs. They replace the contents of lines with the same names."""
        for name, array in arrays.items():
            where = f"[{self._kernel.name}] {path.name}: {name}"
            line = self.inputs.get(name)
            texels = line.pixel_format if line else ""
            kind = storage_type(array.dtype.name) if texels else _OF_NUMPY.get(array.dtype.str)
            if kind is None:
                known = ", ".join(each.name for each in _OF_NUMPY.values())
                raise DeclarationError(f"{where}: expected one of {known}, got {array.dtype.name}")
            if name in self.outputs:
                raise DeclarationError(f"{where} is an output; leave the array or its line out")
            if line:
                self._check_same(where, line, kind, array.shape)
            shape = tuple(parse(each) for each in array.shape or (1,))
            draw = partial(copy_given, array)
            self.inputs[name] = Input(shape, kind, str(path), draw, pixel_format=texels)

    def _check_same(self, where: str, line: Input, kind: DType, shape: tuple[int, ...]) -> None:
        whole = {name: each for name, each in self.values.items() if isinstance(each, int)}
        expected = line.shape_at(whole)
        if expected != shape or (line.dtype or kind) != kind:
            wanted = line.dtype.name if line.dtype else "floats"
            raise DeclarationError(
                f"{where}: expected {wanted} {expected} by its line, got {kind.name} {shape}"
            )

    def _error(self, message: str) -> DeclarationError:
        file = self._kernel.path.name
        return DeclarationError(f"[{self._kernel.name}] {file}:{self._line}: {message}")

    def _check_new(self, name: str) -> None:
        tensors = [each[0] for each in self._tensor_texts.values()]
        named = {*self.inputs, *self.outputs, *self.values, *self.samplers, *tensors}
        if name in named or name in (each.name for each in self.scratches):
            raise self._error(f"{name!r} is declared twice")

    def _read_value(self, text: str) -> None:
        match = _VALUE.fullmatch(text)
        number = _WORDS.get(match[2], parse_number(match[2])) if match else None
        if match is None or number is None:
            raise self._error(f"expected {FORMS['value']}, got `{text.strip()}`")
        self._check_new(match[1])
        self.values[match[1]] = number

    def _read_buffer(self, text: str) -> None:
        match = _BUFFER.fullmatch(text)
        if match is None:
            raise self._error(f"expected {FORMS['buffer']}, got `{text.strip()}`")
        name, kind, extents, content = match.groups()
        self._check_new(name)
        if kind not in (*DTYPES, "DTYPE"):
            raise self._error(f"unknown element type {kind!r}; {suggestion(kind, DTYPES)}")
        shape, dtype = self._shape(extents), DTYPES.get(kind)
        words = content.split()
        if words == [OUTPUT]:
            self.outputs[name] = Array(shape, dtype)
            return
        if words[-1:] == [INOUT]:
            self.inout.add(name)
            words.pop()
        self.inputs[name] = Input(shape, dtype, " ".join(words), self._draw(words, dtype))

    def _read_tensor(self, text: str) -> None:
        match = _TENSOR.fullmatch(text)
        if match is None or not match[4]:
            raise self._error(f"expected {FORMS['tensor']}, got `{text.strip()}`")
        name, kind, extents, rest = match.groups()
        self._check_new(name)
        if kind not in (*DTYPES, *_NIBBLES, "DTYPE"):
            raise self._error(f"unknown element type {kind!r}; {suggestion(kind, DTYPES)}")
        strided = _STRIDES.fullmatch(rest)
        strides, content = strided.groups() if strided else ("", rest)
        self._tensor_texts[self._line] = (name, kind, extents, strides, content)

    def _add_tensor(self, name: str, kind: str, extents: str, strides: str, content: str) -> None:
        """Add the array of a `// tensor:` line; all values are known."""
        view = self._view(name, extents, strides)
        words, nibble = content.split(), _NIBBLES.get(kind)
        if nibble and any(n % 2 for n in (view.shape[-1], *view.strides[:-1])):
            raise self._error(f"{name}: expected rows of whole bytes, of an even number of {kind}")
        size = view.elements // 2 + view.elements % 2 if nibble else view.elements
        dense = (*view.shape[:-1], view.shape[-1] // 2 if nibble else view.shape[-1])
        shape = tuple(parse(each) for each in ((size,) if strides else dense))
        dtype = DTYPES["uint8"] if nibble else DTYPES.get(kind)
        if words == [OUTPUT]:
            if strides:
                raise self._error(
                    f"{name}: expected an output without strides, because nothing writes the "
                    "elements between its rows; write `zeros inout` for such a tensor"
                )
            self.outputs[name] = Array(shape, dtype)
        else:
            if words[-1:] == [INOUT]:
                self.inout.add(name)
                words.pop()
            draw = self._draw(words, DTYPES["int8"] if nibble else dtype)
            if nibble:
                self._check_nibbles(name, words, kind)
                draw = partial(_draw_nibbles, draw)
            self.inputs[name] = Input(shape, dtype, " ".join(words), draw)
        self.tensors[name] = replace(view, element=f"{kind}b_format") if nibble else view

    def _check_nibbles(self, name: str, words: Sequence[str], kind: str) -> None:
        least, most = _NIBBLES[kind]
        bounds = [number for number in map(parse_number, words[1:]) if number is not None]
        is_whole = words[0] in ("integers", "zeros", "ones")
        if not is_whole or (bounds and not (least <= bounds[0] and bounds[1] - 1 <= most)):
            raise self._error(
                f"{name}: expected zeros, ones or integers of {kind}, from {least} to {most}, such "
                f"as `integers {least} {most + 1}`"
            )

    def _view(self, name: str, extents: str, strides: str) -> TensorView:
        whole = {key: each for key, each in self.values.items() if isinstance(each, int)}
        try:
            shape = tuple(each.evaluate(whole) for each in self._shape(extents, "tensor"))
            given = self._shape(strides, "tensor") if strides else ()
            steps = tuple(each.evaluate(whole) for each in given)
        except DeclarationError as error:
            raise self._error(str(error).partition(": ")[2] or str(error)) from None
        if min(shape) < 1:
            raise self._error(f"{name}: expected every extent to be 1 or more, got {shape}")
        dense = tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))
        if not strides:
            return TensorView(shape, dense, self._line)
        if len(steps) != len(shape) or steps[-1] != 1:
            raise self._error(
                f"{name}: expected {len(shape)} strides, of which the last is 1, got {steps}"
            )
        for i in range(len(shape) - 1):
            if steps[i] < steps[i + 1] * shape[i + 1]:
                raise self._error(
                    f"{name}: expected stride {steps[i]} to be at least "
                    f"{steps[i + 1] * shape[i + 1]}: what it steps over must not overlap"
                )
        return TensorView(shape, steps, self._line)

    def _read_texture(self, text: str) -> None:
        match = _BUFFER.fullmatch(text)
        if match is None:
            raise self._error(f"expected {FORMS['texture']}, got `{text.strip()}`")
        name, named, extents, content = match.groups()
        self._check_new(name)
        try:
            texels = pixel_format(named)
        except DispatchError as error:
            raise self._error(str(error)) from None
        shape = texels.shape_of(self._shape(extents, "texture"), parse(texels.components))
        words = content.split()
        if words == [SCRATCH]:
            self.scratches.append(Scratch(name, texels.dtype.name, shape, self._line, named))
            return
        if words == [OUTPUT]:
            self.outputs[name] = Array(shape, texels.dtype, pixel_format=named)
            return
        if words[-1:] == [INOUT]:
            self.inout.add(name)
            words.pop()
        draw = texels.draw_stored(self._draw(words, texels.drawn_as))
        self.inputs[name] = Input(shape, texels.dtype, " ".join(words), draw, pixel_format=named)

    def _read_sampler(self, text: str) -> None:
        match = _SAMPLER.fullmatch(text)
        if match is None:
            raise self._error(f"expected {FORMS['sampler']}, got `{text.strip()}`")
        self._check_new(match[1])
        try:
            sampler_options(match[2])
        except (DeclarationError, DispatchError) as error:
            raise self._error(str(error)) from None
        self.samplers[match[1]] = match[2]

    def _read_struct(self, text: str) -> None:
        match = _STRUCT.fullmatch(text)
        if match is None:
            raise self._error(f"expected {FORMS['struct']}, got `{text.strip()}`")
        name, extents, members = match.groups()
        self._check_new(name)
        layout = StructLayout.of([self._member(each) for each in members.split(",")])
        counts = self._shape(extents, "struct") if extents else (parse(1),)
        shape = (parse(" * ".join((str(layout.nbytes), *(f"({each})" for each in counts)))),)
        self.inputs[name] = Input(shape, DTYPES["uint8"], members.strip(), layout.draw)

    def _member(self, text: str) -> Member:
        match = _MEMBER.fullmatch(text)
        if match is None:
            raise self._error(f"expected a member such as `float32x2 scale = 1`, got `{text}`")
        kind, width, name, number, contents = match.groups()
        if kind not in DTYPES:
            raise self._error(f"unknown element type {kind!r}; {suggestion(kind, DTYPES)}")
        dtype = DTYPES[kind]
        if number is None:
            draw = self._draw(contents.split(), dtype)
        else:
            value = _WORDS.get(number, parse_number(number))
            if value is None:
                raise self._error(f"{name}: expected a number, true or false, got {number!r}")
            draw = partial(_draw_value, value)
        return Member(name, dtype, int(width or 1), draw)

    def _draw(self, words: list[str], dtype: DType | None) -> Draw:
        try:
            return parse_contents(words, dtype)
        except DeclarationError as error:
            raise self._error(str(error)) from None

    def _shape(self, text: str, what: str = "buffer") -> tuple[Expression, ...]:
        try:
            parser = Parser(text)
            shape = parser.expressions()
            if not parser.at_end:
                raise parser.error("one shape")
        except DeclarationError as error:
            raise self._error(f"{error}; write {FORMS[what]}") from None
        return shape


def _load_arrays(name: str, path: Path) -> dict[str, np.ndarray[Any, Any]]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {each: file[each] for each in file.files}
    except (OSError, ValueError, AttributeError) as error:
        raise DeclarationError(
            f"[{name}] {path}: expected arrays by name, as np.savez writes them; {error}"
        ) from error


def _task(kernel: Kernel, lines: _Lines) -> Task:
    def nothing_to_compare(**_: Any) -> NoReturn:
        raise TaskError(f"[{kernel.name}] {kernel.path.name} has no task that says what is right")

    task = Task(
        name=kernel.name,
        description=kernel.description,
        sizes={SIZE: {}},
        inputs=lines.inputs,
        outputs=lines.outputs,
        reference=nothing_to_compare,
        oracle=nothing_to_compare,
        scale=None,
        constants=lines.values,
        dtypes=kernel.dtypes,
        headline=SIZE,
        gpu_headlines=(SIZE,),
        baseline="",
        flops_expression=parse(0),
        bytes_expression=None,
    )
    size, values = 0, task.values(SIZE)
    for name, each in {**task.inputs, **task.outputs}.items():
        shape = each.shape_at(values)
        size += 8 * math.prod(shape)
        if size > memory_bytes():
            raise DeclarationError(
                f"[{kernel.name}] {kernel.path.name}: expected buffers that fit into the memory of "
                f"this machine, {memory_bytes() >> 20} MiB, got {name} of shape {shape}"
            )
        if min(shape, default=1) < 1:
            raise DeclarationError(
                f"[{kernel.name}] {kernel.path.name}: expected every extent of {name} to be 1 or "
                f"more, got {shape}"
            )
    return task
