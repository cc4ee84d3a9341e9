from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from metalbench import _core
from metalbench.errors import CompileError, DeclarationError, DispatchError
from metalbench.kernel import header as kernel
from metalbench.kernel.prepare import compile_kernel
from metalbench.task import integers, normal, output, task
from metalbench.task.workload import workload


@task(
    sizes=dict(small=dict(rows=5, cols=7), seed=dict(rows=64, cols=33)),
    inputs=dict(x=normal("rows", "cols"), shift=integers("rows", high=9)),
    outputs=dict(y=output("rows", "cols")),
    constants=dict(alpha=0.5, times=3),
    oracle=lambda x, shift, alpha, times: alpha * x * times + shift[:, None],
    dtypes=("float32", "float16"),
    flops="3 * rows * cols",
)
def scaled(x, shift, alpha, times):
    return alpha * x * times + shift[:, None]


RIGHT = """\
// dispatch: scale  threadgroups=(rows)  threads=(TG)
// dispatch: add  threads_in_grid=(cols, rows)  threads=(8, 4)  threadgroup_bytes=(tile: 4 * TG)
// scratch: product DTYPE (rows, cols)
// tune: TG = 32, 64
// dtypes: float32, float16
#include <metal_stdlib>
using namespace metal;

kernel void scale(device const DTYPE* x, device DTYPE* product, constant float& alpha,
                  constant uint& times, constant uint& cols,
                  uint row [[threadgroup_position_in_grid]],
                  uint i [[thread_position_in_threadgroup]]) {
  for (uint col = i; col < cols; col += TG)
    product[row * cols + col] = DTYPE(alpha * float(x[row * cols + col]) * times);
}

kernel void add(device const DTYPE* product, device const uint* shift, device DTYPE* y,
                constant uint& cols, threadgroup DTYPE* tile [[threadgroup(0)]],
                uint2 i [[thread_position_in_grid]]) {
  y[i.y * cols + i.x] = product[i.y * cols + i.x] + DTYPE(shift[i.y]);
}
"""


@pytest.fixture(scope="module")
def device():
    return _core.open("cpu")


def compiled(device, source=RIGHT, **options):
    return compile_kernel(device, kernel.parse(source, name="scaled"), scaled, **options)


def bound(device, source=RIGHT, size="small", **options):
    return compiled(device, source, **options).bind(workload(scaled, size))


@pytest.mark.parametrize("size", ["small", "seed"])
@pytest.mark.parametrize("name", ["float32", "float16"])
def test_a_kernel_of_two_passes_runs(device, size, name):
    work = workload(scaled, size, dtype_name=name)
    ready = compiled(device, dtype_name=name).bind(work)
    device.run(ready.dispatches)
    np.testing.assert_allclose(
        ready.read("y").astype(np.float64), work.expected["y"], rtol=3e-3, atol=3e-3
    )


@dataclass
class Listening:
    """A device that remembers how it was asked to compile."""

    device: _core.Device
    options: dict[str, object] = field(default_factory=dict)

    def __getattr__(self, name):
        return getattr(self.device, name)

    def compile(self, source, **options):
        self.options = options
        return self.device.compile(source, **options)


@pytest.mark.parametrize(("line", "fast"), [("", False), ("// math: fast\n", True)])
def test_the_math_mode_comes_from_the_header(device, line, fast):
    listening = Listening(device)
    compiled(listening, line + RIGHT)
    assert listening.options["fast_math"] is fast


def test_the_geometry_comes_from_the_header(device):
    first, second = bound(device, tunables={"TG": 64}).geometry
    assert (first.function, first.threads, first.grid) == ("scale", (64, 1, 1), (5, 1, 1))
    assert not first.in_threads
    assert (second.threads, second.grid) == ((8, 4, 1), (7, 5, 1))
    assert second.in_threads
    assert second.threads_per_threadgroup == 32
    assert second.threadgroup_bytes == {"tile": 256}


LIMITED = RIGHT.replace(
    "kernel void scale", "[[kernel, max_total_threads_per_threadgroup(64)]] void scale"
)


@pytest.mark.parametrize(
    ("tune", "threads", "remedy"),
    [
        ("TG = 256, 32, 64, 128", "(TG)", "TG = 64 fits: let the `// tune:` line begin with it"),
        ("TG = 256, 128", "(TG)", "no value of `// tune: TG` is small enough: add one that is"),
        ("TG = 256, 32, 64", "(TG / 2, 2)", "TG = 64 fits: let the `// tune:` line"),
        ("TG = 64, 32", "(256)", "lower threads="),
    ],
)
def test_compile_kernel_suggests_a_tune_value_if_threads_exceed_the_limit(
    device, tune, threads, remedy
):
    source = LIMITED.replace("TG = 32, 64", tune).replace("threads=(TG)", f"threads={threads}")
    with pytest.raises(DispatchError) as caught:
        bound(device, source)
    told = str(caught.value)
    assert "expected at most 64 threads in a threadgroup (the device takes 1024, but not of" in told
    assert "got 256; " + remedy in told


def test_compile_kernel_suggests_defaults_of_the_device_that_fit(device):
    source = LIMITED.replace("TG = 32, 64", "TG = 32, 64, 256\n// defaults: cpu TG = 256")
    ours = kernel.parse(source, name="scaled").on(["cpu"])
    with pytest.raises(DispatchError, match=r"TG = 64 fits: let the line `// defaults: cpu` say"):
        compile_kernel(device, ours, scaled).bind(workload(scaled, "small"))


