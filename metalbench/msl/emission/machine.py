"""What vectors of a processor can do, as far as it decides how lanes are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FEATURES = re.compile(r'"target-features"="([^"]*)"')
_WORD = 4  # bytes


@dataclass(frozen=True)
class Machine:
    """Which accesses with masks are instructions of their own, by the size of elements in bytes.

    Others LLVM would write as a branch for every lane.
    """

    words: bool = False  # of four and eight bytes
    all_sizes: bool = False

    def masks(self, size: int) -> bool:
        """Whether rows of elements are read and written with a mask."""
        return self.all_sizes or (self.words and size >= _WORD)

    def scatters(self, size: int) -> bool:
        """Whether elements are read from many places, and written to them."""
        return self.all_sizes and size >= _WORD


def machine_of(module: str) -> Machine:
    """The processor that a module is compiled for."""
    found = _FEATURES.search(module)
    features = found[1].split(",") if found else []
    return Machine(words="+avx2" in features, all_sizes="+avx512bw" in features)
