"""The number of threads in a threadgroup as a tunable."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_steel.tuning.transformations.transformation import SHARING, free_name, with_tune_line
from metalbench.kernel import Kernel
from metalbench.msl.reading.lexer import lex

THREAD_COUNTS = (256, 64, 1024, 128, 512, 32)
ATTRIBUTES = re.compile(r"(in|per)_(thread|simd|quad)group")


class ThreadCount:
    """A fixed number of threads becomes a macro with values to try."""

    technique = "threads per threadgroup"
    summary = (
        "The number of threads in a threadgroup becomes a tunable. How many are best depends on "
        "the device and on what a thread needs."
    )
    needs = "one dispatch by threads_in_grid, a number as threads=, and nothing shared in a group"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel with a number of threads that it does not have, and others to try."""
        code = " ".join(lex(kernel.source).text)
        if len(kernel.dispatches) != 1 or SHARING.search(code) or ATTRIBUTES.search(code):
            return
        (dispatch,) = kernel.dispatches
        if dispatch.threads_in_grid is None or len(dispatch.threads) != 1:
            return
        text = str(dispatch.threads[0]).strip()
        if not text.isdecimal():
            return
        name = free_name(kernel, "THREADS")
        pattern = r"(//\s*dispatch:[^\n]*?\bthreads=)\([^()]*\)"
        source = re.sub(pattern, rf"\1({name})", kernel.source, count=1)
        others = tuple(each for each in THREAD_COUNTS if each != int(text))
        yield with_tune_line(source, name, (*others, int(text)))
