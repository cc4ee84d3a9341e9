"""Run unmodified programs of JAX by name through the plugin, and compare them with XLA:CPU.

Print a line of JSON for each function: its name, and the failure or null.
"""

from __future__ import annotations

import json
import sys
import threading
import traceback

import jax
import jax.numpy as jnp
import mlx.core as mx
import numpy as np
import pytest
from jax import lax

CPU = jax.devices("cpu")[0]
X = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)
W = np.random.default_rng(1).standard_normal((8, 3)).astype(np.float32)


def check(function, *arguments, tolerance=1e-5):
    """Compare the results of `function` on the plugin's device with those on XLA's device."""
    found = jax.jit(function)(*arguments)
    assert {each.platform for leaf in jax.tree.leaves(found) for each in leaf.devices()} == {
        "metalbench"
    }
    with jax.default_device(CPU):
        expected = jax.jit(function)(*jax.device_put(arguments, CPU))

    def same(got, want):
        assert got.dtype == want.dtype
        got, want = np.asarray(got), np.asarray(want)
        if got.dtype.name == "bfloat16":
            got, want = got.astype(np.float32), want.astype(np.float32)
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)

    jax.tree.map(same, found, expected)


def jit_is_xlas():
    check(lambda x: x + 1, X)


def gradients_are_xlas():
    check(jax.value_and_grad(lambda w: jnp.sum(jnp.tanh(X @ w) ** 2)), W)


def vmap_is_xlas():
    check(jax.vmap(lambda row: jnp.sort(row) * 2), X)


def scan_is_xlas():
    check(lambda x: lax.scan(lambda c, s: (jnp.tanh(c + s), c.sum()), x, jnp.arange(5.0)), X)


def while_loops_are_xlas():
    def steps(count):
        return lax.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, s[1] * 1.1), (0, 1.0))

    check(steps, 7)


def cond_and_switch_are_xlas():
    def choose(number):
        first = lax.cond(number > 0, lambda: jnp.ones(3), lambda: jnp.zeros(3))
        return first, lax.switch(number, [lambda x: x, lambda x: x * 2, lambda x: x - 1], 2.0)

    for number in (0, 1, 2):
        check(choose, number)


def random_numbers_are_xlas():
    check(lambda seed: jax.random.uniform(jax.random.key(seed), (6,)), 3)


def random_draws_of_many_kinds_are_xlas():
    check(lambda seed: jax.random.normal(jax.random.key(seed), (6,)), 3)
    check(lambda seed: jax.random.randint(jax.random.key(seed), (6,), 0, 100), 3)
    check(lambda seed: jax.random.permutation(jax.random.key(seed), 10), 3)
    check(lambda seed: jax.random.categorical(jax.random.key(seed), X), 3)


def indexing_is_xlas():
    check(lambda x: x.at[jnp.array([0, 0, 2])].add(1.0), X)
    check(lambda x: jnp.cumsum(x, 1)[::-1, ::2], X)
    check(lambda x: lax.top_k(x, 3), X)


def linear_algebra_is_xlas():
    check(lambda x: jnp.linalg.cholesky(x @ x.T + 8 * jnp.eye(4)), X, tolerance=1e-4)


def element_types_are_xlas():
    kinds = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16"]
    for kind in [*kinds, "int4", "uint4"]:
        check(lambda x, kind=kind: x.astype(kind), np.arange(7, dtype=np.float32))
        there = jnp.asarray(np.arange(2), kind)
        assert np.asarray(there).tolist() == [0, 1], kind


def arrays_go_there_and_back_in_any_order_of_memory():
    tall = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    for each in (tall, tall.T, tall[::-1, :, ::-2], np.asfortranarray(tall), tall[:0], tall[1, 2]):
        there = jax.device_put(each)
        assert there.devices() == {jax.devices()[0]}
        np.testing.assert_array_equal(np.asarray(there), each)
        np.testing.assert_array_equal(np.asarray(jax.device_put(there, CPU)), each)


def later_changes_on_the_host_have_no_effect():
    here = np.ones(1000, np.float32)
    there = jax.device_put(here)
    here[:] = 2
    np.testing.assert_array_equal(np.asarray(there), np.ones(1000))


def a_run_deletes_donated_arrays():
    step = jax.jit(lambda x, y: (x * 2, y), donate_argnums=0)
    given, kept = jnp.ones(3), jnp.zeros(3)
    found, same = step(given, kept)
    assert given.is_deleted()
    assert not kept.is_deleted()
    np.testing.assert_array_equal(np.asarray(found), [2, 2, 2])
    np.testing.assert_array_equal(np.asarray(same), np.asarray(kept))
    with pytest.raises(RuntimeError, match="deleted"):
        np.asarray(given)


