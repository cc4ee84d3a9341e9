"""Options of a kernel's build."""

from __future__ import annotations

from dataclasses import dataclass

GPU = "cuda"
# Bytes, as the widest vector access needs. Buffers of GPUs begin at multiples of it, unless the
# host has sliced them.
BUFFER_ALIGNMENT = 16


@dataclass(frozen=True)
class BuildOptions:
    """Options for the execution and instrumentation of a kernel.

    `mode` is "vectors" or "fibers", for kernels that synchronise, or `GPU`. `checked` builds find
    defects, more of them with `tools`; `counted` builds count operations. Both instrument every
    thread and run as fibers. The buffers of a kernel for a GPU are aligned to `buffer_alignment`
    bytes.
    """

    mode: str
    checked: bool = False
    fast_math: bool = True
    tools: tuple[str, ...] = ()
    counted: bool = False
    buffer_alignment: int = BUFFER_ALIGNMENT

    @property
    def instrumentation(self) -> str:
        """The kind of instrumentation: `checked`, `counted` or empty."""
        return "checked" if self.checked else "counted" if self.counted else ""
