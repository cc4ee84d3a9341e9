"""What plain jnp is compiled to, against our kernels written by hand and XLA on the CPU.

    python benchmarks/stablehlo.py [--seconds S] [--level N] [--device D] [NAME ...]

Needs `pip install 'metalbench[jax]'`. The two compute the same, of the same inputs, and are checked
against each other first. Printed are the kernels of a pass and the bytes of the buffers that they
read and write, each as ours / by hand, here and as they would be on a GPU, where attention is one
kernel; the median of a pass, and the medians of the ratios to the same turn's other passes (below 1
is faster). `metalbench hlo bench` has more programs, and MLX.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

from metalbench import _core
from metalbench.hlo.bench.families import models
from metalbench.hlo.bench.rivals import XlaProgram
from metalbench.hlo.runtime.compilation import compile_program, import_program
from metalbench.hlo.runtime.costs import count_moved_bytes
from metalbench.hlo.runtime.executable import Executable, upload_array
from metalbench.hlo.runtime.plan import build_plan
from metalbench.kernel.library import find
from metalbench.kernel.prepare import Bound, compile_kernel
from metalbench.task.workload import workload


@dataclass(frozen=True)
class Case:
    """A kernel of the library at a size, and the same in jnp, of the same arguments."""

    kernel: str
    size: dict[str, int]
    function: Callable[..., Any]


def rms(x: Any) -> Any:
    return models.rms_norm(x, 1.0)


CASES = {
    "softmax": Case("softmax", {"rows": 1024, "cols": 1024}, lambda x: jax.nn.softmax(x, axis=-1)),
    "layer norm": Case("layer_norm", {"rows": 1024, "cols": 1024}, models.plain_layer_norm),
    "rms norm": Case("rms_norm", {"rows": 1024, "cols": 1024}, rms),
    "attention": Case(
        "softmax_attention", {"queries": 256, "keys": 256, "dims": 64}, models.attention
    ),
    "one query": Case(
        "softmax_attention", {"queries": 1, "keys": 2048, "dims": 64}, models.attention
    ),
    "gelu of product": Case(
        "gelu_linear",
        {"rows": 128, "inputs": 256, "outputs": 1024},
        lambda x, w: jax.nn.gelu(x @ w, approximate=False),
    ),
    "block, 64 tokens": Case(
        "transformer_block", {"tokens": 64, "dims": 128, "hidden": 256}, models.block
    ),
    "block, 640 tokens": Case(
        "transformer_block", {"tokens": 640, "dims": 512, "hidden": 2048}, models.block
    ),
}


def by_hand(device: _core.Device, case: Case) -> Bound:
    """Return the kernel of the library, with inputs."""
    (entry,) = find([case.kernel])
    task = replace(entry.task, sizes={**entry.task.sizes, "benchmark": case.size})
    return compile_kernel(device, entry.kernel(), task).bind(workload(task, "benchmark"))


def bytes_of(bound: Bound, device: _core.Device, case: Case) -> int:
    """Return the bytes that the launches read and write, each buffer of a launch once."""
    (entry,) = find([case.kernel])
    compiled = compile_kernel(device, entry.kernel(), bound.workload.task)
    buffers = {**bound.inputs, **bound.outputs, **bound.scratches}
    return sum(
        buffers[source].array.nbytes
        for launch in bound.geometry
        for each in compiled.pipelines[launch.function].arguments
        if isinstance(source := launch.find_source(each.name), str) and source in buffers
    )


def check(ours: list[Any], bound: Bound) -> None:
    """Raise AssertionError unless both give the same."""
    for found, name in zip(ours, bound.outputs, strict=True):
        wanted = bound.read(name).reshape(found.shape)
        np.testing.assert_allclose(found, wanted, rtol=2e-3, atol=2e-4 * np.abs(wanted).max())


def pass_ns(device: _core.Device, launches: list[_core.Dispatch]) -> float:
    """Return the median time of a pass."""
    samples = device.sample(launches, max_pairs=12, time_limit_ns=2e8, warmup_ns=1e7)
    times = samples.device_ns if len(samples.device_ns) else samples.candidate_ns
    return float(np.median(times))


def xla_ns(form: XlaProgram, times: int) -> float:
    start = perf_counter()
    form(times)
    return (perf_counter() - start) / times * 1e9


def measure(name: str, case: Case, device: _core.Device, level: int, seconds: float) -> None:
    """Print one line of the table."""
    bound = by_hand(device, case)
    arrays = [np.asarray(each, np.float32) for each in bound.workload.inputs.values()]
    module = jax.jit(case.function).lower(*arrays).compiler_ir("stablehlo")
    program: Executable = compile_program(module, level=level, device=device.kind)
    device.run(bound.dispatches)
    check(program(*arrays), bound)
    launches = program.list_dispatches([upload_array(program.queue, each) for each in arrays])
    assert launches is not None
    xla = XlaProgram(str(module), arrays)
    first = pass_ns(device, launches)
    times = max(1, int(5e7 / max(first, 1.0)))
    turns = []
    end = perf_counter() + seconds
    while perf_counter() < end or len(turns) < 5:
        passes = pass_ns(device, launches), pass_ns(device, bound.dispatches)
        turns.append([*passes, xla_ns(xla, times)])
    ours, hand, other = np.array(turns).T
    theirs = bytes_of(bound, device, case)
    cells = [
        f"{len(kernels)} / {len(bound.dispatches)}, "
        f"{sum(map(count_moved_bytes, kernels)) / theirs:.2f}"
        for kernels in (
            list(program.plan.iterate_kernels()),
            list(build_plan(import_program(module), level, device="metal").iterate_kernels()),
        )
    ]
    ratios = f"{np.median(ours / hand):10.2f}{np.median(ours / other):10.2f}"
    texts = f"{theirs / 1e6:8.2f} MB{cells[0]:>14}{cells[1]:>14}"
    print(f"{name:18}{texts}{np.median(ours) / 1e6:11.3f} ms{ratios}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(CASES)}")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each program")
    parser.add_argument("--level", type=int, default=3, help="of optimisation")
    parser.add_argument("--device", default="auto")
    options = parser.parse_args()
    unknown = {*options.names} - {*CASES}
    if unknown:
        parser.error(f"expected of {', '.join(CASES)}, got {', '.join(sorted(unknown))}")
    device = _core.open() if options.device == "auto" else _core.open(options.device)
    print(f"{device.name}, -O {options.level}")
    heads = f"{'by hand':>11}{'here':>14}{'on a GPU':>14}{'a pass':>14}"
    print(f"{'':18}{heads}{'/ by hand':>10}{'/ XLA':>10}")
    for name in options.names or CASES:
        measure(name, CASES[name], device, options.level, options.seconds)


if __name__ == "__main__":
    main()
