"""Fourier transforms of all kinds and lengths, against NumPy in double precision."""

from __future__ import annotations

import numpy as np
import pytest

from metalbench import hlo
from metalbench.hlo.passes.fourier import compute_roots, factorize_length

KINDS = {"FFT": np.fft.fftn, "IFFT": np.fft.ifftn, "RFFT": np.fft.rfftn, "IRFFT": np.fft.irfftn}


def shapes(kind, batch, lengths):
    """Return the shapes of operand and result of a transform, and whether each is complex."""
    whole, half = (*batch, *lengths), (*batch, *lengths[:-1], lengths[-1] // 2 + 1)
    taken = (half, True) if kind == "IRFFT" else (whole, kind != "RFFT")
    given = (half, True) if kind == "RFFT" else (whole, kind != "IRFFT")
    return taken, given


def tensor(shape, is_complex):
    return f"tensor<{''.join(f'{each}x' for each in shape)}{'complex<f32>' * is_complex or 'f32'}>"


def error(kind, lengths, batch=(3,), level=2):
    """Return the relative root-mean-square error of a random line's transform."""
    taken, given = shapes(kind, batch, lengths)
    text = f"""func.func @main(%x: {tensor(*taken)}) -> {tensor(*given)} {{
      %y = stablehlo.fft %x, type = {kind}, length = {list(lengths)}
        : ({tensor(*taken)}) -> {tensor(*given)}
      return %y : {tensor(*given)}
    }}"""
    numbers = np.random.default_rng(sum(lengths)).standard_normal((*taken[0], 2))
    x = numbers.astype(np.float32).view(np.complex64)[..., 0]
    x = x if taken[1] else x.real.copy()
    (found,) = hlo.compile(text, device="cpu", level=level)(x)
    wide = x.astype(np.complex128 if taken[1] else np.float64)
    expected = KINDS[kind](wide, lengths, axes=range(len(batch), len(batch) + len(lengths)))
    assert (found.shape, found.dtype) == (given[0], np.complex64 if given[1] else np.float32)
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


# Powers of two, all small factors, a looped prime, a prime by a chirp, and the smallest length.
LENGTHS = {"FFT": [1, 128, 5 * 7 * 9, 13 * 17, 2 * 67], "RFFT": [1, 11], "IRFFT": [1, 2, 15]}


@pytest.mark.parametrize(
    ("kind", "length"), [(kind, length) for kind, some in LENGTHS.items() for length in some]
)
def test_lines_are_transformed_to_floats_precision(kind, length):
    assert error(kind, (length,)) < 3e-7


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(KINDS))
def test_any_length_is_transformed(kind):
    lengths = [*range(2, 130), 243, 257, 1000, 1009, 4096, 10007, 65536]
    errors = {length: error(kind, (length,)) for length in lengths}
    assert max(errors.values()) < 3e-7, errors


@pytest.mark.parametrize(
    ("kind", "level"), [*((kind, 2) for kind in KINDS), ("RFFT", 0), ("IRFFT", 0)]
)
def test_axes_are_transformed_together(kind, level):
    assert error(kind, (4, 3, 6), (2,), level) < 3e-7


def test_fft_of_an_empty_tensor_is_empty():
    text = """func.func @main(%x: tensor<0x8xcomplex<f32>>) -> tensor<0x8xcomplex<f32>> {
      %y = stablehlo.fft %x, type = FFT, length = [8]
        : (tensor<0x8xcomplex<f32>>) -> tensor<0x8xcomplex<f32>>
      return %y : tensor<0x8xcomplex<f32>>
    }"""
    (found,) = hlo.compile(text, device="cpu")(np.zeros((0, 8), np.complex64))
    assert found.shape == (0, 8)


def test_a_transform_of_computed_values_is_numpys():
    text = """func.func @main(%x: tensor<4x16xf32>) -> (tensor<4x16xf32>, tensor<4x16xf32>) {
      %two = stablehlo.add %x, %x : tensor<4x16xf32>
      %y = stablehlo.fft %two, type = RFFT, length = [16]
        : (tensor<4x16xf32>) -> tensor<4x9xcomplex<f32>>
      %z = stablehlo.multiply %y, %y : tensor<4x9xcomplex<f32>>
      %w = stablehlo.fft %z, type = IRFFT, length = [16]
        : (tensor<4x9xcomplex<f32>>) -> tensor<4x16xf32>
      return %w, %two : tensor<4x16xf32>, tensor<4x16xf32>
    }"""
    x = np.random.default_rng(0).standard_normal((4, 16)).astype(np.float32)
    found, twice = hlo.compile(text, device="cpu")(x)
    expected = np.fft.irfft(np.fft.rfft(2.0 * x.astype(np.float64)) ** 2)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_array_equal(twice, 2 * x)


@pytest.mark.parametrize(
    ("length", "expected"),
    [(8, [8]), (16, [4, 4]), (1024, [8, 8, 4, 4]), (360, [8, 5, 3, 3]), (122, [2, 61]), (67, None)],
)
def test_radices_of_a_length_fit_into_registers(length, expected):
    assert factorize_length(length) == expected


def test_roots_of_unity_are_exact_to_double_precision():
    found = compute_roots(12, backwards=False)
    np.testing.assert_allclose(found**12, 1, atol=1e-14)
    np.testing.assert_allclose(found[3], -1j, atol=1e-15)
    np.testing.assert_array_equal(compute_roots(12, backwards=True), found.conj())
