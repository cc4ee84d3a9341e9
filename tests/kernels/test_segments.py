"""Segments without a column read nothing, wherever they lie."""

from __future__ import annotations

import numpy as np

from metalbench import _core
from metalbench.kernel.library import Library
from metalbench.kernel.source_files import include_folders

SIDE, DEPTH = 32, 1024


def test_empty_segments_after_the_last_column_are_zero() -> None:
    random = np.random.default_rng(3)
    a = random.standard_normal((SIDE, DEPTH), dtype=np.float32)
    b = random.standard_normal((DEPTH, SIDE), dtype=np.float32)
    segments = np.array([[DEPTH, DEPTH], [0, DEPTH], [DEPTH, DEPTH]], np.uint32)
    source = Library().entry("segmented_mm").kernel().source
    device = _core.open()
    macros = {"DTYPE": "float", "BM": "32", "BN": "32", "BK": "16"}
    library = device.compile(source, include_dirs=include_folders(), macros=macros)
    y = np.full((len(segments), SIDE, SIDE), np.nan, np.float32)
    arrays = {"a": a, "b": b, "segments": segments, "y": y, "m": SIDE, "n": SIDE, "k": DEPTH}
    dispatch = _core.Dispatch(
        library.pipeline(), arrays, threadgroups=(1, 1, len(segments)), threads=(128, 1, 1)
    )
    device.run([dispatch])
    assert not y[0].any()
    assert not y[2].any()
    np.testing.assert_allclose(y[1], a @ b, rtol=1e-4, atol=1e-4)
