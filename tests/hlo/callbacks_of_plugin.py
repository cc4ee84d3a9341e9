"""Run programs of JAX with callbacks into Python through the plugin, by name.

Print a line of JSON for each function: its name, and the failure or null.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import threading
from collections import Counter
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from functions_of_plugin import outcome
from jax import lax
from jax.experimental import checkify, io_callback, serialize_executable

DEVICE, CPU = jax.devices()[0], jax.devices("cpu")[0]
X = np.arange(4, dtype=np.float32)
# JAX raises the second one where it calls a compiled program without Python.
ERRORS = (jax.errors.JaxRuntimeError, ValueError)
SCALAR = jax.ShapeDtypeStruct((), np.float32)


def like(x):
    return jax.ShapeDtypeStruct(x.shape, x.dtype)


def printed(function, *arguments):
    """Return the lines that a function prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        jax.block_until_ready(function(*arguments))
        jax.effects_barrier()
    return text.getvalue().splitlines()


def pure_callbacks_compute_a_part_of_a_program():
    def call(x):
        return jax.pure_callback(np.cumsum, like(x), jnp.sin(x)) * 2

    found = jax.jit(call)(X)
    assert found.devices() == {DEVICE}
    np.testing.assert_allclose(found, np.cumsum(np.sin(X)) * 2, rtol=1e-6)


def callbacks_take_and_return_all_element_types():
    for kind in ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "complex64", "int4"):
        given = jnp.asarray(np.array([[0, 1], [1, 3]]), kind)

        def reverse(x, y, kind=kind):
            assert (x.dtype.name, y.shape) == (kind, (0, 3))
            return np.asarray(x)[::-1], np.float32(7)

        call = jax.jit(
            lambda x, reverse=reverse: jax.pure_callback(
                reverse, (like(x), SCALAR), x, jnp.zeros((0, 3))
            )
        )
        found, seven = call(given)
        assert found.dtype == given.dtype
        assert np.asarray(found).tolist() == np.asarray(given)[::-1].tolist(), kind
        assert seven == 7


def callbacks_run_in_control_flow():
    def add(x, y):
        return jax.pure_callback(lambda x, y: x + y, SCALAR, x, y)

    final, sums = jax.jit(lambda x: lax.scan(lambda c, s: (add(c, s), c), 0.0, x))(X)
    assert (final, sums.tolist()) == (6, [0, 0, 1, 3])
    seen = []

    def below(x):
        return io_callback(lambda x: np.bool_(seen.append(int(x)) or x < 3), like(jnp.bool_(0)), x)

    assert lax.while_loop(below, lambda x: x + 1, 0) == 3
    assert seen == [0, 1, 2, 3]
    choose = jax.jit(lambda x: lax.cond(x > 0, lambda: add(x, 1.0), lambda: x))
    assert (choose(2.0), choose(-2.0)) == (3, -2)


def conditions_of_counted_loops_run_for_their_effects():
    seen = []

    def below(x):
        jax.debug.callback(lambda x: seen.append(int(x)), x)
        return x < 3

    assert jax.jit(lambda x: lax.while_loop(below, lambda x: x + 1, x))(0) == 3
    assert seen == [0, 1, 2, 3]


def prints_are_in_order_and_survive_unused_results():
    def body(number, total):
        jax.debug.print("step {} of {}", number, total, ordered=True)
        lax.cond(number % 2 == 0, lambda: jax.debug.print("even"), lambda: None)
        return total + 1

    @jax.jit
    def run(x):
        jax.debug.print("sum {x:.1f}", x=x.sum())
        lax.fori_loop(0, 3, body, 10)
        return x

    expected = ["sum 6.0", "step 0 of 10", "even", "step 1 of 11", "step 2 of 12", "even"]
    for _ in range(2):
        assert printed(run, X) == expected


def ordered_effects_of_several_programs_keep_their_order():
    seen = []
    first, second = (
        jax.jit(
            lambda x, name=name: io_callback(
                lambda x: seen.append((name, float(x))), None, x, ordered=True
            )
        )
        for name in "ab"
    )
    for number in range(3):
        first(float(number))
        second(float(number))
    jax.effects_barrier()
    assert seen == [(name, number) for number in range(3) for name in "ab"]


def callbacks_run_under_vmap_and_grad():
    seen = Counter()

    def square(x):
        jax.debug.callback(lambda x: seen.update([float(x)]), x)
        return x * x

    np.testing.assert_array_equal(jax.jit(jax.vmap(jax.grad(square)))(X), 2 * X)
    assert seen == Counter(X.tolist())
    for method in ("sequential", "expand_dims", "broadcast_all"):
        double = jax.vmap(
            lambda x, method=method: jax.pure_callback(
                lambda x: np.asarray(x) * 2, SCALAR, x, vmap_method=method
            )
        )
        np.testing.assert_array_equal(jax.jit(double)(X), X * 2)
    double = jax.vmap(lambda x: io_callback(lambda x: np.asarray(x) * 2, SCALAR, x))
    np.testing.assert_array_equal(jax.jit(double)(X), X * 2)


