"""No kernel of the library keeps an array in thread memory at LLVM's own thresholds.

A compiler for a GPU cannot index registers: such an array is in device memory behind caches.
"""

from __future__ import annotations

import pytest

from metalbench.checking.performance import lint_kernel
from metalbench.kernel.library import Entry, Library

LIBRARY = Library()
ENTRIES = [*map(LIBRARY.entry, [*LIBRARY.names("all"), *LIBRARY.names("kernelbench")])]


CASES = [
    pytest.param(entry, dtype, id=f"{entry.name}-{dtype}")
    for entry in ENTRIES
    for dtype in entry.kernel().dtypes
    if dtype in ("float32", "float16")
]


@pytest.mark.parametrize(("entry", "dtype"), CASES)
def test_arrays_are_in_registers(entry: Entry, dtype: str) -> None:
    kernel = entry.kernel()
    size = entry.task.gpu_headlines[0]
    lints = lint_kernel(kernel, entry.task, size, dtype_name=dtype)
    found = [each for each in lints.found if each.kind == "thread-array" and not each.allowed]
    assert not found, "\n".join(
        f"{each.frames[0].file}:{each.frames[0].line}: {each.message}" for each in found
    )