def update(x, row, place):
    return lax.dynamic_update_slice(x, row, (place, 0))


def donated_memory_is_updated_in_place():
    step = jax.jit(update, donate_argnums=0)
    cache = jax.device_put(np.zeros((64, 4), np.float32))
    place = cache.unsafe_buffer_pointer()
    for number in range(5):
        cache = step(cache, np.full((1, 4), number, np.float32), number)
    assert cache.unsafe_buffer_pointer() == place
    np.testing.assert_array_equal(np.asarray(cache)[:6, 0], [0, 1, 2, 3, 4, 0])


def other_owners_of_donated_memory_keep_their_elements():
    given = jax.device_put(np.zeros((64, 4), np.float32))
    same, twice = jax.jit(lambda x: (x, x))(given)
    row = np.ones((1, 4), np.float32)
    (constant,) = jax.jit(lambda: (jnp.zeros((64, 4)),))()
    for each in (same, constant):
        changed = jax.jit(update, donate_argnums=0)(each, row, 3)
        assert np.asarray(changed).sum() == 4
    for each in (given, twice, jax.jit(lambda: (jnp.zeros((64, 4)),))()[0]):
        np.testing.assert_array_equal(np.asarray(each), np.zeros((64, 4)))
    not_donated = jax.jit(update)(given, row, 3)
    assert (np.asarray(not_donated).sum(), np.asarray(given).sum()) == (4, 0)


def memory_statistics_count_live_arrays():
    device = jax.devices()[0]
    before = device.memory_stats()["bytes_in_use"]
    held = jax.device_put(np.zeros(1 << 20, np.float32))
    during = device.memory_stats()
    assert during["bytes_in_use"] - before == held.nbytes
    assert during["peak_bytes_in_use"] >= during["bytes_in_use"]
    held.delete()
    assert device.memory_stats()["bytes_in_use"] == before


def results_outlive_their_arguments():
    given = jnp.arange(4.0)
    same = jax.jit(lambda x: (x, x, x + 0))(given)
    given.delete()
    for each in same:
        np.testing.assert_array_equal(np.asarray(each), np.arange(4.0))


def refusals_are_exceptions_that_name_the_operation_and_its_place():
    with pytest.raises(
        jax.errors.JaxRuntimeError, match=r"UNIMPLEMENTED: \[stablehlo.custom_call\] .*no_target"
    ):
        jax.jit(jax.ffi.ffi_call("no_target", jax.ShapeDtypeStruct((4,), np.float32)))(X)
    with pytest.raises(NotImplementedError, match="schur"):
        jax.scipy.linalg.schur(X @ X.T)
    check(lambda x: x + 1, X)


def floats_of_eight_bits_are_xlas():
    for name in ("float8_e4m3fn", "float8_e5m2"):
        x, y = (each.astype(name) for each in (X, X[::-1]))
        np.testing.assert_array_equal(np.asarray(jax.device_put(x.T)), x.T)
        check(lambda x, y: [each.astype(np.float32) for each in (x + y, x * y, x / y)], x, y)
        check(lambda x, y: (x < y, x == y, x.astype(np.float16), jnp.argmax(x)), x, y)
        check(lambda x: lax.bitcast_convert_type(jnp.sort(x), np.uint8), x)
        check(lambda x, y: lax.dot(x, y.T, preferred_element_type=np.float32), x, y)
        check(lambda x, name=name: (x * 500).astype(name).astype(np.float32), X)


def double_precision_is_xlas():
    with jax.enable_x64(True):
        x, w = X.astype(np.float64), W.astype(np.float64)
        np.testing.assert_array_equal(np.asarray(jax.device_put(x.T)), x.T)
        check(lambda x: (jnp.exp(x) @ w, jax.nn.softmax(x), jnp.sort(x)), x, tolerance=1e-14)
        check(lambda x: (lax.cumsum(x, axis=1), jnp.argmax(x, 1), x.std()), x, tolerance=1e-14)
        check(lambda x: (x.astype(np.float16), x.astype(np.int64), x > 0), x * 100)
        check(lambda x: lax.bitcast_convert_type(x, np.uint32), x)
        check(lambda x: x.at[jnp.array([2, 0, 2])].add(1.5)[jnp.array([1, 2])], x, tolerance=1e-15)
        check(lambda x: lax.scan(lambda c, s: (jnp.tanh(c + s), c), x[0], x), x, tolerance=1e-14)
        check(jax.grad(lambda x: jnp.sum(jnp.sin(x @ w) ** 2)), x, tolerance=1e-13)
        check(jax.scipy.special.erf, x, tolerance=1e-14)


