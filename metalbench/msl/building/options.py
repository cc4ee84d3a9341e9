"""How a kernel is built."""

from __future__ import annotations

from dataclasses import dataclass

GPU = "cuda"
# Bytes. Buffers of GPUs begin at multiples of it, unless the host has sliced them elsewhere: what
# the widest vector access needs.
BUFFER_ALIGNMENT = 16


@dataclass(frozen=True)
class BuildOptions:
    """What is to run a kernel, and what is to be seen of it.

    `way` is "vectors" or "fibers", which are for kernels that synchronise, or `GPU`. Builds that
    are `checked` find mistakes, more of them for `tools`; those that are `counted` count what
    threads do. Both watch every thread by itself, on fibers. The buffers of a kernel for a GPU
    begin at multiples of `buffer_alignment` bytes.
    """

    mode: str
    checked: bool = False
    fast_math: bool = True
    tools: tuple[str, ...] = ()
    counted: bool = False
    buffer_alignment: int = BUFFER_ALIGNMENT

    @property
    def instrumentation(self) -> str:
        """What threads are watched for, as one word; empty if for nothing."""
        return "checked" if self.checked else "counted" if self.counted else ""
