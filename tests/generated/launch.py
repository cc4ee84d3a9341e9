"""Inputs and thread positions of a generated program, for the model and the device."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from generated import syntax as s
from generated.kinds import dtype_of, is_float, width_of
from generated.lanes import WIDTH
from generated.text import CELLS, OPERATIONS

Array = np.ndarray
# The cells' first values: nothing that an operation would leave as it is.
_CELL_STARTS = {"add": 3, "min": 0xF0000000, "max": 7, "and": 0xFFFFFFFF, "or": 0, "xor": 0}


def inputs_of(program: s.Program) -> dict[str, Array]:
    """Return the arrays that the kernel only reads, flat, by name."""
    found = {each.name: _drawn(each) for each in program.inputs}
    order = np.random.default_rng(program.seed).permutation(program.total)
    return found | {"order": order.astype(np.uint32), "total": np.uint32(program.total)}


def _drawn(buffer: s.Buffer) -> Array:
    """Small numbers and large ones; floats that are sums of a few powers of two."""
    draw, dtype = np.random.default_rng(buffer.seed), dtype_of(buffer.type)
    count = buffer.size * width_of(buffer.type)
    small = draw.integers(0, 40, count)
    if is_float(buffer.type):
        return ((small - 20) / 4).astype(dtype)
    bits = draw.integers(0, 1 << 63, count, dtype=np.uint64)
    return np.where(draw.random(count) < 0.7, small.astype(np.uint64), bits).astype(dtype)


def outputs_of(program: s.Program) -> dict[str, Array]:
    """Return the arrays that the kernel writes, flat, with their initial values."""
    found = {}
    for at, each in enumerate(program.outputs):
        count = program.total * each.slots * width_of(each.type)
        values = np.random.default_rng(at).integers(0, 100, count)
        found[each.name] = values.astype(dtype_of(each.type))
    starts = [_CELL_STARTS[each] for each in OPERATIONS]
    found["cells"] = np.repeat(np.array(starts, np.uint32), CELLS)
    if any(isinstance(each, s.Fetch) for each in s.every(program)):
        found["mine"] = 7 * np.arange(program.total, dtype=np.uint32)
    return found


def place_of(output: s.Output, slot: int, program: s.Program, own: Array, order: Array) -> Array:
    """Return the index of a thread's slot in an output, for threads of these linear indices."""
    total = program.total
    return {
        "rows": lambda: own * output.slots + slot,
        "columns": lambda: slot * total + own,
        "reversed": lambda: slot * total + (total - 1 - own),
        "permuted": lambda: order[own] * output.slots + slot,
        "scattered": lambda: slot * total + order[own],
    }[output.order]().astype(np.int64)


@dataclass(frozen=True)
class Places:
    """Positions of threads: a row of 32 lanes for every SIMD-group of every threadgroup.

    `names` are what a program calls them; `live` the lanes that exist; `group` counts threadgroups.
    """

    live: Array
    group: Array
    names: dict[str, Array]


def places_of(program: s.Program) -> Places:
    """The threads of a program's launch, with fewer in the threadgroups at the grid's edges."""
    rows: dict[str, list[Array]] = {}
    sizes, grid = np.array(program.threads), np.array(program.grid)
    groups = -(-grid // sizes)
    for number in range(int(np.prod(groups))):
        at = np.array(np.unravel_index(number, groups[::-1]))[::-1]
        size = np.minimum(sizes, grid - at * sizes)
        for name, values in _threadgroup(program, at, size, number).items():
            rows.setdefault(name, []).append(values)
    names = {name: np.concatenate(each) for name, each in rows.items()}
    live, group = names.pop("live"), names.pop("number")
    return Places(live, group, {name: each.astype(np.uint32) for name, each in names.items()})


def _threadgroup(program: s.Program, at: Array, size: Array, number: int) -> dict[str, Array]:
    count = int(np.prod(size))
    simdgroups = -(-count // WIDTH)
    index = np.arange(simdgroups * WIDTH).reshape(simdgroups, WIDTH)
    live = index < count
    inside = np.minimum(index, count - 1)
    x, y, z = inside % size[0], inside // size[0] % size[1], inside // size[0] // size[1]
    gx, gy, gz = (at * np.array(program.threads))[:, None, None] + np.array([x, y, z])
    flat = program.grid[1:] == (1, 1) and program.threads[1:] == (1, 1)
    return {
        "live": live,
        "number": np.full_like(index, number),
        "i": (gz * program.grid[1] + gy) * program.grid[0] + gx,
        "tid": index,
        "x": x,
        "y": y,
        "z": z,
        "lane": index % WIDTH,
        "sg": index // WIDTH,
        "count": np.full_like(index, count),
        "group": np.full_like(index, at[0] if flat else at[0] + 3 * at[1] + 5 * at[2]),
        "total": np.full_like(index, program.total),
    }
