"""Fourier and Hadamard transforms against NumPy in float64."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from mlx_kernels import rows as r
from mlx_kernels.bench import Bench, Outcome, check, compare, random, zeros
from mlx_kernels.family import FLOATS, of

RADICES = (13, 11, 8, 7, 6, 5, 4, 3, 2)


def _plan(steps: dict[int, int], first: int = 4) -> dict[int, int]:
    """Function constants that say how often each radix is used."""
    return {first + RADICES.index(radix): count for radix, count in steps.items()}


@check(r.FFT)
def fft(bench: Bench) -> Iterator[Outcome]:
    cases = (
        (256, {4: 4}, 4, True),
        (60, {6: 1, 5: 1, 2: 1}, 5, False),
        (77, {11: 1, 7: 1}, 7, False),
    )
    instance = of("fft", 256, "float2", "float2")
    for size, steps, each, power in cases:
        batch, group = 10, max(256 // size, 1)
        x, out = random((batch, size), "complex64_t"), zeros((batch, size), "complex64_t")
        for inverse in (False, True):
            constants = {0: inverse, 1: power, 2: each, 3: size, **_plan(steps)}
            arguments = [x.view(np.float32), out.view(np.float32), np.int32(size), np.int32(batch)]
            width = -(-size // each)
            bench.run(
                r.FFT,
                instance,
                arguments,
                grid=(-(-batch // group), group, width),
                threads=(1, group, width),
                constants=constants,
            )
            want = (np.fft.ifft if inverse else np.fft.fft)(x.astype(np.complex128))
            yield compare(instance, out, want, "float", 32)


@check(r.FFT)
def rader_fft(bench: Bench) -> Iterator[Outcome]:
    # A whole group of transforms: the kernel reads and writes past the end of a partial one.
    size, batch, root = 17, 15, 3
    powers = np.array([pow(root, i, size) for i in range(size - 1)])
    inverses = np.array([pow(root, -i, size) for i in range(size - 1)])
    factors = np.fft.fft(np.exp(-2j * np.pi * inverses / size)).astype(np.complex64)
    x, out = random((batch, size), "complex64_t"), zeros((batch, size), "complex64_t")
    group, each = 15, 4
    width = -(-size // each)
    constants = {1: False, 2: each, 3: 1, **_plan({4: 2}, 13)}
    instance = of("rader_fft", 256, "float2", "float2")
    arguments = [x.view(np.float32), out.view(np.float32), factors.view(np.float32)]
    arguments += [powers.astype(np.int16), inverses.astype(np.int16)]
    arguments += [np.int32(size), np.int32(batch), np.int32(size)]
    bench.run(
        r.FFT, instance, arguments, grid=(1, group, width), threads=(1, group, width),
        constants=constants,
    )  # fmt: skip
    yield compare(instance, out, np.fft.fft(x.astype(np.complex128)), "float", 64)


@check(r.FFT)
def bluestein_fft(bench: Bench) -> Iterator[Outcome]:
    size, padded, batch = 199, 512, 3
    steps = np.arange(-size + 1, size).astype(np.float64) ** 2 * np.pi / size
    wave = np.zeros(padded, np.complex128)
    wave[: 2 * size - 1] = np.exp(1j * steps)
    w_q = np.fft.fft(wave.astype(np.complex64)).astype(np.complex64)
    w_k = np.exp(-1j * steps[size - 1 :]).astype(np.complex64)
    x, out = random((batch, size), "complex64_t"), zeros((batch, size), "complex64_t")
    width = padded // 8
    instance = of("bluestein_fft", 512, "float2", "float2")
    arguments = [part.view(np.float32) for part in (x, out, w_q, w_k)]
    arguments += [np.int32(size), np.int32(padded), np.int32(batch)]
    bench.run(
        r.FFT, instance, arguments, grid=(batch, 1, width), threads=(1, 1, width),
        constants={1: True, 2: 8, 3: size, **_plan({8: 3})},
    )  # fmt: skip
    yield compare(instance, out, np.fft.fft(x.astype(np.complex128)), "float", 64)


def _hadamard(size: int) -> np.ndarray:
    made = np.ones((1, 1))
    while len(made) < size:
        made = np.block([[made, made], [made, -made]])
    return made


@check(r.HADAMARD)
def hadamard(bench: Bench) -> Iterator[Outcome]:
    ulp = {"float": 16, "half": 4, "bfloat16_t": 4}
    for kind in FLOATS:
        x, out = random((5, 64), kind), zeros((5, 64), kind)
        instance = of("hadamard_n", kind, 64, 16, 4)
        bench.run(r.HADAMARD, instance, [x, out, np.float32(0.125)], grid=(4, 5), threads=4)
        yield compare(instance, out, x.astype(np.float64) @ _hadamard(64) / 8, kind, ulp[kind])
    x, out = random((2, 2048)), zeros((2, 2048))
    instance = of("hadamard_n", "float", 2048, 16, 4)
    bench.run(r.HADAMARD, instance, [x, out, np.float32(1)], grid=(128, 2), threads=128)
    yield compare(instance, out, x.astype(np.float64) @ _hadamard(2048), "float", 16)
    x, out = random((3, 12 * 64)), zeros((3, 12 * 64))
    matrix = np.array([[1 if sign == "+" else -1 for sign in row] for row in r.HADAMARD_12])
    instance = of("hadamard_m", "float", 64, 12, 4)
    bench.run(r.HADAMARD, instance, [x, out, np.float32(0.5)], grid=(16, 3), threads=16)
    want = matrix @ x.reshape(3, 12, 64).astype(np.float64) / 2
    yield compare(instance, out, want.reshape(3, -1), "float", 16)
