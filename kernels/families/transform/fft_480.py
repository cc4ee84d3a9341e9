"""Discrete Fourier transform of rows of 480 complex numbers."""

from metalbench.task.families import whole_spectrum

fft_480 = whole_spectrum("fft_480", 480)
