"""Fourier transforms keep the sum of squares, and the inverse brings the numbers back."""

from __future__ import annotations

import numpy as np
import pytest
from kernel_outputs import compute


@pytest.mark.parametrize("cols", [1, 2, 3, 37, 256, 509, 512])
def test_transforms_of_any_length_agree_with_numpy(cols: int) -> None:
    given, found = compute("fft_any", f"rows=3,cols={cols}")
    x = given["re"].astype(np.float64) + 1j * given["im"]
    y = found["y_re"].astype(np.float64) + 1j * found["y_im"]
    np.testing.assert_allclose(y, np.fft.fft(x), atol=1e-6 * max(1, cols))
    energy = (np.abs(x) ** 2).sum(axis=-1)
    np.testing.assert_allclose((np.abs(y) ** 2).sum(axis=-1) / cols, energy, rtol=1e-5)


def test_the_spectrum_of_real_numbers_brings_them_back() -> None:
    given, spectrum = compute("rfft_1024")
    _, back = compute("irfft_1024", re=spectrum["y_re"], im=spectrum["y_im"])
    np.testing.assert_allclose(back["y"], given["x"], atol=2e-6)


def test_a_cosine_has_one_number_in_its_spectrum() -> None:
    places = np.arange(1024)
    waves = np.stack([np.cos(2 * np.pi * k * places / 1024) for k in (0, 1, 7, 511, 512)])
    _, spectrum = compute("rfft_1024", x=waves.astype(np.float32))
    expected = np.zeros((5, 513))
    for row, k in enumerate((0, 1, 7, 511, 512)):
        expected[row, k] = 1024 if k in (0, 512) else 512
    np.testing.assert_allclose(spectrum["y_re"], expected, atol=1e-3)
    np.testing.assert_allclose(spectrum["y_im"], 0, atol=1e-3)


def test_the_inverse_ignores_imaginary_parts_that_real_rows_do_not_have() -> None:
    given, found = compute("irfft_1024")
    im = given["im"].copy()
    im[:, [0, -1]] = 5
    _, again = compute("irfft_1024", im=im)
    np.testing.assert_array_equal(again["y"], found["y"])