def unused_pure_callbacks_do_not_run():
    seen = []

    @jax.jit
    def run(x):
        jax.pure_callback(lambda x: np.asarray(seen.append(1) or x), like(x), x)
        return x + 1

    run(X)
    assert seen == []


@jax.jit
def checked_root(x):
    def fail(x):
        raise ValueError(f"{x} is negative")

    checked = lax.cond(x < 0, lambda: jax.pure_callback(fail, SCALAR, x), lambda: x)
    return lax.fori_loop(0, 3, lambda i, c: c + jnp.sqrt(checked), 0.0)


def exceptions_of_callbacks_are_errors_of_the_program():
    for _ in range(2):
        assert checked_root(4.0) == 6
        with pytest.raises(ERRORS, match=r"(?s)Traceback.*ValueError: -1\.0 is"):
            jax.block_until_ready(checked_root(-1.0))
    checked = checkify.checkify(lambda x: checkify.check(x > 0, "not positive: {}", x))
    error, _ = jax.jit(checked)(-2.0)
    with pytest.raises(checkify.JaxRuntimeError, match=r"not positive: -2\.0"):
        error.throw()


def results_of_another_shape_are_errors():
    wrong = jax.jit(lambda x: jax.pure_callback(lambda x: np.asarray(x)[:2], like(x), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"expected float32 \(4,\), got .* \(2,\)"):
        wrong(X)
    few = jax.jit(lambda x: jax.pure_callback(lambda x: (), like(x), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match="expected 1 results, got 0"):
        few(X)


def exits_in_callbacks_are_exceptions_of_the_caller():
    def leave(x):
        sys.exit(3)

    call = jax.jit(lambda x: jax.pure_callback(leave, like(x), x))
    with pytest.raises(SystemExit):
        call(X)
    with pytest.raises(SystemExit):
        call(X)


def callbacks_run_programs_of_the_device_and_themselves():
    def on_device(x):
        return jax.device_put(np.asarray(x), DEVICE)

    def factorial(x):
        # A program that is compiled while this one runs, then this one again.
        previous = lax.cond(
            x > 1,
            lambda: jax.pure_callback(lambda x: compiled(plus_one(on_device(x - 2))), SCALAR, x),
            lambda: jnp.float32(1),
        )
        return x * previous + 0 * jnp.sin(x)

    plus_one = jax.jit(lambda x: x + 1)
    compiled = jax.jit(factorial).lower(on_device(np.float32(1))).compile()
    # JAX refuses recursion in the first call of a program only, in each configuration.
    with jax.default_device(CPU):
        assert compiled(on_device(np.float32(1))) == 1
    assert compiled(on_device(np.float32(5))) == 120


def threads_with_and_without_callbacks_do_not_block_each_other():
    @jax.jit
    def call(x):
        return lax.fori_loop(
            0, 5, lambda i, x: jax.pure_callback(lambda x: np.asarray(x) + 1, like(x), x), x
        )

    plain = jax.jit(lambda x: jnp.sin(x) @ x)
    found = []

    def work(number):
        for _ in range(5):
            np.testing.assert_array_equal(call(X + number), X + number + 5)
            np.testing.assert_allclose(plain(X), np.sin(X) @ X, rtol=1e-6)
        found.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    assert sorted(found) == [0, 1, 2, 3]


def programs_with_callbacks_are_not_stored():
    name = "the_only_program_of_this_name"

    def run(x):
        return jax.pure_callback(np.cumsum, like(x), x)

    run.__name__ = name
    compiled = jax.jit(run).lower(X).compile()
    np.testing.assert_array_equal(compiled(X), np.cumsum(X))
    with pytest.raises(jax.errors.JaxRuntimeError, match="callbacks cannot be serialised"):
        serialize_executable.serialize(compiled)
    # Other processes write files whose temporary names begin with a dot.
    stored = Path(os.environ["METALBENCH_CACHE"]).rglob("[!.]*")
    assert not [each for each in stored if each.is_file() and name.encode() in each.read_bytes()]


def functions_live_as_long_as_their_programs():
    from metalbench.hlo.runtime.host_calls import _FUNCTIONS

    before = len(_FUNCTIONS)
    lowered = jax.jit(lambda x: jax.pure_callback(np.cumsum, like(x), x)).lower(X)
    compiled = lowered.compile()
    del lowered
    np.testing.assert_array_equal(compiled(X), np.cumsum(X))
    assert len(_FUNCTIONS) == before + 1
    del compiled
    jax.clear_caches()
    assert len(_FUNCTIONS) <= before


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(json.dumps([each, outcome(globals()[each])]), flush=True)
