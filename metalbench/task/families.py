"""Sizes and element types shared by tasks on rows or elements of a matrix."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import mlx.core as mx
import numpy as np

from metalbench.task.declaration import Task, task
from metalbench.task.inputs import Input, integers, normal, output

FLOATING = ("float32", "float16", "bfloat16")

# One odd number of columns is less than a multiple of four by one, the other more.
_ODD = {"odd1": {"rows": 37, "cols": 1023}, "odd2": {"rows": 5, "cols": 4097}}
ROWS = {
    "small": {"rows": 16, "cols": 256},
    **_ODD,
    "seed": {"rows": 1024, "cols": 1024},
    "large": {"rows": 2048, "cols": 4096},
}
# What a language model has for each token that it writes: one row of activations, and of logits.
DECODE = {"decode": {"rows": 1, "cols": 4096}}
VOCABULARY = {"vocabulary": {"rows": 1, "cols": 152064}}
ELEMENTS = {
    "small": {"rows": 16, "cols": 256},
    **_ODD,
    "seed": {"rows": 16, "cols": 16384},
    "large": {"rows": 2048, "cols": 4096},
}


# Rows that no threadgroup has in its memory.
LONG_ROWS = {
    "small": {"rows": 2, "cols": 5000},
    "odd1": {"rows": 3, "cols": 9001},
    "odd2": {"rows": 1, "cols": 65537},
    "short": {"rows": 5, "cols": 37},
    "seed": {"rows": 2, "cols": 131072},
    "large": {"rows": 1, "cols": 16777216},
}

# Declare elementwise tasks on one matrix or several.


def elementwise(
    name: str,
    reference: Callable[..., Any],
    oracle: Callable[..., Any],
    *,
    baseline: str,
    flops: int = 4,
    scale: Callable[..., Any] | None = None,
    dtype: str | None = None,
    result: str | None = None,
    **inputs: Input,
) -> Task:
    """Return the elementwise task `name` of the `inputs`, (rows, cols) each; by default `x`.

    `flops` are those of one element. `dtype` is the element type of a task whose inputs are not
    floats. `result` is that of the output, if it is another.
    """
    reference.__name__ = name
    return task(
        sizes=ELEMENTS,
        gpu_headlines=("large",),
        inputs=inputs or {"x": normal("rows", "cols")},
        outputs={"y": output("rows", "cols", dtype=result or dtype)},
        oracle=oracle,
        scale=scale,
        dtypes=FLOATING if dtype is None else ("float32",),
        flops=f"{flops} * rows * cols",
        baseline=baseline,
    )(reference)


def count_set_bits(x: Any) -> Any:
    """Return how many bits of each uint32 are set, by shifts and masks; of NumPy or of MLX."""
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    x = x + (x >> 8)
    return (x + (x >> 16)) & 63


def divisors(*dims: str) -> Input:
    """Return int32 of both signs, none of them zero, to divide by."""

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        magnitudes = random.integers(1, 1000, shape, dtype=np.int32)
        return np.where(random.random(shape) < 0.5, -magnitudes, magnitudes)

    return replace(integers(*dims, low=-999, high=1000, dtype="int32"), draw=draw)


def join_truths(name: str, reference: Callable[..., Any], oracle: Callable[..., Any]) -> Task:
    """Return the task `name` of joining rows of truth values to one each.

    Half of the rows are true, half are false. Two rows of five have one value of the other kind, at
    a random place.
    """

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], _: Mapping[str, int]
    ) -> np.ndarray[Any, Any]:
        rows = np.repeat(random.random((shape[0], 1)) < 0.5, shape[1], axis=1)
        chosen = np.flatnonzero(random.random(shape[0]) < 0.4)
        rows[chosen, random.integers(0, shape[1], len(chosen))] ^= True
        return rows

    reference.__name__ = name
    return task(
        sizes=ROWS,
        gpu_headlines=("large",),
        inputs=dict(x=replace(integers("rows", "cols", high=2, dtype="bool"), draw=draw)),
        outputs=dict(y=output("rows", dtype="bool")),
        oracle=oracle,
        flops="rows * cols",
    )(reference)


# Declare tasks for convolutions with any stride, padding, dilation and number of groups.

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class ConvolutionGeometry:
    """Taps, stride, padding and dilation of every spatial axis, and the number of groups."""

    taps: int
    stride: int = 1
    padding: int = 0
    dilation: int = 1
    groups: int = 1

    def outputs(self, extent: str) -> str:
        """Return how many outputs there are of `extent` inputs, as an expression."""
        reach = self.dilation * (self.taps - 1) + 1
        return f"({extent} + {2 * self.padding} - {reach}) / {self.stride} + 1"


def convolve_images(x: Array, w: Array, steps: ConvolutionGeometry) -> Array:
    """Convolve images, channels last, in any number of dimensions: for each tap a product."""
    borders = [(steps.padding, steps.padding)] * (x.ndim - 2)
    x = np.pad(x, [(0, 0), *borders, (0, 0)])
    reach = steps.dilation * (steps.taps - 1) + 1
    counts = [(n - reach) // steps.stride + 1 for n in x.shape[1:-1]]
    parts = []
    for image, filters in zip(
        np.split(x, steps.groups, axis=-1), np.split(w, steps.groups), strict=True
    ):
        y = np.zeros_like(x, shape=(len(x), *counts, len(filters)), order="C")
        for tap in np.ndindex(*w.shape[1:-1]):
            starts = [steps.dilation * at for at in tap]
            window = tuple(
                slice(at, at + steps.stride * (n - 1) + 1, steps.stride)
                for at, n in zip(starts, counts, strict=True)
            )
            y += image[(slice(None), *window)] @ filters[(slice(None), *tap)].T
        parts.append(y)
    return np.concatenate(parts, axis=-1)


def convolution_task(
    name: str,
    description: str,
    steps: ConvolutionGeometry,
    *,
    sizes: Mapping[str, Mapping[str, int]],
) -> Task:
    """Return the task of a convolution along the axes that sizes name besides batch and channels.

    Channels and filters are those of one group.
    """
    extents = [each for each in sizes["small"] if each not in ("batch", "channels", "filters")]
    by_mlx: Callable[..., Any] = (mx.conv1d, mx.conv2d)[len(extents) - 1]

    def reference(x: Any, w: Any) -> Any:
        return by_mlx(x, w, steps.stride, steps.padding, steps.dilation, steps.groups)

    reference.__name__ = name
    reference.__doc__ = description
    outputs = [steps.outputs(each) for each in extents]
    count = " * ".join(f"({each})" for each in outputs)
    filters = f"{steps.groups} * filters"
    return task(
        sizes=sizes,
        gpu_headlines=("large",),
        inputs=dict(
            x=normal("batch", *extents, f"{steps.groups} * channels"),
            w=normal(filters, *[steps.taps] * len(extents), "channels"),
        ),
        outputs=dict(y=output("batch", *outputs, filters)),
        oracle=lambda x, w: convolve_images(x, w, steps),
        scale=lambda x, w: convolve_images(np.abs(x), np.abs(w), steps),
        dtypes=("float32", "float16", "bfloat16"),
        flops=f"2 * batch * {count} * {filters} * {steps.taps ** len(extents)} * channels",
        baseline=f"mx.{by_mlx.__name__}",
    )(reference)


# Declare tasks for Fourier transforms of rows, with separate real and imaginary arrays.


def whole_spectrum(name: str, cols: int, *, inverse: bool = False) -> Task:
    """Return the discrete Fourier transform of rows of `cols` complex numbers, or its inverse."""
    direct = np.fft.ifft if inverse else np.fft.fft
    by_mlx = mx.fft.ifft if inverse else mx.fft.fft

    def oracle(re: Array, im: Array, cols: int) -> tuple[Array, Array]:
        found = direct(re + 1j * im)
        return found.real, found.imag

    def scale(re: Array, im: Array, cols: int) -> tuple[Array, Array]:
        terms = (np.abs(re) + np.abs(im)).sum(axis=-1, keepdims=True)
        spread = np.broadcast_to(terms / (cols if inverse else 1), re.shape)
        return spread, spread

    def reference(re: Any, im: Any, cols: int) -> tuple[Any, Any]:
        found = by_mlx(re + 1j * im)
        return mx.real(found), mx.imag(found)

    reference.__name__ = name
    reference.__doc__ = (
        f"{'Inverse d' if inverse else 'D'}iscrete Fourier transform of rows of {cols} numbers."
    )
    return task(
        sizes=dict(
            small=dict(rows=4),
            odd1=dict(rows=5),
            odd2=dict(rows=19),
            seed=dict(rows=512),
            large=dict(rows=16384),
        ),
        gpu_headlines=("large",),
        inputs=dict(re=normal("rows", "cols"), im=normal("rows", "cols")),
        outputs=dict(y_re=output("rows", "cols"), y_im=output("rows", "cols")),
        constants=dict(cols=cols),
        oracle=oracle,
        scale=scale,
        flops=f"5 * rows * cols * {round(np.log2(cols))}",
        baseline="mx.fft.ifft" if inverse else "mx.fft.fft",
    )(reference)


# Short-time Fourier transforms of 400 samples every 160 samples, for tasks on audio.

LENGTH, HOP = 400, 160


def split_frames(x: Array, window: Array, length: int = LENGTH, hop: int = HOP) -> Array:
    """Return every frame of `x` (samples) that is there as a whole, times the window."""
    frames = np.lib.stride_tricks.sliding_window_view(x, length)[::hop]
    return frames * window


def power_spectrum(x: Array, window: Array) -> Array:
    """Return squares of the spectra's amplitudes, (frames, 201)."""
    found: Array = np.abs(np.fft.rfft(split_frames(x, window), axis=-1)) ** 2
    return found


