"""Chains of updates are put in order, whichever order a GPU's threads have left them in."""

from __future__ import annotations

import numpy as np

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import include_folders

# The first row has more updates than one thread puts in order.
ROWS, COLS, UPDATES = 9, 7, 400
MOST = 64
END = np.uint32(0xFFFFFFFF)


def chains(index: np.ndarray, arrival: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heads and followers if updates arrive so; each goes in front of those before it."""
    heads, following = np.full(ROWS, END), np.full(UPDATES, END)
    for update in arrival:
        following[update] = heads[index[update]]
        heads[index[update]] = update
    return heads, following


def test_sums_have_the_bits_of_updates_in_their_order() -> None:
    random = np.random.default_rng(3)
    x = random.standard_normal((ROWS, COLS), dtype=np.float32)
    values = random.standard_normal((UPDATES, COLS), dtype=np.float32)
    index = np.where(random.random(UPDATES) < 0.4, 0, random.integers(0, ROWS - 1, UPDATES))
    index = index.astype(np.uint32)
    assert [count > MOST for count in np.bincount(index)] == [True] + [False] * (ROWS - 2)
    expected = x.copy()
    np.add.at(expected, index, values)
    source = Library().entry("scatter_add").kernel().source
    device = _core.open()
    macros = {"DTYPE": "float", "TG": "32"}
    library = device.compile(source, include_dirs=include_folders(), macros=macros, fast_math=False)
    for arrival in (np.arange(UPDATES), np.arange(UPDATES)[::-1], random.permutation(UPDATES)):
        heads, following = chains(index, arrival)
        y = np.full_like(x, np.nan)
        chained = {"heads": heads, "following": following}
        order = _core.Dispatch(
            library.pipeline("order"), chained, threads_in_grid=(ROWS, 1, 1), threads=(32, 1, 1)
        )
        long_arrays = {
            **chained,
            "index": index,
            "rows": np.uint32(ROWS),
            "updates": np.uint32(UPDATES),
        }
        order_long = _core.Dispatch(
            library.pipeline("order_long"), long_arrays, threadgroups=(2, 1, 1), threads=(256, 1, 1)
        )
        device.run([order, order_long])
        arrays = {**chained, "x": x, "values": values, "y": y, "cols": np.uint32(COLS)}
        add = _core.Dispatch(
            library.pipeline("add"), arrays, threads_in_grid=(2, ROWS, 1), threads=(32, 1, 1)
        )
        device.run([add])
        np.testing.assert_array_equal(y, expected)
