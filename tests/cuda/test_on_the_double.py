"""The cuda device over a double of NVIDIA's driver."""

from __future__ import annotations

import sys

import pytest
from cuda_double.running import run_python

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"),
    reason="NVIDIA's driver is for Linux, and so is its double",
)

# A process in which nothing else has used the GPU.
FIRST_USE = """
import ctypes
import os

import pytest
from metalbench import _core

double = ctypes.CDLL(os.environ["CUDA_DOUBLE"])
made = lambda: double.cuda_double_calls(b"cuDevicePrimaryCtxRetain")
device = _core.open("cuda")
assert (device.kind, device.cores > 0, device.state() != {}) == ("cuda", True, True)
assert made() == 0
double.cuda_double_fail(b"cuDevicePrimaryCtxRetain", 0, 2)
with pytest.raises(_core.OutOfMemoryError, match="cannot make a context"):
    device.make_ready()
assert (device.lost, made()) == ("", 1)
device.make_ready()
device.allocate(64)
assert made() == 2
"""
# Programs of JAX: a chain of calls, a loop, and updates of a donated array; then a fault.
JAX = """
import ctypes
import os

import jax
import jax.numpy as jnp
import numpy as np

double = ctypes.CDLL(os.environ["CUDA_DOUBLE"])
copies = (b"cuMemcpyHtoDAsync_v2", b"cuMemcpyDtoHAsync_v2", b"cuMemcpyDtoDAsync_v2")
count = lambda: [double.cuda_double_calls(each) for each in copies]
step = jax.jit(lambda x: x * 2 + 1)
x = jax.block_until_ready(step(jnp.arange(8.0)))
before = count()
for _ in range(5):
    x = step(x)
jax.block_until_ready(x)
assert count() == before
assert np.asarray(x).tolist() == [64 * n + 63 for n in range(8)]
scan = jax.jit(lambda x: jax.lax.scan(lambda c, a: (c + a, c), x, jnp.ones((20, 8)))[1])
assert np.asarray(scan(jnp.zeros(8)))[:, 0].tolist() == list(range(20))
update = jax.jit(
    lambda cache, row, i: jax.lax.dynamic_update_slice(cache, row, (i, 0)), donate_argnums=0
)
cache = jax.device_put(np.zeros((64, 4), np.float32))
place = cache.unsafe_buffer_pointer()
for number in range(4):
    cache = update(cache, np.full((1, 4), number + 1, np.float32), number)
assert cache.unsafe_buffer_pointer() == place
assert np.asarray(cache)[:5, 0].tolist() == [1, 2, 3, 4, 0]
graphs = double.cuda_double_calls(b"cuGraphLaunch")
fill = jax.jit(
    lambda cache: jax.lax.fori_loop(
        0,
        100,
        lambda i, c: jax.lax.dynamic_update_slice(c, jnp.full((1, 4), i, jnp.float32), (i % 64, 0)),
        cache,
    ),
    donate_argnums=0,
)
cache = fill(cache)
assert double.cuda_double_calls(b"cuGraphLaunch") == graphs + 6
assert cache.unsafe_buffer_pointer() == place
assert np.asarray(cache)[:, 0].tolist() == [*range(64, 100), *range(36, 64)]
double.cuda_double_stick(700)
try:
    np.asarray(step(x))
except (ValueError, RuntimeError) as error:
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in str(error)
else:
    raise AssertionError("expected an error of the device")
"""
# Callbacks between kernels, in a loop and nested; their exceptions; Ctrl-C in a loop.
CALLBACKS = """
import os
import signal
import threading

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import io_callback

vector = jax.ShapeDtypeStruct((8,), np.float32)
seen = []

@jax.jit
def program(x):
    def body(number, x):
        io_callback(lambda n: seen.append(int(n)), None, number, ordered=True)
        return jax.pure_callback(np.cumsum, vector, x * 2) + 1

    return jax.lax.fori_loop(0, 3, body, x + 1)

expected = np.arange(8.0) + 1
for _ in range(3):
    expected = np.cumsum(expected * 2) + 1
for _ in range(2):
    np.testing.assert_array_equal(program(jnp.arange(8.0)), expected)
jax.effects_barrier()
assert seen == [0, 1, 2] * 2

def fail(x):
    raise LookupError("no such thing")

wrong = jax.jit(lambda x: jax.pure_callback(fail, vector, x + 1) * 2)
for _ in range(2):
    try:
        jax.block_until_ready(wrong(jnp.arange(8.0)))
    except (ValueError, RuntimeError) as error:
        assert "LookupError: no such thing" in str(error)
    else:
        raise AssertionError("expected the error of a callback")

signal.signal(signal.SIGINT, signal.default_int_handler)
begun = threading.Event()

@jax.jit
def endless(x):
    x = jax.pure_callback(lambda x: np.asarray(begun.set() or x), vector, x)
    return jax.lax.while_loop(lambda x: x.sum() > -1, lambda x: jnp.abs(jnp.sin(x)), x)

def interrupt():
    begun.wait(300)
    os.kill(os.getpid(), signal.SIGINT)

thread = threading.Thread(target=interrupt)
thread.start()
try:
    endless(jnp.arange(8.0))
except KeyboardInterrupt:
    np.testing.assert_array_equal(program(jnp.arange(8.0)), expected)
else:
    raise AssertionError("expected KeyboardInterrupt")
thread.join()
"""
FAULTS = "tests/cuda/device/test_faults.py"