def power_magnitude(x: Array, window: Array) -> Array:
    """Return the error scale of `power_spectrum`: 2 a da + a^2, da relative to absolute terms."""
    amplitude = np.abs(np.fft.rfft(split_frames(x, window), axis=-1))
    terms = np.abs(split_frames(x, window)).sum(axis=-1, keepdims=True)
    found: Array = 2 * amplitude * terms + amplitude**2
    return found


def mlx_power(x: Any, window: Any) -> Any:
    """Return the same by MLX."""
    count = (x.shape[0] - LENGTH) // HOP + 1
    frames = mx.as_strided(x, (count, LENGTH), (HOP, 1))
    return mx.square(mx.abs(mx.fft.rfft(frames * window, axis=-1)))


# Inputs for mixtures of experts: some experts have many rows, others have none.


def expert_indices(*dims: str, high: str, ordered: bool = False) -> Input:
    """Return integers in [0, high) that are mostly small: some experts get no row.

    With `ordered` they are sorted.
    """
    plain = integers(*dims, high=high)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Array:
        drawn = (random.random(shape) ** 3 * values[high]).astype(np.uint32)
        return np.sort(drawn, axis=None).reshape(shape) if ordered else drawn

    called = f"{plain.distribution}, most of them low"
    return replace(plain, draw=draw, distribution=called, together=ordered)


