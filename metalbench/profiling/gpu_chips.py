"""The figures of Apple's GPUs that the timing model uses, each with its source.

`measured`: by the source; `published`: by Apple; `derived`: computed from published figures;
`assumed`: none of these.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from metalbench.chips import CHIPS

TURNER = "github.com/philipturner/metal-benchmarks"


@dataclass(frozen=True)
class Figure:
    """A number, its kind (measured, published, derived, assumed) and where it is from."""

    value: float
    kind: str
    source: str


@dataclass(frozen=True)
class AppleTarget:
    """A Mac with a chip, as kernels and their `// defaults:` lines select by it."""

    chip: str
    kind: str = "metal"
    # Empty: the model of a GPU has no matrix units for tensors.
    capabilities: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class GpuChip:
    """A chip's GPU. `key` is the chip's name in headers, such as m2_pro."""

    key: str
    name: str
    cores: int
    clock: Figure
    l2: Figure
    slc: Figure
    dram: Figure
    slc_bandwidth: Figure

    @property
    def target(self) -> AppleTarget:
        """The device that selects the kernel and the defaults of this chip."""
        return AppleTarget(self.key)

    @property
    def clock_hz(self) -> float:
        """Cycles of a core in a second."""
        return self.clock.value

    @property
    def l2_bytes(self) -> float:
        """Bytes of the second cache, of all cores."""
        return self.l2.value

    @property
    def slc_bytes(self) -> float:
        """Bytes of the cache of the whole chip."""
        return self.slc.value

    @property
    def dram_bytes_per_s(self) -> float:
        """Bytes of memory in a second."""
        return self.dram.value

    @property
    def slc_bytes_per_s(self) -> float:
        """Bytes of the cache of the whole chip in a second."""
        return self.slc_bandwidth.value


# The SLC delivers twice the bandwidth of memory (15.4 to 19.8 and 7.7 to 9.9 bytes a cycle of a
# core in the table "On-Chip Memory").
_SLC_TO_DRAM = 2.0
_KIB, _MIB = 1 << 10, 1 << 20
# By chip: GHz, KiB of L2, MiB of SLC, and the kind of the three.
_BY_CHIP: dict[str, tuple[float, float, float, str]] = {
    "m1": (1.278, 768, 8, "measured"),
    "m1_pro": (1.296, 256, 24, "measured"),
    "m1_max": (1.296, 512, 48, "measured"),
    "m1_ultra": (1.296, 1024, 96, "measured"),
    "m2": (1.398, 1536, 8, "measured"),
    "m2_pro": (1.398, 512, 24, "measured"),
    "m2_max": (1.398, 1024, 48, "measured"),
    # Twice an M2 Max.
    "m2_ultra": (1.398, 2048, 96, "derived"),
    # No source: the clock and the caches of the chip before it, and an increase of the clock by
    # 10 % from the M3 to the M4 and from the M4 to the M5.
    "m3": (1.398, 1536, 8, "assumed"),
    "m3_pro": (1.398, 512, 12, "assumed"),
    "m3_max": (1.398, 1024, 48, "assumed"),
    "m3_ultra": (1.398, 2048, 96, "assumed"),
    "m4": (1.5, 1536, 8, "assumed"),
    "m4_pro": (1.5, 512, 24, "assumed"),
    "m4_max": (1.5, 1024, 48, "assumed"),
    "m5": (1.6, 1536, 8, "assumed"),
    "m5_pro": (1.6, 512, 24, "assumed"),
    "m5_max": (1.6, 1024, 48, "assumed"),
}


def make_gpu_chip(name: str, cores: int = 0) -> GpuChip:
    """Return the figures of a chip with `cores` GPU cores.

    A number of cores that is not sold, or 0 where it is unknown, gives the chip with all cores.
    """
    chip = CHIPS[name]
    if cores not in chip.bandwidths:
        cores = chip.cores
    ghz, l2, slc, kind = _BY_CHIP[name]
    source = f"{TURNER}, README, table of GPUs" if kind != "assumed" else "no source"
    bandwidth = chip.peak_rates(cores).bytes_per_s
    return GpuChip(
        name,
        chip.name,
        cores,
        Figure(1e9 * ghz, kind, source),
        Figure(l2 * _KIB, kind, source),
        Figure(slc * _MIB, kind, source),
        Figure(bandwidth, "published", chip.source),
        Figure(_SLC_TO_DRAM * bandwidth, "derived", f"{TURNER}, README, On-Chip Memory"),
    )


GPU_CHIPS: dict[str, GpuChip] = {name: make_gpu_chip(name) for name in CHIPS}