@pytest.mark.parametrize(
    "selected",
    [
        ("tests/cuda/device", f"--ignore={FAULTS}"),
        (f"{FAULTS}", "-k", "wild_store"),
        (f"{FAULTS}", "-k", "endless_kernel"),
        (f"{FAULTS}", "-k", "of_a_queue"),
        (f"{FAULTS}", "-k", "of_a_graph"),
    ],
)
def test_the_device_on_the_double(selected):
    options = ["-p", "no:cacheprovider", "-n0", "-q"]
    answer = run_python("-m", "pytest", *options, *selected)
    if answer.returncode != 0:
        pytest.fail(answer.stdout, pytrace=False)


def test_a_gpu_is_listed_after_the_cpu_device():
    answer = run_python("-c", "from metalbench import _core; print(_core.devices())")
    assert answer.stdout.strip() == "['cpu', 'cuda']"


def test_a_gpu_can_be_left_out():
    program = (
        "from metalbench import _core\nprint(_core.devices())\n"
        "try: _core.open('cuda')\nexcept _core.Unsupported as error: print(error)"
    )
    answer = run_python("-c", program, METALBENCH_DEVICES="cpu")
    assert answer.stdout.splitlines() == [
        "['cpu']",
        "cuda: left out by METALBENCH_DEVICES=cpu; unset it, or use the `cpu` device",
    ]


def test_a_driver_without_a_gpu_says_so():
    program = (
        "from metalbench import _core\n"
        "try: _core.open('cuda')\nexcept _core.Unsupported as error: print(error)"
    )
    answer = run_python("-c", program, CUDA_DOUBLE_NO_GPU="1")
    assert answer.stdout.strip() == ("cuda: NVIDIA's driver sees no GPU; use the `cpu` device")


CHIPS = {
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA A100-SXM4-40GB": "a100",
    "NVIDIA GeForce RTX 4070 Ti SUPER": "rtx_4070_ti_super",
    "NVIDIA RTX PRO 6000 Blackwell Server Edition": "rtx_pro_6000",
    "NVIDIA Graphics Device": None,
}


@pytest.mark.parametrize(("name", "chip"), CHIPS.items(), ids=str)
def test_the_chip_is_read_from_the_name(name, chip):
    program = "from metalbench import _core; print(_core.open('cuda').chip)"
    assert run_python("-c", program, CUDA_DOUBLE_NAME=name).stdout.strip() == str(chip)


def test_a_kernel_has_the_defaults_of_its_gpu(tmp_path):
    command = ("-m", "metalbench", "show", "cumsum", "--device", "cuda", "--no-source")
    said = run_python(*command, "--db", str(tmp_path / "store.db")).stdout
    assert "Defaults on cuda: TG = 128, QUADS = 1" in said


def test_the_context_is_made_at_the_first_use():
    answer = run_python("-c", FIRST_USE)
    if answer.returncode != 0:
        pytest.fail(answer.stdout, pytrace=False)


def test_jax_keeps_arrays_on_the_gpu():
    pytest.importorskip("jax")
    answer = run_python("-c", JAX, JAX_PLATFORMS="metalbench", METALBENCH_JAX_DEVICE="cuda")
    if answer.returncode != 0:
        pytest.fail(answer.stdout, pytrace=False)


def test_callbacks_of_jax_run_between_kernels_of_the_gpu():
    pytest.importorskip("jax")
    platforms = {"JAX_PLATFORMS": "metalbench,cpu", "METALBENCH_JAX_DEVICE": "cuda"}
    answer = run_python("-c", CALLBACKS, **platforms)
    if answer.returncode != 0:
        pytest.fail(answer.stdout, pytrace=False)
