"""Published figures of the GPUs of Apple's chips, for estimates and prompts.

Cores and bandwidths are from Apple's press releases and technical specifications of Macs.
Arithmetic rates are from Apple as well; a missing rate was not published. SIMD width, threads and
threadgroup memory: Apple, "Metal feature set tables", families Apple7 on.
"""

from __future__ import annotations

from dataclasses import dataclass

SIMD_WIDTH = 32
THREADGROUP_BYTES = 32 << 10
MOST_THREADS = 1024
# The float32 rate of a core where Apple has published none: that of the M2, the last published one.
TFLOPS_OF_A_CORE = 3.6 / 10


@dataclass(frozen=True)
class PeakRates:
    """The roofline of a chip: bytes a second of memory, float32 operations a second."""

    bytes_per_s: float
    flops_per_s: float

    def least_seconds(self, flops: float, nbytes: float) -> float:
        """Return the time of work at the roofline (Williams, Waterman, Patterson, 2009)."""
        return max(nbytes / self.bytes_per_s, flops / self.flops_per_s)


@dataclass(frozen=True)
class Chip:
    """A chip's GPU. `bandwidths` are GB/s by the number of GPU cores it is sold with.

    `tflops` is the rate in float32 with all cores, in 10^12 operations a second; None where none
    is published. `source` says where the figures are from.
    """

    name: str
    bandwidths: dict[int, float]
    tflops: float | None
    source: str

    @property
    def cores(self) -> int:
        """The number of GPU cores of the largest variant."""
        return max(self.bandwidths)

    @property
    def peak_source(self) -> str:
        """The source of the peak rates as a phrase for reports."""
        if self.tflops is not None:
            return f"published: {self.source}"
        return f"bandwidth published: {self.source}; arithmetic estimated from the cores of an M2"

    @property
    def flops_per_s(self) -> float:
        """The float32 rate with all cores, published or estimated by TFLOPS_OF_A_CORE."""
        return 1e12 * (self.tflops if self.tflops is not None else TFLOPS_OF_A_CORE * self.cores)

    def peak_rates(self, cores: int) -> PeakRates:
        """Return the peak rates with `cores` GPU cores; of a number not sold, those of all cores.

        A system that does not report the number of cores reports 0.
        """
        if cores not in self.bandwidths:
            cores = max(self.bandwidths, key=lambda each: (self.bandwidths[each], each))
        return PeakRates(
            bytes_per_s=1e9 * self.bandwidths[cores],
            flops_per_s=self.flops_per_s * cores / self.cores,
        )


def _chip(
    name: str, bandwidths: dict[int, float], source: str, tflops: float | None = None
) -> tuple[str, Chip]:
    return name.lower().replace(" ", "_"), Chip(f"Apple {name}", bandwidths, tflops, source)


CHIPS: dict[str, Chip] = dict(
    (
        _chip("M1", {7: 68.25, 8: 68.25}, "Apple, November 2020 (LPDDR4X-4266, 128 bits)", 2.6),
        _chip("M1 Pro", {14: 200, 16: 200}, "Apple, October 2021", 5.2),
        _chip("M1 Max", {24: 400, 32: 400}, "Apple, October 2021", 10.4),
        _chip("M1 Ultra", {48: 800, 64: 800}, "Apple, March 2022", 21),
        _chip("M2", {8: 100, 10: 100}, "Apple, June 2022", 3.6),
        _chip("M2 Pro", {16: 200, 19: 200}, "Apple, January 2023"),
        _chip("M2 Max", {30: 400, 38: 400}, "Apple, January 2023"),
        _chip("M2 Ultra", {60: 800, 76: 800}, "Apple, June 2023"),
        _chip("M3", {8: 100, 10: 100}, "Apple, October 2023"),
        _chip("M3 Pro", {14: 150, 18: 150}, "Apple, October 2023"),
        _chip("M3 Max", {30: 300, 40: 400}, "Apple, October 2023"),
        _chip("M3 Ultra", {60: 819, 80: 819}, "Apple, March 2025"),
        _chip("M4", {8: 120, 10: 120}, "Apple, May and October 2024"),
        _chip("M4 Pro", {16: 273, 20: 273}, "Apple, October 2024"),
        _chip("M4 Max", {32: 410, 40: 546}, "Apple, October 2024"),
        _chip("M5", {8: 153, 10: 153}, "Apple, October 2025"),
        _chip("M5 Pro", {16: 307, 20: 307}, "Apple, March 2026"),
        _chip("M5 Max", {32: 460, 40: 614}, "Apple, March 2026"),
    )
)


def chip_key(name: str) -> str:
    """Return the key of a chip in CHIPS for a name such as "Apple M2 Pro", "M2-Pro" or "m2_pro"."""
    return name.lower().replace(" ", "_").replace("-", "_").removeprefix("apple_")


def peak_rates(chip: str | None, cores: int) -> PeakRates | None:
    """Return the peak rates of a chip such as "m4_max"; None for one that is not in the table."""
    known = CHIPS.get(chip or "")
    return known.peak_rates(cores) if known is not None else None
