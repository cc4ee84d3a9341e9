"""Exported kernels need no other file, and compute the bits of the library's kernels.

Without -m slow a sample of them.
"""

from __future__ import annotations

import inspect
import subprocess
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import pytest
from metal_double.compiler import compiler
from short_form import is_in_sample

from metalbench import _core
from metalbench.errors import DeclarationError, Unsupported
from metalbench.kernel.export import export_kernel
from metalbench.kernel.header import parse
from metalbench.kernel.host_code import (
    plan_host_code,
    write_mlx_code,
    write_objc_code,
    write_swift_code,
)
from metalbench.kernel.library import Library
from metalbench.kernel.prepare import compile_kernel
from metalbench.mlx import patch_mlx
from metalbench.reference.evaluate import to_mlx, to_numpy
from metalbench.task.workload import workload

LIBRARY = Library()
INCLUDE = Path(__file__).parents[1] / "metal_double/include"
QUICK = 24  # the sample of the short form has one kernel in this number
HOSTS = ("softmax", "mse_loss", "rms_norm", "matvec", "argmax", "top_k", "transpose_2d")


def list_by_speed() -> Iterator[object]:
    for name in LIBRARY.names("all"):
        marks = () if is_in_sample(f"export-{name}", QUICK) else pytest.mark.slow
        yield pytest.param(name, id=name, marks=marks)


def computed(kernel, task, dtype: str) -> dict[str, bytes]:
    """Return the bits of all outputs at the small size."""
    device = _core.open("cpu")
    work = workload(task, next(iter(task.sizes)), dtype_name=dtype)
    bound = compile_kernel(device, kernel, task, dtype_name=dtype).bind(work)
    bound.poison()
    device.run(bound.dispatches)
    return {name: bound.read(name).tobytes() for name in bound.outputs}


@pytest.mark.parametrize("name", list(list_by_speed()))
def test_an_exported_kernel_computes_the_same_bits(name, tmp_path):
    entry = LIBRARY.entry(name)
    kernel = entry.kernel(_core.open("cpu"))
    dtype = kernel.dtypes[-1]
    text = export_kernel(kernel, dtype_name=dtype).text
    assert '#include "' not in text
    assert "DTYPE" not in text
    alone = parse(text, name=name, path=tmp_path / f"{name}.metal")
    assert not alone.tunables
    assert computed(alone, entry.task, dtype) == computed(kernel, entry.task, dtype)


def planned(name: str, **options):
    entry = LIBRARY.entry(name)
    return plan_host_code(export_kernel(entry.kernel(), **options), entry.task)


@pytest.mark.parametrize("name", HOSTS)
def test_the_code_for_mlx_computes_the_same_bits(name):
    entry = LIBRARY.entry(name)
    kernel = entry.kernel()
    dtype = kernel.dtypes[-1]
    task, work = entry.task, workload(entry.task, "small", dtype_name=dtype)
    space: dict[str, object] = {}
    undo = patch_mlx(device="cpu")
    try:
        exec(write_mlx_code(planned(name, dtype_name=dtype)), space)
        function = space[name]
        named = inspect.signature(function).parameters
        sizes = {each: value for each, value in work.values.items() if each in named}
        with mx.stream(mx.cpu):
            got = function(**{each: to_mlx(v) for each, v in work.inputs.items()}, **sizes)
    finally:
        undo()
    got = got if isinstance(got, tuple) else (got,)
    bits = dict(zip(task.outputs, (to_numpy(each).tobytes() for each in got), strict=True))
    assert bits == computed(kernel, task, dtype)


@pytest.mark.parametrize("name", [*HOSTS, "kv_append", "masked_scatter"])
def test_the_objective_cpp_compiles_against_headers_of_metal(name, tmp_path):
    file = tmp_path / f"{name}.mm"
    file.write_text(write_objc_code(planned(name)))
    flags = ["-fsyntax-only", "-x", "objective-c++", "-std=c++20", "-fobjc-arc", "-fblocks"]
    flags += ["-fobjc-runtime=macosx-14.0", "-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]
    flags += ["-Wno-unused-parameter", "-Wno-nullability-completeness", "-Wno-unused-function"]
    answer = subprocess.run(
        [*compiler(), *flags, str(file)], capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr


@pytest.mark.parametrize("name", [*HOSTS, "kv_append", "masked_scatter"])
def test_the_swift_code_binds_every_argument(name):
    """There is no compiler of Swift here: brackets match, and each index is set once a launch."""
    plan = planned(name)
    text = write_swift_code(plan)
    for opening, closing in ("()", "{}", "[]"):
        assert text.count(opening) == text.count(closing)
    launches = text.split("encoder.setComputePipelineState(")[1:]
    for line, launch in zip(plan.kernel.dispatches, launches, strict=True):
        assert launch.startswith(f"{line.function})")
        for each in plan.arguments(line):
            assert launch.count(f"index: {each.index})") == 1
        assert launch.count("threadsPerThreadgroup:") == 1


def test_values_replace_tunables_and_the_element_type():
    kernel = LIBRARY.entry("kv_append").kernel()
    text = export_kernel(kernel, dtype_name="bfloat16", tunables={"TG": 64}).text
    assert "// dispatch: place  threads_in_grid=(ceil_div(dims, 4), tokens, heads)" in text
    assert "threads=(32, 64 / 32, 1)" in text
    assert "// inout: cache" in text
    assert "// dtypes: bfloat16" in text
    assert "device const bfloat* fresh" in text
    assert "// tune:" not in text
    assert "RowSum" not in text
    with pytest.raises(DeclarationError, match="unknown tunable 'TGS'"):
        export_kernel(kernel, tunables={"TGS": 64})


def test_mlx_cannot_update_in_place():
    with pytest.raises(Unsupported, match="MLX's arrays are values; use --host swift"):
        write_mlx_code(planned("kv_append"))
