"""Programs of StableHLO as kernels on this device, against XLA on the CPU and without optimisation.

    python benchmarks/stablehlo.py [--seconds S] [NAME ...]

Needs `pip install 'metalbench[hlo]' jax`. Each program is called at -O 0, 2 and 3 and by XLA:CPU in
turn, with arrays of the host and results of the host. Printed are the kernels at the three levels,
what those of -O 3 read and write (each buffer of a kernel once) in proportion to the arguments and
results, the median of a call's time at -O 3, and the medians of the ratios to the same turn's other
calls (below 1 is faster).
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from time import perf_counter
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import numpy as np

from metalbench import hlo
from metalbench.hlo.running.plan import Plan

LEVELS = (0, 2, 3)


def norm(x: Any) -> Any:
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / jnp.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)


def attention(x: Any, w: Any) -> Any:
    q, k, v = jnp.split(x @ w, 3, axis=-1)
    return jax.nn.softmax(q @ k.T / 8.0, axis=-1) @ v


PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]]]] = {
    "elementwise": (lambda x, y: jnp.tanh(x * y) + x, [(1024, 1024), (1024, 1024)]),
    "transpose": (lambda x: x.T + 1, [(1024, 1024)]),
    "sum of all": (lambda x: (x * x).sum(), [(1024, 1024)]),
    "softmax": (lambda x: jax.nn.softmax(x, axis=-1), [(1024, 1024)]),
    "layer norm": (norm, [(1024, 1024)]),
    "product": (jnp.matmul, [(512, 512), (512, 512)]),
    "feed-forward": (
        lambda x, w, v: jax.nn.gelu(x @ w) @ v,
        [(128, 256), (256, 1024), (1024, 256)],
    ),
    "attention": (attention, [(256, 64), (64, 192)]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--seconds", type=float, default=3.0, help="for each program")
    options = parser.parse_args()
    unknown = {*options.names} - {*PROGRAMS}
    if unknown:
        parser.error(f"expected of {', '.join(PROGRAMS)}, got {', '.join(sorted(unknown))}")
    print(
        f"{'':14}{'kernels':>14}{'bytes':>8}{'time':>12}{'/ -O 0':>10}{'/ -O 2':>10}{'/ XLA':>10}"
    )
    for name in options.names or PROGRAMS:
        measure(name, *PROGRAMS[name], seconds=options.seconds)


def measure(name: str, function: Any, shapes: list[tuple[int, ...]], *, seconds: float) -> None:
    random = np.random.default_rng(0)
    arrays = [random.normal(size=each).astype(np.float32) / 8 for each in shapes]
    lowered = jax.jit(function).lower(*arrays).compiler_ir("stablehlo")
    jitted = jax.jit(function)
    programs = [hlo.compile(lowered, level=level) for level in LEVELS]
    plans = [each.executable.plan for each in programs]
    forms: list[Callable[[], Any]] = [
        *(lambda program=each: program(*arrays) for each in programs),
        lambda: np.asarray(jitted(*arrays)),
    ]
    *ours, xla = (np.asarray(form()).reshape(-1) for form in forms)
    for found in ours:
        np.testing.assert_allclose(found, xla, rtol=1e-3, atol=1e-4)
    turns = []
    end = perf_counter() + seconds
    while perf_counter() < end or len(turns) < 3:
        turns.append([timed(form) for form in forms])
    slow, middle, fast, other = np.array(turns).T
    ratios = "".join(f"{np.median(fast / each):10.3f}" for each in (slow, middle, other))
    counts = " -> ".join(str(len(list(each.kernels()))) for each in plans)
    times = f"{moved(plans[-1]):8.2f}{np.median(fast) * 1e3:9.2f} ms"
    print(f"{name:14}{counts:>14}{times}{ratios}", flush=True)


def moved(made: Plan) -> float:
    """Bytes that the kernels read and write, in proportion to arguments and results."""
    ends = [*made.block.arguments, *made.block.returned]
    touched = [
        value
        for kernel in made.kernels()
        for value in (*kernel.inputs.values(), *kernel.outputs.values())
    ]
    return sum(each.type.nbytes for each in touched) / sum(each.type.nbytes for each in ends)


def timed(form: Callable[[], Any]) -> float:
    start = perf_counter()
    form()
    return perf_counter() - start


if __name__ == "__main__":
    main()
