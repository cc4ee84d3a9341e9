"""Discrete Fourier transform of rows of 1024 complex numbers."""

from metalbench.task.families import whole_spectrum

fft_1024 = whole_spectrum("fft_1024", 1024)
