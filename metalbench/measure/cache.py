"""Return sizes of last-level caches, and plan how many copies of the data exceed them."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

MIB = 1 << 20
# A multiple of the cache's size that is cold even if its replacement is not least recently used.
OF_CACHE = 3
OF_MEMORY = 4
# More copies take longer to bind than to measure.
MOST_COPIES = 4096
# System-level caches, which GPU and CPU of a chip share. Values are measured on M1 and M2.
SYSTEM_LEVEL = {"": 8 * MIB, "_pro": 24 * MIB, "_max": 48 * MIB, "_ultra": 96 * MIB}
LARGEST_KNOWN = max(SYSTEM_LEVEL.values())
LINUX = Path("/sys/devices/system/cpu/cpu0/cache")


def last_level_cache_bytes(chip: str | None, *, linux: Path = LINUX) -> int:
    """Return the size in bytes of the last-level cache.

    Parameters
    ----------
    chip
        Chip of a Metal device, such as "m2_max"; None if kernels run on the host's CPU.
    linux
        Folder in which Linux describes the caches of a CPU.

    An unknown cache counts as the largest of Apple's.
    """
    if chip is None and sys.platform == "darwin":
        chip = _chip_of_host()
    if chip:
        _, underscore, tier = chip.partition("_")
        return SYSTEM_LEVEL.get(underscore + tier, LARGEST_KNOWN)
    sizes = [_linux_bytes(each) for each in linux.glob("index*/size")]
    return max(sizes, default=LARGEST_KNOWN)


@dataclass(frozen=True, slots=True)
class RotationPlan:
    """The number of copies of inputs and outputs; `doubt` warns of too few copies to be cold."""

    copies: int
    doubt: str | None = None


def plan_rotation(pass_bytes: int, cache_bytes: int, memory_bytes: int | None) -> RotationPlan:
    """Plan copies of `pass_bytes` that make three times the cache, in a quarter of the memory.

    Each side of a pair has its own copies, in an eighth of the memory.
    """
    wanted = math.ceil(OF_CACHE * cache_bytes / pass_bytes)
    room = wanted if memory_bytes is None else memory_bytes // (2 * OF_MEMORY) // pass_bytes
    copies = max(1, min(wanted, room, MOST_COPIES))
    if copies == wanted:
        return RotationPlan(copies)
    return RotationPlan(
        copies,
        f"not quite cold: {copies} copies of the inputs and outputs are "
        f"{copies * pass_bytes / cache_bytes:.1f} times the last-level cache "
        f"({cache_bytes / MIB:.0f} MiB), not {OF_CACHE} times; more are too many, or do not fit "
        "in a quarter of the memory",
    )


def warn_of_two_sets(
    input_bytes: int, output_bytes: int, cache_bytes: int, memory_bytes: int | None
) -> str | None:
    """Return a warning if two alternating sets of inputs cost more than one; None if not."""
    one, two = input_bytes + output_bytes, 2 * input_bytes + output_bytes
    if one <= cache_bytes < two:
        return (
            f"two sets of inputs alternate, and do not fit the last-level cache: {two / MIB:.3g} "
            f"MiB with the outputs, of {cache_bytes / MIB:.3g} MiB, where one set would "
            f"({one / MIB:.3g} MiB); both sides read them from memory, as after other work"
        )
    if memory_bytes is not None and two > memory_bytes // OF_MEMORY:
        return (
            f"two sets of inputs alternate: with the outputs {two / MIB:.0f} MiB, more than a "
            f"quarter of the memory ({memory_bytes / MIB:.0f} MiB)"
        )
    return None


def _linux_bytes(size: Path) -> int:
    """Parse a size such as ``480K``."""
    text = size.read_text(encoding="ascii").strip()
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    return int(text.rstrip("KMG")) * units.get(text[-1:], 1)


def _chip_of_host() -> str | None:
    """Return the chip, "m2_max" for ``Apple M2 Max``; None on a Mac with another CPU."""
    asked = subprocess.run(
        ["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True, check=False
    )
    words = asked.stdout.lower().split()
    return "_".join(words[1:]) if words[:1] == ["apple"] else None
