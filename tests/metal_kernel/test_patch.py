"""`patch_mlx` and `patched_mlx`: what is patched, by which options, and that nothing stays."""

from __future__ import annotations

import inspect
import subprocess
import sys
from itertools import permutations
from threading import Barrier, Thread

import mlx.core as mx
import numpy as np
import pytest

import metalbench
from metalbench import metal_kernel, patch_mlx, patched_mlx
from metalbench.errors import DeclarationError, Unsupported
from metalbench.mlx import kernel as mlx_kernel

DOUBLE = "uint i = thread_position_in_grid.x; y[i] = 2 * x[i];"


def attributes() -> dict:
    """Everything that a patch might leave changed."""
    places = (mx, mx.fast, mx.metal, mx.DeviceType, mx.Device)
    return {(each.__name__, name): value for each in places for name, value in vars(each).items()}


def differences(one: dict, other: dict) -> set:
    return {key for key in one.keys() | other.keys() if one.get(key) is not other.get(key)}


def compiles() -> bool:
    """Return whether MLX compiles: a compiled function's own code does not run in every call."""
    calls = []

    def function(x):
        calls.append(x)
        return x + 1

    compiled = mx.compile(function)
    for number in range(4):
        compiled(mx.array(number))
    return len(calls) < 4


def double(x):
    kernel = mx.fast.metal_kernel(
        name="double", input_names=["x"], output_names=["y"], source=DOUBLE
    )
    (y,) = kernel(
        inputs=[x],
        grid=(x.size, 1, 1),
        threadgroup=(32, 1, 1),
        output_shapes=[x.shape],
        output_dtypes=[x.dtype],
    )
    return y


@pytest.fixture(autouse=True)
def _nothing_stays():
    before = attributes()
    assert compiles()
    yield
    assert differences(attributes(), before) == set()
    assert compiles()


def test_the_names_are_the_packages_own():
    assert {"patch_mlx", "patched_mlx"} <= set(metalbench.__all__)
    assert metalbench.patch_mlx is metalbench.mlx.patch_mlx


def test_a_kernel_of_mlxs_runs():
    x = mx.arange(40, dtype=mx.float32)
    with patched_mlx():
        assert mx.metal.is_available()
        np.testing.assert_array_equal(np.array(double(x)), 2 * np.arange(40))
    with pytest.raises(Exception, match=r"GPU|gpu|Metal"):
        mx.eval(double(x))


def test_patch_mlx_works_in_a_script():
    script = f"""
import metalbench; metalbench.patch_mlx()
import mlx.core as mx
kernel = mx.fast.metal_kernel("f", ["x"], ["y"], {DOUBLE!r})
print(mx.compile(lambda x: kernel(inputs=[x], grid=(3, 1, 1), threadgroup=(3, 1, 1),
    output_shapes=[(3,)], output_dtypes=[mx.int32])[0])(mx.array([1, 2, 3])).tolist())
"""
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (answer.stdout, answer.stderr) == ("[2, 4, 6]\n", "")


def test_kernels_outlive_the_patch():
    with patched_mlx():
        kernel = mx.fast.metal_kernel("f", ["x"], ["y"], "y[0] = x;")
    (y,) = kernel(
        inputs=[3],
        grid=(1, 1, 1),
        threadgroup=(1, 1, 1),
        output_shapes=[(1,)],
        output_dtypes=["int8"],
    )
    assert y.tolist() == [3]


def test_maps_keep_the_patch_state_of_their_creation():
    kernel = metal_kernel("double", ["x"], ["y"], DOUBLE)
    options = {"grid": (2, 1, 1), "threadgroup": (2, 1, 1), "output_shapes": [(2,)]}

    def function(x):
        return kernel(inputs=[x], output_dtypes=[x.dtype], **options)[0]

    x = mx.array([[1.0, 2.0], [3.0, 4.0]])
    before = mx.vmap(function)
    with patched_mlx():
        within = mx.vmap(function)
        with pytest.raises(Unsupported, match=r"call metalbench\.patch_mlx\(\) before mx\.vmap"):
            before(x)
    assert within(x).tolist() == [[2, 4], [6, 8]]


def test_the_patch_accepts_all_arguments_of_mlx():
    names = list(inspect.signature(metal_kernel).parameters)
    with patched_mlx():
        assert list(inspect.signature(mx.fast.metal_kernel).parameters) == names
        assert mx.fast.metal_kernel.__doc__ == metal_kernel.__doc__
    assert names[:8] == [
        *("name", "input_names", "output_names", "source", "header"),
        *("ensure_row_contiguous", "atomic_outputs", "compile_options"),
    ]


def test_patches_nest():
    with patched_mlx():
        inside = attributes()
        with patched_mlx():
            assert differences(attributes(), inside) == set()
        assert differences(attributes(), inside) == set()
        assert mx.default_device() == mx.gpu


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_of_undoing_does_not_matter(order):
    undos = [patch_mlx() for _ in range(3)]
    for number in order:
        assert mx.metal.is_available()
        assert not compiles()
        undos[number]()
        undos[number]()  # twice is once


def test_the_patch_ends_after_an_error():
    with pytest.raises(KeyError), patched_mlx():
        raise KeyError


def test_a_decorator():
    @patched_mlx()
    def on_gpu():
        return mx.default_device() == mx.gpu

    assert on_gpu()
    assert on_gpu()
    assert mx.default_device() != mx.gpu


def test_the_last_patch_has_the_options():
    def options():
        kernel = mx.fast.metal_kernel("f", ["x"], ["y"], DOUBLE)
        return kernel.checked, kernel.time_limit

    with patched_mlx(time_limit=5):
        assert options() == (False, 5)
        with patched_mlx(checked=True):
            assert options() == (True, 60)
            # What the code says itself counts.
            assert not mx.fast.metal_kernel("f", ["x"], ["y"], DOUBLE, checked=False).checked
        assert options() == (False, 5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"device": "gpu"}, r"\[patch_mlx\] unknown device 'gpu'; did you mean 'cpu'\?"),
        ({"device": "mlx", "checked": True}, r"\[patch_mlx\] checked: MLX has no checked builds"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(DeclarationError, match=message):
        patch_mlx(**options)


def test_the_patch_holds_in_all_threads():
    together = Barrier(4, timeout=60)
    found = []

    def work(number):
        with patched_mlx():
            together.wait()
            x = mx.full((10,), number, mx.float32)
            found.append((number, double(x).tolist(), mx.metal.is_available()))

    threads = [Thread(target=work, args=[number]) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(found) == [(number, [2 * number] * 10, True) for number in range(4)]


def test_on_a_mac_only_the_function_is_another(monkeypatch):
    def recorder(**options):
        return lambda **options: [2 * options["inputs"][0]]

    monkeypatch.setattr(mlx_kernel, "MLX_METAL_KERNEL", recorder)
    monkeypatch.setattr(mlx_kernel, "_METAL_IS_AVAILABLE", lambda: True)
    before = attributes()
    with patched_mlx():
        assert differences(attributes(), before) == {("mlx.core.fast", "metal_kernel")}
        assert compiles()
        # MLX's own kernels are part of a graph.
        assert mx.compile(double)(mx.ones(3)).tolist() == [2, 2, 2]
        with patched_mlx(checked=True):
            assert not compiles()
            assert double(mx.ones(9)).tolist() == [2] * 9
        assert compiles()
