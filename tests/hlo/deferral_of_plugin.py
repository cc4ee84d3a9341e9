"""Run programs of JAX whose execution the plugin defers, by name.

Print a line of JSON for each function: its name, and the failure or null.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from functions_of_plugin import outcome

from metalbench.errors import CompileError
from metalbench.hlo.plugin import runtime
from metalbench.hlo.runtime.kernels import KernelCache

X = np.arange(6, dtype=np.float32)
LIMIT_S = 300


@contextmanager
def record_builds(batches):
    """Append the names of the programs of each batch to a list."""
    build = runtime.Client.compile_kernels

    def record(programs):
        batches.append([each.name for each in programs])
        build(programs)

    runtime.Client.compile_kernels = staticmethod(record)
    try:
        yield
    finally:
        runtime.Client.compile_kernels = staticmethod(build)


def many_programs_are_built_together():
    batches = []
    with record_builds(batches):
        x = jax.device_put(X)
        for number in range(5):
            x = jax.jit(lambda x, number=number: x * (number + 2) + 0.125)(x)
        assert batches == []
        np.testing.assert_allclose(x, _evaluate_chain(X), rtol=1e-6)
    assert [len(each) for each in batches] == [5]


def _evaluate_chain(x):
    for number in range(5):
        x = x * (number + 2) + np.float32(0.125)
    return x


def programs_whose_results_are_dropped_are_not_built():
    dropped = jax.jit(lambda x: jnp.tanh(x) - 0.625)
    needed = jax.jit(lambda x: jnp.cosh(x) - 0.625)
    batches = []
    with record_builds(batches):
        x = jax.device_put(X)
        y = dropped(dropped(x))
        z = needed(x)
        del y
        z.block_until_ready()
    assert sum(map(len, batches)) == 1
    np.testing.assert_allclose(dropped(x), np.tanh(X) - 0.625, rtol=1e-5)


def an_error_of_the_compiler_reaches_all_that_need_the_results():
    compile_kernels = KernelCache.compile

    def fail(self, kernels):
        listed = list(kernels)
        if any("0.84375" in each.text for each in listed):
            raise CompileError("<hlo>:7: no such function")
        return compile_kernels(self, listed)

    KernelCache.compile = fail
    try:
        wrong = jax.jit(lambda x: x - 0.84375)(X)
        after = jax.jit(lambda x: x * 1.5)(wrong)
        right = jax.jit(lambda x: x * 2.5)(X)
        np.testing.assert_array_equal(right, X * 2.5)
        for each in (wrong, after):
            with pytest.raises(Exception, match="no such function"):
                np.asarray(each)
            with pytest.raises(Exception, match="no such function"):
                each.block_until_ready()
            with pytest.raises(Exception, match="no such function"):
                jax.jit(lambda x: x * 3.5)(each).block_until_ready()
    finally:
        KernelCache.compile = compile_kernels


def donated_arguments_of_deferred_programs_are_right():
    update = jax.jit(lambda x: x.at[1].set(7.75), donate_argnums=0)
    x = jax.device_put(X)
    first = jax.jit(lambda x: x + 0.375)(x)
    kept = jax.jit(lambda x: x * 1.375)(first)
    second = update(first)
    assert first.is_deleted()
    third = update(jnp.array(second))
    np.testing.assert_array_equal(kept, (X + 0.375) * np.float32(1.375))
    expected = X + np.float32(0.375)
    expected[1] = 7.75
    np.testing.assert_array_equal(third, expected)
    np.testing.assert_array_equal(second, expected)
    np.testing.assert_array_equal(x, X)


def arguments_that_are_used_twice_are_kept():
    update = jax.jit(lambda x, y: (x.at[0].set(9.875), y * 2), donate_argnums=0)
    x = jax.jit(lambda x: x + 0.4375)(X)
    y = jnp.copy(x)
    changed, doubled = update(x, y)
    np.testing.assert_array_equal(doubled, (X + np.float32(0.4375)) * 2)
    np.testing.assert_array_equal(changed[1:], X[1:] + np.float32(0.4375))
    np.testing.assert_array_equal(y, X + np.float32(0.4375))


def a_result_becomes_ready_for_those_who_poll():
    x = jax.jit(lambda x: x * 5.0625)(X)
    end = time.monotonic() + LIMIT_S
    while not x.is_ready():
        assert time.monotonic() < end
    np.testing.assert_array_equal(x, X * np.float32(5.0625))


def threads_await_the_same_programs():
    shared = jax.jit(lambda x: x * 6.0625)(X)
    found = {}

    def work(number):
        own = jax.jit(lambda x: x + number)(shared)
        found[number] = np.asarray(own) + np.asarray(shared)

    threads = [threading.Thread(target=work, args=(each,)) for each in range(6)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(LIMIT_S)
    for number in range(6):
        np.testing.assert_allclose(found[number], X * 12.125 + number, rtol=1e-6)


def many_bytes_are_not_deferred():
    large = jax.jit(lambda: jnp.full((1 << 24,), 1.0625))
    batches = []
    with record_builds(batches):
        held = [large(), jax.jit(lambda x: x[::2] * 2)(large())]
        for number in range(6):
            held.append(jax.jit(lambda x, number=number: x + number)(held[0]))
    assert batches
    assert float(held[-1][5]) == 6.0625


def a_large_program_runs_after_the_deferred_ones_it_needs():
    x = jax.jit(lambda x: x * 7.0625)(X)
    found = jax.lax.fori_loop(0, int(x[1]), lambda i, x: jnp.sort(x)[::-1] + 1, x)
    np.testing.assert_array_equal(found, np.sort(X * np.float32(7.0625))[::-1] + 7)


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(json.dumps([each, outcome(globals()[each])]), flush=True)
