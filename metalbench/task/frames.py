"""Short-time Fourier transforms of 400 samples every 160 samples, for tasks on audio."""

from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np

Array = np.ndarray[Any, Any]
LENGTH, HOP = 400, 160


def split_frames(x: Array, window: Array, length: int = LENGTH, hop: int = HOP) -> Array:
    """Return every frame of `x` (samples) that is there as a whole, times the window."""
    frames = np.lib.stride_tricks.sliding_window_view(x, length)[::hop]
    return frames * window


def power_spectrum(x: Array, window: Array) -> Array:
    """Return squares of the spectra's amplitudes, (frames, 201)."""
    found: Array = np.abs(np.fft.rfft(split_frames(x, window), axis=-1)) ** 2
    return found


def power_magnitude(x: Array, window: Array) -> Array:
    """Return the error scale of `power_spectrum`: 2 a da + a^2, da relative to absolute terms."""
    amplitude = np.abs(np.fft.rfft(split_frames(x, window), axis=-1))
    terms = np.abs(split_frames(x, window)).sum(axis=-1, keepdims=True)
    found: Array = 2 * amplitude * terms + amplitude**2
    return found


def mlx_power(x: Any, window: Any) -> Any:
    """Return the same by MLX."""
    count = (x.shape[0] - LENGTH) // HOP + 1
    frames = mx.as_strided(x, (count, LENGTH), (HOP, 1))
    return mx.square(mx.abs(mx.fft.rfft(frames * window, axis=-1)))
