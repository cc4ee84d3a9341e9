"""Time programs whose sequential parts the host's processors may run next to a GPU.

    python benchmarks/host_regions.py --device cuda [--rounds 20]

Each program is timed with `host` never, auto and always, in turns. The columns are the median time
without the host, that time divided by those with it, and the gain that the cost model estimates.
The last lines tell whether `auto` gained 10 % where it used the host, and what it lost elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import click
import jax
import jax.numpy as jnp
import numpy as np

from metalbench import _core, hlo
from metalbench.hlo.jax_rules import NAME, register_rules
from metalbench.hlo.runtime.executable import to_storage, upload_array
from metalbench.hlo.runtime.host_regions import CHOICES

Array = np.ndarray[Any, Any]


def loop(state: Any, matrix: Any) -> Any:
    """Iterate on a small state, and compute a product of large matrices."""

    def step(_: Any, value: Any) -> Any:
        return jnp.tanh(value @ value) @ value * 0.125 + state

    return jax.lax.fori_loop(0, 2000, step, state), matrix @ matrix


def newton(state: Any, matrix: Any) -> Any:
    """Iterate on scalars until they converge, and compute a product."""
    target = state[0, 0] + 2.0

    def go_on(carry: Any) -> Any:
        return jnp.abs(carry[0] * carry[0] - target) > 1e-3

    def step(carry: Any) -> Any:
        root, count = carry
        return root - 1e-3 * (root * root - target), count + 1

    return jax.lax.while_loop(go_on, step, (target, 0)), matrix @ matrix


def sort(state: Any, matrix: Any) -> Any:
    """Sort a few numbers, and compute a product."""
    return jnp.sort(state.reshape(-1)), matrix @ matrix


def eigenvalues(state: Any, matrix: Any) -> Any:
    """Decompose one symmetric matrix, and compute a product."""
    return jnp.linalg.eigh(state @ state.T), matrix @ matrix


def cholesky(state: Any, matrix: Any) -> Any:
    """Solve with one matrix, and multiply with the solution."""
    spd = state @ state.T + 8 * jnp.eye(state.shape[0])
    half = jnp.linalg.cholesky(spd)
    solved = jax.scipy.linalg.solve_triangular(half, state, lower=True)
    return solved, matrix @ matrix


# By name: the function, and the rows of its state.
PROGRAMS: dict[str, tuple[Callable[..., Any], int]] = {
    "loop of 2000 on 8 x 8": (loop, 8),
    "loop of 2000 on 32 x 32": (loop, 32),
    "loop of 2000 on 256 x 256": (loop, 256),
    "scalar while": (newton, 8),
    "sort of 64": (sort, 8),
    "sort of 1048576": (sort, 1024),
    "eigh of 32 x 32": (eigenvalues, 32),
    "eigh of 128 x 128": (eigenvalues, 128),
    "Cholesky of 64 x 64": (cholesky, 64),
    "Cholesky of 1024 x 1024": (cholesky, 1024),
}


@dataclass
class Variant:
    """A program that is compiled with one choice, and its arguments on the device."""

    executable: Any
    buffers: list[_core.Buffer]
    seconds: list[float]

    def run(self) -> None:
        """Run once, and keep the time."""
        begin = time.perf_counter()
        self.executable.run(self.buffers)
        self.seconds.append(time.perf_counter() - begin)


def compile_variants(name: str, device: str, columns: int) -> dict[str, Variant]:
    """Return the program with each choice."""
    function, rows = PROGRAMS[name]
    random = np.random.default_rng(0)
    arguments = [
        (random.normal(size=(each, each)) / each).astype(np.float32) for each in (rows, columns)
    ]
    # For our platform: for a CPU, JAX would call LAPACK.
    register_rules()
    lowered = jax.jit(function).trace(*arguments).lower(lowering_platforms=(NAME,))
    text = lowered.as_text()
    found = {}
    for choice in CHOICES:
        program = hlo.compile(text, device=device, level=3, host=choice)
        executable = program.executable
        buffers = [
            upload_array(executable.queue, to_storage(each, type_, name))
            for each, type_ in zip(arguments, executable.inputs, strict=True)
        ]
        found[choice] = Variant(executable, buffers, [])
    return found


@click.command(help=__doc__)
@click.option("--device", default="cuda", show_default=True)
@click.option("--rounds", default=20, show_default=True)
@click.option("--rows", default=2048, show_default=True, help="Rows of the matrix of the product.")
def main(device: str, rounds: int, rows: int) -> None:
    """Time all programs, and print the table."""
    click.echo(f"{'program':26s} {'never':>10s} {'auto':>6s} {'always':>6s}  decisions")
    gains, losses = [], []
    for name in PROGRAMS:
        variants = compile_variants(name, device, rows)
        for number in range(rounds + 1):
            for each in variants.values():
                each.run()
                if not number:
                    each.seconds.clear()
        medians = {choice: float(np.median(each.seconds)) for choice, each in variants.items()}
        ratios = {choice: medians["never"] / each for choice, each in medians.items()}
        plan = variants["auto"].executable.plan
        uses_host = any(each.host_plan is not None for each in plan.steps)
        (gains if uses_host else losses).append(ratios["auto"])
        click.echo(
            f"{name:26s} {1e6 * medians['never']:7.0f} us {ratios['auto']:6.2f} "
            f"{ratios['always']:6.2f}  {'; '.join(plan.decisions)}"
        )
    if gains:
        click.echo(f"auto used the host in {len(gains)} programs: {min(gains):.2f} or more")
    if losses:
        click.echo(f"auto did not in {len(losses)}: {min(losses):.2f} or more")


if __name__ == "__main__":
    main()
