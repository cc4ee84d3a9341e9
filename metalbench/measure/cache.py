"""Sizes of last-level caches, and how many copies it takes to be out of them."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
# So many times the cache is cold even where its replacement is not least recently used.
OF_CACHE = 3
OF_MEMORY = 4
# More would take longer to bind than to measure.
MOST_COPIES = 4096
# System-level caches, which the GPU and the CPU of a chip share, as measured on M1 and M2.
SYSTEM_LEVEL = {"": 8 * MIB, "_pro": 24 * MIB, "_max": 48 * MIB, "_ultra": 96 * MIB}
LARGEST_KNOWN = max(SYSTEM_LEVEL.values())
LINUX = Path("/sys/devices/system/cpu/cpu0/cache")


def last_level_cache_bytes(chip: str | None, *, linux: Path = LINUX) -> int:
    """Bytes of the last-level cache before memory.

    Parameters
    ----------
    chip
        Of a Metal device, such as "m2_max"; None where the host's processor does the work.
    linux
        Where Linux describes the caches of a processor.

    What is not known is taken for as large as any of Apple's.
    """
    if chip is None and sys.platform == "darwin":
        chip = _chip_of_host()
    if chip:
        _, underscore, tier = chip.partition("_")
        return SYSTEM_LEVEL.get(underscore + tier, LARGEST_KNOWN)
    sizes = [_linux_bytes(each) for each in linux.glob("index*/size")]
    return max(sizes, default=LARGEST_KNOWN)


@dataclass(frozen=True, slots=True)
class Rotation:
    """How many copies take turns; `doubt` says if they are too few to be cold."""

    copies: int
    doubt: str | None = None


def rotation(pass_bytes: int, cache_bytes: int, memory_bytes: int | None) -> Rotation:
    """Copies of `pass_bytes` that are together three times the cache, in a quarter of the memory.

    Both sides of a pair have their own, so that each may take an eighth.
    """
    wanted = math.ceil(OF_CACHE * cache_bytes / pass_bytes)
    room = wanted if memory_bytes is None else memory_bytes // (2 * OF_MEMORY) // pass_bytes
    copies = max(1, min(wanted, room, MOST_COPIES))
    if copies == wanted:
        return Rotation(copies)
    return Rotation(
        copies,
        f"not quite cold: {copies} copies of the inputs and outputs are "
        f"{copies * pass_bytes / cache_bytes:.1f} times the last-level cache "
        f"({cache_bytes / MIB:.0f} MiB), not {OF_CACHE} times; more are too many, or do not fit "
        "in a quarter of the memory",
    )


def of_two_sets(
    input_bytes: int, output_bytes: int, cache_bytes: int, memory_bytes: int | None
) -> str | None:
    """What is to be said of two sets of inputs that take turns, where one alone costs less."""
    one, two = input_bytes + output_bytes, 2 * input_bytes + output_bytes
    if one <= cache_bytes < two:
        return (
            f"two sets of inputs take turns, and do not fit the last-level cache: {two / MIB:.3g} "
            f"MiB with the outputs, of {cache_bytes / MIB:.3g} MiB, where one set would "
            f"({one / MIB:.3g} MiB); both sides read them from memory, as after other work"
        )
    if memory_bytes is not None and two > memory_bytes // OF_MEMORY:
        return (
            f"two sets of inputs take turns: with the outputs {two / MIB:.0f} MiB, more than a "
            f"quarter of the memory ({memory_bytes / MIB:.0f} MiB)"
        )
    return None


def _linux_bytes(size: Path) -> int:
    """``480K`` as bytes."""
    text = size.read_text(encoding="ascii").strip()
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text.rstrip("KMG")) * units.get(text[-1:], 1)


def _chip_of_host() -> str | None:
    """``Apple M2 Max`` as "m2_max"; None on a Mac with another processor."""
    asked = subprocess.run(
        ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False
    )
    words = asked.stdout.lower().split()
    return "_".join(words[1:]) if words[:1] == ["apple"] else None