def factorizations_of_doubles_are_xlas_but_for_signs():
    with jax.enable_x64(True):
        x = X.astype(np.float64)
        square = x @ x.T + 4 * np.eye(4)
        check(lambda a: jnp.abs(jnp.linalg.qr(a)[0]), x, tolerance=1e-13)
        check(lambda a: (jnp.linalg.cholesky(a), jnp.linalg.inv(a)), square, tolerance=1e-13)
        check(lambda a: (jnp.linalg.eigvalsh(a), jnp.linalg.det(a)), square, tolerance=1e-12)
        check(jnp.fft.rfft, x, tolerance=1e-13)


def double_precision_draws_are_xlas():
    draw = jax.random.uniform
    with jax.enable_x64(True):
        check(lambda seed: draw(jax.random.key(seed), (6,), np.float64), 3, tolerance=0)


def complex_numbers_of_doubles_are_xlas():
    with jax.enable_x64(True):
        z = X + 1j * X[::-1].astype(np.float64)
        np.testing.assert_array_equal(np.asarray(jax.device_put(z.T)), z.T)
        check(lambda z: (jnp.exp(z) @ z.T.conj(), jnp.abs(z), jnp.angle(z)), z, tolerance=1e-14)
        check(lambda z: (jnp.sqrt(z), jnp.log(z), z / z[::-1], jnp.sort(z)), z, tolerance=1e-14)
        check(lambda z: (z.astype(np.complex64), z.real, z.sum()), z, tolerance=1e-14)


def complex_numbers_are_xlas():
    z = (X + 1j * X[::-1]).astype(np.complex64)
    np.testing.assert_array_equal(np.asarray(jax.device_put(z.T)), z.T)
    check(lambda z: (jnp.exp(z) @ z.T.conj(), jnp.abs(z), jnp.angle(z), jnp.sort(z)), z)
    check(jax.grad(lambda z: jnp.sum(jnp.abs(z * z))), z)
    check(lambda z: lax.scan(lambda c, s: (c * s, c + s), z[0], z), z)


def complex_matrices_have_xlas_inverses():
    z = (X + 1j * X[::-1]).astype(np.complex64)
    check(jnp.linalg.inv, z @ z.T.conj() + 4 * np.eye(4, dtype=np.complex64))


def factorizations_are_xlas_but_for_signs():
    check(lambda a: jnp.abs(jnp.linalg.qr(a)[1]), X, tolerance=1e-4)
    check(lambda a: jnp.linalg.eigvalsh(a @ a.T), X, tolerance=1e-4)


def triangular_systems_are_xlas():
    random = np.random.default_rng(7)
    # Three blocks, the last one not full.
    a = (random.standard_normal((150, 150)) * 0.1 + 3 * np.eye(150)).astype(np.float32)
    b = random.standard_normal((150, 20)).astype(np.float32)
    for left, lower, transposed in ((1, 1, 0), (1, 0, 1), (0, 1, 0), (0, 0, 1), (0, 1, 1)):
        check(
            lambda a, b, left=left, lower=lower, transposed=transposed: lax.linalg.triangular_solve(
                a, b, left_side=bool(left), lower=bool(lower), transpose_a=bool(transposed)
            ),
            a,
            b if left else b.T.copy(),
            tolerance=1e-4,
        )
    z = (X + 1j * X[::-1]).astype(np.complex64)
    hermitian = np.kron(np.eye(5), z @ z.T.conj() + 4 * np.eye(4)).astype(np.complex64)
    for matrix in (a @ a.T, hermitian):
        check(jnp.linalg.cholesky, matrix, tolerance=1e-4)
        check(lambda x: jnp.linalg.cholesky(x, upper=True), matrix, tolerance=1e-4)


def movements_of_many_elements_are_xlas():
    random = np.random.default_rng(9)
    x = random.standard_normal((6, 48, 80)).astype(np.float32)
    rows = random.integers(-60, 60, 70)
    for axes in ((0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1)):
        check(lambda x, axes=axes: jnp.tanh(x.transpose(axes)) + 1, x)
    check(lambda x, rows: x[0][rows] * 2, x, rows)
    check(lambda x, rows: x[:, :, :72].transpose(0, 2, 1)[:, rows], x, rows)
    check(lambda x: x + x[0] + x[:, :1, :] + x[0, 0, 0], x)
    check(lambda x: x[:, ::-1, 3:79].reshape(48, 6, 76), x)
    check(lambda x: (x[:, :, :24] + jnp.arange(24), jnp.flip(x, 2)), x)


