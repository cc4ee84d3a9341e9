"""Vector capabilities of the target processor that decide how lanes are emitted."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FEATURES = re.compile(r'"target-features"="([^"]*)"')
_WORD = 4  # bytes


@dataclass(frozen=True)
class VectorTarget:
    """Sizes of elements, in bytes, for which the target has masked accesses as instructions.

    LLVM lowers other masked accesses to one branch per lane.
    """

    masks_words: bool = False  # of four and eight bytes
    masks_all_sizes: bool = False

    def has_masked_access(self, size: int) -> bool:
        """Return whether contiguous elements of this size are loaded and stored with a mask."""
        return self.masks_all_sizes or (self.masks_words and size >= _WORD)

    def has_gather_scatter(self, size: int) -> bool:
        """Return whether elements of this size can be gathered and scattered."""
        return self.masks_all_sizes and size >= _WORD


def read_target(module: str) -> VectorTarget:
    """Return the target that a module is compiled for."""
    found = _FEATURES.search(module)
    features = found[1].split(",") if found else []
    return VectorTarget(masks_words="+avx2" in features, masks_all_sizes="+avx512bw" in features)
