"""Devices that MLX reports within `patched_mlx`."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn

from metalbench.mlx import simulation

pytestmark = pytest.mark.usefixtures("patched")


@pytest.mark.parametrize(
    "expression",
    [
        "mx.default_device() == mx.gpu",
        "mx.gpu == mx.default_device()",
        "mx.default_device() == mx.Device(mx.gpu)",
        "mx.Device(mx.gpu, 0) == mx.default_device()",
        "mx.default_device() == mx.DeviceType.gpu",
        "mx.DeviceType.gpu == mx.default_device()",
        "mx.default_device() != mx.cpu",
        "mx.cpu != mx.default_device()",
        "mx.default_device() != mx.Device(mx.cpu)",
        "mx.Device(mx.cpu) != mx.default_device()",
        "not mx.default_device() != mx.gpu",
        "not mx.default_device() == mx.cpu",
        "mx.default_device() != 'gpu'",
        "mx.default_device().type == mx.gpu",
        "mx.default_device().type is mx.DeviceType.gpu",
        "mx.default_device().type.name == 'gpu'",
        "mx.default_device().type != mx.cpu",
        "mx.default_device().type in {mx.gpu: 'GPU'}",
        "mx.default_device() in (mx.gpu,)",
        "str(mx.default_device()) == 'Device(gpu, 0)'",
        "isinstance(mx.default_device(), mx.Device)",
        "isinstance(mx.Device(mx.cpu), mx.Device)",
        "mx.Device(mx.cpu).type == mx.cpu",
        "mx.is_available(mx.gpu)",
        "mx.is_available(mx.DeviceType.gpu)",
        "mx.is_available(mx.cpu)",
        "mx.device_count(mx.gpu) == 1",
        "mx.device_count(mx.cpu) == 1",
        "mx.metal.is_available()",
        "not mx.cuda.is_available()",
        "0 < mx.device_info()['max_recommended_working_set_size'] < 2**50",
        "mx.device_info() == mx.device_info(mx.gpu) == mx.metal.device_info()",
        "int(mx.device_info()['architecture'][-3:-1]) == 13",
        "'memory_size' not in mx.device_info(mx.cpu)",
    ],
)
def test_questions(expression):
    assert eval(expression, {"mx": mx})


def test_streams_of_the_gpu_exist():
    x = mx.array([1.0, 2.0])
    for gpu in (mx.gpu, mx.Device(mx.gpu), mx.DeviceType.gpu, mx.default_device()):
        for stream in (mx.default_stream(gpu), mx.new_stream(gpu)):
            assert mx.add(x, x, stream=stream).tolist() == [2, 4]
            mx.synchronize(stream)
        with mx.stream(gpu):
            assert (x * 3).tolist() == [3, 6]
    assert mx.add(x, x, stream=mx.gpu).tolist() == [2, 4]


def test_the_default_device_is_that_of_user_code():
    with mx.stream(mx.cpu):
        assert mx.default_device() == mx.cpu
        with mx.stream(mx.gpu):
            assert mx.default_device() == mx.gpu
        with mx.stream(mx.new_stream(mx.default_device())):
            assert mx.default_device() == mx.cpu
    assert mx.default_device() == mx.gpu
    mx.set_default_device(mx.cpu)
    assert mx.default_device().type == mx.cpu
    assert "memory_size" not in mx.device_info()
    with pytest.raises(ZeroDivisionError), mx.stream(mx.gpu):
        raise ZeroDivisionError
    assert mx.default_device() == mx.Device(mx.cpu)
    mx.set_default_device(mx.Device(mx.gpu))
    assert mx.default_device() == mx.gpu


def test_an_invalid_device_is_refused_as_by_mlx():
    for function in (mx.stream, mx.set_default_device, mx.new_stream):
        with pytest.raises(TypeError), function("gpu") or mx.stream(mx.cpu):
            pass


def test_code_of_mlx_that_prefers_a_gpu_works():
    logits = mx.random.normal((4, 50), key=mx.random.key(0))
    targets = mx.array([3, 1, 4, 1])
    loss = nn.losses.cross_entropy(logits, targets)
    x = np.array(logits, np.float64)
    expected = np.log(np.exp(x).sum(axis=1)) - x[np.arange(4), np.array(targets)]
    np.testing.assert_allclose(np.array(loss), expected, rtol=1e-5)


def test_a_real_gpu_of_mlx_is_kept(monkeypatch):
    """With CUDA only Metal is missing."""
    gpu, default_device = mx.gpu, mx.default_device
    monkeypatch.setattr(mx, "is_available", lambda device: True)
    monkeypatch.setattr(mx.metal, "is_available", lambda: False)
    with simulation.simulate_gpu():
        assert mx.metal.is_available()
        assert mx.gpu is gpu
        assert mx.default_device is default_device
    assert not mx.metal.is_available()