def multiply_by_expert(x: Any, w: Any, expert: Any, *, ordered: bool = False) -> Any:
    """Return rows of `x` (..., inner) times the transposes of their matrices, by mx.gather_mm.

    MLX has it in half types on GPUs alone; on a processor operands are widened.
    """
    dtype = x.dtype
    if mx.default_device() == mx.Device(mx.cpu):
        x, w = x.astype(mx.float32), w.astype(mx.float32)
    found = mx.gather_mm(
        x[..., None, :], w.swapaxes(-1, -2), rhs_indices=expert, sorted_indices=ordered
    )
    return found[..., 0, :].astype(dtype)


# The different values of rows of integers.


def distinct_values(x: Array) -> tuple[Array, Array, Array]:
    """Return for every row its values, how often each occurs, and how many there are.

    The first two have the shape of `x`, and 0 behind the last value.
    """
    values, lengths = np.zeros_like(x), np.zeros(x.shape, np.uint32)
    number = np.zeros(len(x), np.uint32)
    for row, elements in enumerate(x):
        found, counts = np.unique(elements, return_counts=True)
        number[row] = len(found)
        values[row, : len(found)], lengths[row, : len(found)] = found, counts
    return values, lengths, number


def mlx_distinct_values(x: Any) -> tuple[Any, Any, Any]:
    """Return the same by MLX: a sort, then scatters to the numbers of runs."""
    rows, cols = x.shape
    in_order = mx.sort(x, axis=-1)
    is_first = mx.concatenate(
        [mx.ones((rows, 1), mx.bool_), in_order[:, 1:] != in_order[:, :-1]], axis=1
    )
    places = mx.cumsum(is_first.astype(mx.uint32), axis=1) - 1
    places += mx.arange(0, rows * cols, cols, dtype=mx.uint32)[:, None]
    firsts = mx.where(is_first, in_order, 0)
    values = mx.zeros(rows * cols, x.dtype).at[places.flatten()].add(firsts.flatten())
    lengths = mx.zeros(rows * cols, mx.uint32).at[places.flatten()].add(1)
    number = mx.sum(is_first, axis=1).astype(mx.uint32)
    return values.reshape(x.shape), lengths.reshape(x.shape), number


# Segments of rows, sorted one by one.

SEGMENTED_ROWS = {
    "small": {"rows": 2, "cols": 3000, "segments": 9},
    "odd1": {"rows": 1, "cols": 5003, "segments": 301},
    "odd2": {"rows": 3, "cols": 2049, "segments": 1},
    "short": {"rows": 2, "cols": 37, "segments": 50},
    "seed": {"rows": 1, "cols": 131072, "segments": 1024},
    "large": {"rows": 1, "cols": 8388608, "segments": 65536},
}


def cuts_of_rows(*dims: str, cols: str) -> Input:
    """Return where segments of rows begin, and the end: of any lengths, some empty."""
    plain = integers(*dims, high=2)

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Array:
        drawn = np.sort(random.integers(0, values[cols] + 1, shape), axis=1)
        drawn[:, 0], drawn[:, -1] = 0, values[cols]
        return drawn.astype(np.uint32)

    return replace(plain, draw=draw, distribution="cuts of rows", together=True)


