"""Discrete Fourier transform of rows of 256 complex numbers."""

from metalbench.task.families import whole_spectrum

fft_256 = whole_spectrum("fft_256", 256)