def loops_on_elements_are_xlas():
    random = np.random.default_rng(8)
    rows = random.standard_normal((20, 4, 8)).astype(np.float32)

    def decay(carry, row):
        carry = 0.9 * carry + jnp.tanh(row) * 0.1
        return carry, carry * 2

    def scan(x, *, reverse=False):
        return lax.scan(decay, jnp.zeros((4, 8)), x, reverse=reverse)

    def repeat(count, turn):
        return lambda *state: lax.fori_loop(1, count, turn, state if len(state) > 1 else state[0])

    check(scan, rows)
    check(lambda x: scan(x, reverse=True), rows)
    check(jax.grad(lambda x: (scan(x)[1] ** 2).sum()), rows)
    check(jax.vmap(lambda x: lax.scan(lambda c, a: (c * 0.5 + a, c), 0.0, x)), rows[:, :, 0])
    check(lambda x: lax.map(lambda row: jnp.sin(row) * 2, x), rows)
    check(lambda x: repeat(20, lambda i, s: s * 0.5 + x[i] - x[i - 1])(x[0]), rows)
    # Some rows are written, a row is written twice, elements and scalars are exchanged.
    check(repeat(9, lambda i, s: (s[0].at[i].set(s[1]), s[1] * 0.9 + s[1][0])), rows, rows[0])
    check(repeat(9, lambda i, s: (s[0].at[i // 2].set(s[1]), s[1] * 0.9)), rows, rows[0])
    check(repeat(8, lambda i, s: (s[1], s[0] + i)), rows, rows * 2)
    check(repeat(20, lambda i, s: (s[0] * 1.01 + s[1], s[1] + 0.5)), rows, np.float32(1))
    # Elements of other places, and a sum of all elements.
    check(repeat(5, lambda i, s: jnp.roll(s, 1, -1) * 0.9), rows)
    check(repeat(5, lambda i, s: (s[0] * s[1], s[0].mean())), rows, np.float32(1))
    check(
        repeat(9, lambda i, s: (s * 1103515245 + 12345) ^ (s >> 3)), np.arange(50, dtype=np.uint32)
    )
    check(repeat(3, lambda i, s: s + 1), np.zeros((0, 3), np.float32))


def systems_of_equations_are_xlas():
    random = np.random.default_rng(5)
    # Two panels, the second one not full.
    a = (random.standard_normal((150, 150)) + 12 * np.eye(150)).astype(np.float32)
    b = random.standard_normal((150, 3)).astype(np.float32)
    check(jnp.linalg.solve, a, b, tolerance=1e-4)
    check(lambda a: jax.lax.linalg.lu(a)[1:], random.standard_normal((2, 140, 150)))
    small = (X @ X.T + 4 * np.eye(len(X))).astype(np.float32)
    check(jnp.linalg.slogdet, small, tolerance=1e-4)
    check(jax.grad(lambda a: jnp.linalg.solve(a, X).sum()), small, tolerance=1e-4)


def pseudo_inverses_are_xlas():
    # JAX computes singular values from eigenvalues here.
    check(jnp.linalg.pinv, X, tolerance=1e-4)


def threads_get_separate_results():
    step = jax.jit(lambda x, factor: jnp.sin(x) * factor @ x.T)
    found = [None] * 6

    def work(number):
        for _ in range(10):
            found[number] = np.asarray(step(X, float(number)))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(found))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for number, each in enumerate(found):
        np.testing.assert_allclose(each, np.sin(X) @ X.T * number, atol=1e-5)


def devices_arrays_and_programs_have_their_properties():
    (device,) = jax.devices()
    (memory,) = device.addressable_memories()
    assert device.default_memory() == memory
    assert memory.kind == "device"
    assert "metalbench" in device.client.platform_version
    assert "cpu" in repr(device)
    array = jnp.ones(3)
    assert array.on_device_size_in_bytes() == 12
    assert array.unsafe_buffer_pointer() > 0
    compiled = jax.jit(lambda x: x @ x.T).lower(X).compile()
    assert "f32[4,8]" in compiled.as_text()
    with pytest.raises(BufferError, match="platform"):
        jax.dlpack.from_dlpack(array)


def programs_report_their_costs_and_memory():
    compiled = jax.jit(lambda x, w: jnp.exp(x @ w)).lower(X, W).compile()
    arguments, result = X.nbytes + W.nbytes, 4 * 3 * 4
    assert compiled.cost_analysis() == {
        "flops": 2 * 4 * 3 * 8,
        "transcendentals": 4 * 3,
        "bytes accessed": arguments + result,
    }
    memory = compiled.memory_analysis()
    assert (memory.argument_size_in_bytes, memory.output_size_in_bytes) == (arguments, result)
    assert (memory.temp_size_in_bytes, memory.peak_memory_in_bytes) == (0, arguments + result)
    two = jax.jit(lambda x: jnp.sort(jnp.sort(x, 0) @ x.T, 1)).lower(X).compile().memory_analysis()
    assert two.temp_size_in_bytes >= X.nbytes
    state = jax.ShapeDtypeStruct((64, 4), np.float32)
    row = jax.ShapeDtypeStruct((1, 4), np.float32)
    changed = jax.jit(update, donate_argnums=0).lower(state, row, 3).compile().memory_analysis()
    assert changed.alias_size_in_bytes == 64 * 4 * 4


def hosts_read_arrays_without_a_copy():
    array = jax.jit(lambda x: x + 1)(X)
    seen = np.asarray(array)
    assert seen.ctypes.data == array.unsafe_buffer_pointer()
    assert not seen.flags.writeable
    assert memoryview(array).shape == X.shape
    np.testing.assert_array_equal(np.array(mx.array(array)), X + 1)
    for kind in ("bool", "bfloat16", "int4", "complex64"):
        given = np.asarray([0, 1, 3]).astype(kind)
        assert np.asarray(jnp.asarray(given)).tolist() == given.tolist()


def hosts_keep_the_elements_of_deleted_and_donated_arrays():
    row = np.ones((1, 4), np.float32)
    given = jax.device_put(np.zeros((64, 4), np.float32))
    seen = np.asarray(given)
    changed = jax.jit(update, donate_argnums=0)(given, row, 3)
    assert given.is_deleted()
    assert (seen.sum(), np.asarray(changed).sum()) == (0, 4)
    seen = np.asarray(changed)
    changed.delete()
    del changed
    # New arrays of the same size must not take the memory.
    others = [jax.device_put(np.full((64, 4), number, np.float32)) for number in range(1, 8)]
    assert seen.sum() == 4
    assert len(others) == 7


def arrays_of_other_libraries_are_copied_to_the_device():
    there = jax.dlpack.from_dlpack(X, device=jax.devices()[0])
    assert there.devices() == {jax.devices()[0]}
    np.testing.assert_array_equal(there, X)
    np.testing.assert_array_equal(jnp.asarray(mx.array(X)), X)


def programs_are_serialised_and_loaded():
    from jax.experimental import serialize_executable

    compiled = jax.jit(lambda x: x * 3).lower(X).compile()
    loaded = serialize_executable.deserialize_and_load(*serialize_executable.serialize(compiled))
    np.testing.assert_array_equal(np.asarray(loaded(jnp.asarray(X))), X * 3)


def a_perceptron_trains_as_under_xla():
    images = np.random.default_rng(2).standard_normal((16, 12)).astype(np.float32)
    labels = np.random.default_rng(3).integers(0, 4, 16)

    def loss(weights):
        hidden = jax.nn.relu(images @ weights[0])
        return -jnp.mean(jax.nn.log_softmax(hidden @ weights[1])[jnp.arange(16), labels])

    @jax.jit
    def step(weights):
        value, gradient = jax.value_and_grad(loss)(weights)
        return jax.tree.map(lambda w, g: w - 0.5 * g, weights, gradient), value

    def losses(device):
        random = np.random.default_rng(4)
        shapes = ((12, 10), (10, 4))
        weights = [random.standard_normal(shape).astype(np.float32) * 0.3 for shape in shapes]
        found = []
        with jax.default_device(device):
            for _ in range(20):
                weights, value = step(weights)
                found.append(float(value))
        return found

    found = losses(jax.devices()[0])
    np.testing.assert_allclose(found, losses(CPU), rtol=1e-5)
    assert found[-1] < found[0] / 2


def outcome(function):
    """Return the failure of a function as text, or None."""
    try:
        function()
    except BaseException:
        return traceback.format_exc()
    return None


if __name__ == "__main__":
    for each in sys.argv[1:]:
        print(json.dumps([each, outcome(globals()[each])]), flush=True)