def test_another_seed_is_loaded_into_the_same_buffers(device):
    ready = bound(device)
    other = workload(scaled, "small", seed=1)
    again = ready.load(other)
    assert again.dispatches is ready.dispatches
    assert all(again.inputs[name].holds(each) for name, each in other.inputs.items())


def test_outputs_and_scratch_start_poisoned(device):
    ready = bound(device)
    assert ready.outputs["y"].unwritten().all()
    assert ready.scratches["product"].unwritten().all()
    device.run(ready.dispatches)
    assert not ready.outputs["y"].unwritten().any()
    ready.poison()
    assert ready.outputs["y"].unwritten().all()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("dispatch: scale ", "dispatch: scal ", r"no kernel 'scal'; did you mean 'scale'"),
        ("shift", "shft", "shft: kernel add takes it but .*'shift'"),
        (
            "device const uint* shift",
            "device const float* shift",
            r"shift: expected uint32 \(uint\), got float",
        ),
        (
            "device const DTYPE* x",
            "device const half* x",
            r"x: expected float32 \(float\), got half in kernel scale",
        ),
        (
            "device const DTYPE* x",
            "device const uint* x",
            r"x: expected float32 \(float\), got uint",
        ),
        (
            "constant uint& times",
            "constant float& times",
            "times: expected an integer .* got float",
        ),
        (
            "product DTYPE (rows",
            "product float16 (rows",
            r"product: expected float16 \(half\), got float",
        ),
        ("scratch: product DTYPE", "scratch: x DTYPE", ":3: scratch 'x' is called like an input"),
        ("tune: TG = 32, 64", "tune: rows = 32", "tunable 'rows' is called like an input"),
        ("  threadgroup_bytes=(tile: 4 * TG)", "", "threadgroup argument 'tile' has no size; add"),
        (
            "(tile: 4 * TG)",
            "(tile: 4, tiles: 4)",
            "no threadgroup argument 'tiles'; did you mean 'tile'",
        ),
    ],
)
def test_compile_kernel_refuses_a_kernel_that_does_not_fit_its_task(device, old, new, message):
    assert old in RIGHT
    with pytest.raises((DeclarationError, CompileError), match=message):
        compiled(device, RIGHT.replace(old, new))


def test_an_unused_input_is_an_error(device):
    source = RIGHT.replace("device const uint* shift, ", "").replace(" + DTYPE(shift[i.y])", "")
    with pytest.raises(
        DeclarationError, match=r"shift: no dispatched kernel of scaled.metal takes"
    ):
        compiled(device, source)


def test_an_output_that_cannot_be_written_is_an_error(device):
    source = RIGHT.replace("device DTYPE* y", "device const DTYPE* y")
    source = source.replace("y[i.y * cols + i.x] =", "DTYPE z =")
    with pytest.raises(DeclarationError, match="y: expected an argument that can be written"):
        compiled(device, source)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "threads=(TG)",
            "threads=(32 * TG, 2)",
            r"scaled.metal:1: scale threads=\(1024, 2, 1\): expected at most 1024",
        ),
        (
            "threadgroups=(rows)",
            "threadgroups=(rows / 8)",
            r"grid: expected 1 to .* for rows / 8, got 0 \(rows = 5\)",
        ),
        ("threadgroups=(rows)", "threadgroups=(rows - 9)", "for rows - 9, got -4"),
        (
            "threadgroups=(rows)",
            "threadgroups=(row)",
            "grid: 'row': unknown name 'row'; did you mean 'rows'",
        ),
        (
            "DTYPE (rows, cols)",
            "DTYPE (rows, col)",
            "scaled.metal:3: product: 'col': unknown name 'col'",
        ),
    ],
)
def test_a_launch_that_does_not_fit_is_an_error(device, old, new, message):
    assert old in RIGHT
    with pytest.raises((DeclarationError, DispatchError), match=message):
        bound(device, RIGHT.replace(old, new))


def test_tunables_and_types_are_checked(device):
    with pytest.raises(DeclarationError, match="unknown tunable 'TGG'; did you mean 'TG'"):
        compiled(device, tunables={"TGG": 1})
    with pytest.raises(DeclarationError, match=r"dtype: expected one of float32, float16, got 'bf"):
        compiled(device, dtype_name="bfloat16")
    with pytest.raises(DeclarationError, match=r"is written for float32, not float16; if it works"):
        compiled(device, RIGHT.replace("// dtypes: float32, float16\n", ""), dtype_name="float16")


def test_a_compile_error_is_passed_on(device):
    with pytest.raises(CompileError, match=r"scaled.metal:13:\d+: error: .*colum"):
        compiled(device, RIGHT.replace("col < cols; col", "colum < cols; col"))


def test_an_undeclared_name_that_resembles_a_tunable_is_explained(device):
    with pytest.raises(CompileError) as error:
        compiled(device, RIGHT.replace("col += TG)", "col += TGG)"))
    hint = "scaled.metal: 'TGG' is not a tunable of the header; did you mean 'TG'?"
    assert str(error.value).splitlines()[-1] == hint
    with pytest.raises(CompileError) as error:
        compiled(device, RIGHT.replace("col < cols; col", "colum < cols; col"))
    assert "is not a tunable" not in str(error.value)
