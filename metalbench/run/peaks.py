"""The limits that a measurement is held against."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalbench.analysis import Peaks
from metalbench.measure import Mode
from metalbench.measure.cache import MIB, OF_CACHE
from metalbench.measure.roofs import roofs_of

if TYPE_CHECKING:
    from metalbench._core import Device


def find_peaks(device: Device, pass_bytes: float, dtype: str, mode: Mode) -> Peaks | None:
    """The measured limits of `device`; None where there are none to be measured.

    A pass of fewer bytes than several times the last-level cache may find some of them there: it is
    held against the cache, unless it is timed cold.
    """
    roofs, cache_bytes = roofs_of(device), device.capabilities.get("l2_bytes")
    if roofs is None or not isinstance(cache_bytes, int):
        return None
    from_memory = mode is Mode.COLD or pass_bytes >= OF_CACHE * cache_bytes
    moved = roofs.memory_gbytes_per_s if from_memory else roofs.cache_gbytes_per_s
    where = "memory" if from_memory else f"its cache of {cache_bytes / MIB:.0f} MiB"
    # Of half precision, a kernel may as well compute in float32.
    gflops, kind = max(
        (roofs.float32_gflops, "float32"),
        (roofs.float16_gflops if dtype != "float32" else 0.0, "float16"),
    )
    return Peaks(gflops, moved, f"as measured here: copies in {where}, multiply-adds in {kind}")