def sort_segments(x: Array, offsets: Array) -> Array:
    """Return the rows with each segment in ascending order, NaN last."""
    y = x.copy()
    for row, cuts in zip(y, offsets.astype(np.int64), strict=True):
        for first, end in itertools.pairwise(cuts):
            row[first:end].sort()
    return y


def mlx_sort_segments(x: Any, offsets: Any) -> Any:
    """Return the same by MLX: a stable sort by numbers of segments behind one by elements."""
    order = mx.argsort(x, axis=1)
    columns = mx.arange(x.shape[1], dtype=mx.uint32)
    segments = mx.stack([mx.searchsorted(each[1:], columns, side="right") for each in offsets])
    by_segment = mx.argsort(mx.take_along_axis(segments, order, axis=1), axis=1)
    return mx.take_along_axis(x, mx.take_along_axis(order, by_segment, axis=1), axis=1)


# Rows of tables by signed indices, of which some are beyond the table.

TABLES = {
    "small": {"rows": 16, "cols": 64, "count": 33},
    "odd1": {"rows": 37, "cols": 101, "count": 300},
    "odd2": {"rows": 1, "cols": 1023, "count": 5},
    "seed": {"rows": 4096, "cols": 256, "count": 4096},
    "large": {"rows": 65536, "cols": 1024, "count": 16384},
}


def table_indices(*dims: str, rows: str) -> Input:
    """Return int32 indices from below -2 `rows` to above 2 `rows`, both ends among them."""
    plain = integers(*dims, low=f"0 - 2 * {rows} - 2", high=f"2 * {rows} + 3", dtype="int32")

    def draw(
        random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
    ) -> Array:
        count = values[rows]
        edges = np.array([-2 * count, -count - 1, -count, -1, 0, count - 1, count, 2 * count])
        drawn = plain.draw(random, shape, values)
        chosen = random.integers(0, 4 * len(edges), shape)
        drawn = np.where(chosen < len(edges), edges[chosen % len(edges)], drawn)
        return drawn.astype(np.int32)

    return replace(plain, draw=draw)


def table_rows(
    name: str, reference: Callable[..., Any], oracle: Callable[..., Any], *, baseline: str
) -> Task:
    """Return the task `name`: rows (count, cols) of a table (rows, cols) by signed indices."""
    reference.__name__ = name
    return task(
        sizes=TABLES,
        gpu_headlines=("large",),
        inputs={"x": normal("rows", "cols"), "index": table_indices("count", rows="rows")},
        outputs={"y": output("count", "cols")},
        oracle=oracle,
        dtypes=FLOATING,
        flops="0",
        bytes="count * (2 * cols * itemsize + 4)",
        baseline=baseline,
    )(reference)


# Updates of rows of a table that indices name, any number of them for one row.

UPDATES = {
    "small": {"rows": 64, "cols": 32, "updates": 96},
    "odd1": {"rows": 37, "cols": 33, "updates": 101},
    "odd2": {"rows": 130, "cols": 13, "updates": 40},
    # Most updates are of one row.
    "odd3": {"rows": 2, "cols": 32, "updates": 5000},
    "seed": {"rows": 2048, "cols": 256, "updates": 4096},
    "large": {"rows": 32768, "cols": 512, "updates": 65536},
}


def _draw_updated_rows(
    random: np.random.Generator, shape: tuple[int, ...], values: Mapping[str, int]
) -> Array:
    """Return rows of the table, the first of them often and many never, as tokens of a text are."""
    return (values["rows"] * random.random(shape) ** 2).astype(np.uint32)


def scatter_updates(
    name: str,
    reference: Callable[..., Any],
    update: np.ufunc,
    *,
    baseline: str,
    sums_up: bool = False,
) -> Task:
    """Return the task `name`: y = x, then y[index[i]] = update(y[index[i]], values[i]) in turn.

    If it `sums_up`, the scale of errors is the same of magnitudes.
    """

    def oracle(x: Array, index: Array, values: Array) -> Array:
        y = x.copy()
        update.at(y, index.astype(np.int64), values)
        return y

    def scale(x: Array, index: Array, values: Array) -> Array:
        return oracle(np.abs(x), index, np.abs(values))

    reference.__name__ = name
    return task(
        sizes=UPDATES,
        gpu_headlines=("large",),
        inputs={
            "x": normal("rows", "cols"),
            "index": replace(integers("updates", high="rows"), draw=_draw_updated_rows),
            "values": normal("updates", "cols"),
        },
        outputs={"y": output("rows", "cols")},
        oracle=oracle,
        scale=scale if sums_up else None,
        dtypes=FLOATING,
        flops="updates * cols",
        bytes="(2 * rows + updates) * cols * itemsize + 4 * updates",
        baseline=baseline,
    )(reference)
