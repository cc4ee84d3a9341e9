"""No kernel of the library in float16 keeps an array in thread memory at LLVM's own thresholds.

A compiler for a GPU cannot index registers: such an array is in device memory behind caches.
`test_lints.py` asks the same of each kernel's first element type.
"""

from __future__ import annotations

import pytest

from metalbench.checking.performance import lint_kernel
from metalbench.kernel.library import Entry, Library

LIBRARY = Library()
ENTRIES = [*map(LIBRARY.entry, [*LIBRARY.names("all"), *LIBRARY.names("kernelbench")])]


IN_FLOAT16 = [each for each in ENTRIES if "float16" in each.kernel().dtypes[1:]]


@pytest.mark.parametrize("entry", IN_FLOAT16, ids=lambda entry: entry.name)
def test_arrays_are_in_registers(entry: Entry) -> None:
    kernel = entry.kernel()
    size = entry.task.gpu_headlines[0]
    lints = lint_kernel(kernel, entry.task, size, dtype_name="float16")
    found = [each for each in lints.found if each.kind == "thread-array" and not each.allowed]
    assert not found, "\n".join(
        f"{each.frames[0].file}:{each.frames[0].line}: {each.message}" for each in found
    )
