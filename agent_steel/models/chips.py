"""Describe the device of a kernel in prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalbench.chips import CHIPS, MOST_THREADS, SIMD_WIDTH, THREADGROUP_BYTES, Chip

if TYPE_CHECKING:
    from metalbench.result import DeviceFacts


def facts_of(device: DeviceFacts) -> str:
    """Say in a few lines what a kernel has to do with on `device`; a chip that is unknown as such.

    `device.chip` is a key of the table such as 'm4_max', and `device.cores` its number of cores.
    """
    if device.kind == "cpu":
        return (
            f"The kernel runs on MetalBench's `cpu` device: {device.name}, {device.cores} cores.\n"
            "It is a simulation. Times are those of the host's cores, on which SIMD-groups of "
            f"{SIMD_WIDTH} threads run as loops or vectors; little work per thread costs more "
            "than on a GPU."
        )
    chip = CHIPS.get(device.chip or "")
    if chip is None:
        return (
            f"The kernel runs on {device.name} ({device.kind}, {device.cores} cores), of which "
            "nothing is published here."
        )
    return "\n".join(_lines(chip, device.cores))


def _lines(chip: Chip, cores: int) -> list[str]:
    # Where the system does not tell the cores, all that is known is the most they can be.
    most = "" if cores in chip.bandwidths else "up to "
    if most:
        cores = chip.cores
    known = chip.bandwidths[cores]
    rate = "a float32 rate that is not published"
    if chip.tflops is not None:
        rate = f"{most}{chip.tflops * cores / chip.cores:.3g} TFLOP/s in float32"
    return [
        f"The kernel runs on {chip.name}: {most}{cores} GPU cores, {most}{known:g} GB/s of memory "
        f"bandwidth, {rate} ({chip.source}).",
        f"SIMD-groups have {SIMD_WIDTH} threads; a threadgroup has at most {MOST_THREADS} threads "
        f"and {THREADGROUP_BYTES >> 10} KiB of threadgroup memory.",
        "Memory is shared with the CPU; there is no copy to or from the GPU.",
    ]
