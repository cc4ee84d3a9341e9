"""Functions of the library's headers, against float64 and against published values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.special

from metalbench import _core
from metalbench.kernel.source_files import include_folders

Array = np.ndarray
GAUSS = np.random.Generator(np.random.Philox(7)).standard_normal(20_000)
# Plain values, those near zero, and those so large that exp overflows; not subnormal results.
X = np.concatenate([GAUSS, 1e-3 * GAUSS, 10 * GAUSS, np.linspace(-85, 85, 40_000)])
X = X.astype(np.float32)


def selu(x: Array) -> Array:
    alpha, scale = 1.6732632423543772, 1.0507009873554805
    return scale * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


# What may be 0 instead: a GPU flushes subnormal numbers, and with them what they are factors of.
FLUSHED = 1e-37

# The function, and how many ulps of the result it may err. Those that only select and limit are
# exact, as is each operation that the others consist of.
ACTIVATIONS: dict[str, tuple[Callable[[Array], Array], float]] = {
    "Identity()": (lambda x: x, 0),
    "Relu()": (lambda x: np.maximum(x, 0), 0),
    "LeakyRelu{0.25f}": (lambda x: np.where(x > 0, x, x / 4), 0),
    "Clip{-0.5f, 2.0f}": (lambda x: np.clip(x, -0.5, 2), 0),
    "HardTanh()": (lambda x: np.clip(x, -1, 1), 0),
    "HardSigmoid()": (lambda x: np.clip((x + 3) / 6, 0, 1), 2),
    "HardSwish()": (lambda x: x * np.clip((x + 3) / 6, 0, 1), 3),
    "Sigmoid()": (scipy.special.expit, 3),
    "Silu()": (lambda x: x * scipy.special.expit(x), 4),
    # Where it is next to nothing the exponent is large, and so are its own roundings.
    "GeluTanh()": (
        lambda x: x * scipy.special.expit(np.sqrt(8 / np.pi) * (x + 0.044715 * x**3)),
        200,
    ),
    "Gelu()": (lambda x: x * scipy.special.ndtr(x), 6),
    "Elu{1.0f}": (lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), 2),
    "Selu()": (selu, 3),
    "Softplus()": (lambda x: np.logaddexp(0, x), 4),
    "LogSigmoid()": (scipy.special.log_expit, 4),
    "Mish()": (lambda x: x * np.tanh(np.logaddexp(0, x)), 5),
    "Softsign()": (lambda x: x / (1 + np.abs(x)), 2),
    "Tanh()": (np.tanh, 3),
}


def evaluated(
    expression: str, x: Array, result: str = "float", header: str = "activations"
) -> Array:
    """`expression` of every `x` (of type `result`), with everything in `header` at hand."""
    source = f"""
        #include "metalbench/{header}.h"
        using namespace metal;
        using namespace metalbench;
        kernel void evaluate(device const {result}* in, device {result}* out,
                             uint i [[thread_position_in_grid]]) {{
          const {result} x = in[i];
          out[i] = {expression};
        }}"""
    device = _core.open()
    library = device.compile(source, include_dirs=include_folders(), fast_math=False)
    out = np.zeros_like(x)
    grid = (len(x), 1, 1)
    dispatch = _core.Dispatch(
        library.pipeline(), {"in": x, "out": out}, threads_in_grid=grid, threads=(64, 1, 1)
    )
    device.run([dispatch])
    return out


@pytest.mark.parametrize("activation", ACTIVATIONS)
class TestActivation:
    def test_errs_by_a_few_roundings(self, activation: str) -> None:
        function, most_ulps = ACTIVATIONS[activation]
        expected = function(X.astype(np.float64))
        error = np.abs(evaluated(f"{activation}(x)", X) - expected)
        ulp = np.spacing(np.maximum(np.abs(expected), 2.0**-126).astype(np.float32))
        worst = np.argmax(error / ulp)
        assert error[worst] <= most_ulps * ulp[worst] + FLUSHED, X[worst]

    def test_is_the_same_on_vectors(self, activation: str) -> None:
        one = evaluated(f"{activation}(x)", X)
        four = evaluated(f"{activation}(x)", X.reshape(-1, 4), "float4")
        assert four.reshape(-1).tobytes() == one.tobytes()

    def test_keeps_nan_and_ends_in_its_limits(self, activation: str) -> None:
        x = np.array([np.nan, 1000, -1000, np.inf], np.float32)
        got = evaluated(f"{activation}(x)", x)
        with np.errstate(invalid="ignore"):
            expected = ACTIVATIONS[activation][0](x.astype(np.float64))
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-30)


def test_philox_agrees_with_published_values() -> None:
    """Known answers of philox4x32-10 in Random123's kat_vectors."""
    pi = [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344]
    counters = np.array([[0] * 4, [0xFFFFFFFF] * 4, pi], np.uint32)
    key = "x.x != x.y ? uint2(0xa4093822, 0x299f31d0) : x.xy"
    got = evaluated(f"philox(x, {key})", counters, "uint4", "philox")
    assert [[f"{word:08x}" for word in words] for words in got] == [
        ["6627e8d5", "e169c58d", "bc57ac4c", "9b00dbd8"],
        ["408f276d", "41c83b0e", "a20bc7c6", "6d5451fd"],
        ["d16cfe09", "94fdcceb", "5001e420", "24126ea1"],
    ]
