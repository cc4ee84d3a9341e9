"""Every kernel of the library as PTX. Without -m slow, a few of them in one type each."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest
from cuda.ptx import check_sound, read

from metalbench.kernel.library import Library
from metalbench.kernel.prepare import source_options
from metalbench.msl import engine
from metalbench.task.dtypes import dtype

MOST_THREADGROUP_BYTES = 32768
# A reduction with SIMD-groups, and a product of matrices.
QUICK = {("softmax", "bfloat16"), ("sqr_mm", "float16")}


def cases() -> Iterator[object]:
    library = Library()
    for entry in map(library.entry, library.names("all")):
        for name in entry.kernel().dtypes:
            marks = () if (entry.name, name) in QUICK else pytest.mark.slow
            yield pytest.param(entry, name, id=f"{entry.name}-{name}", marks=marks)


@pytest.mark.parametrize(("entry", "dtype_name"), list(cases()))
def test_a_kernel_of_the_library_compiles(entry, dtype_name):
    kernel = entry.kernel().on(("cuda",))
    options = source_options(kernel, dtype(dtype_name), kernel.resolve_tunables(dtype=dtype_name))
    program = engine.parse(kernel.source, **options)
    for function in dict.fromkeys(line.function for line in kernel.dispatches):
        built = engine.build_for_gpu(program, function, fast_math=kernel.math == "fast")
        # The assembler takes seconds for some.
        assemble = zlib.crc32(f"{entry.name} {dtype_name}".encode()) % 8 == 0
        ptx = read(built.path)
        check_sound(ptx, assemble=assemble)
        assert sum(ptx.static_bytes) <= MOST_THREADGROUP_BYTES


ROW_HEADERS = ("norm.h", "row_reductions.h", "rows.h", "scan.h", "softmax.h")


def row_kernels() -> list[object]:
    """Return the kernels that include a header of rows themselves."""
    library = Library()
    return [
        pytest.param(entry, id=entry.name)
        for entry in map(library.entry, library.names("all"))
        if any(f'#include "metalbench/{each}"' in entry.kernel().source for each in ROW_HEADERS)
    ]


@pytest.mark.parametrize("entry", row_kernels())
def test_rows_need_no_local_memory(entry):
    kernel = entry.kernel().on(("cuda",))
    options = source_options(kernel, dtype("float32"), kernel.resolve_tunables(dtype="float32"))
    program = engine.parse(kernel.source, **options)
    for function in dict.fromkeys(line.function for line in kernel.dispatches):
        built = engine.build_for_gpu(program, function, fast_math=kernel.math == "fast")
        assert "__local_depot" not in read(built.path).text
