"""Several elements for each thread."""

from __future__ import annotations

from collections.abc import Iterator

from agent_steel.tuning.transformations.transformation import free_name, independent, with_tune_line
from metalbench.kernel import Kernel

COUNTS = (4, 2, 8)


class ElementsPerThread:
    """Let each thread compute several elements, with a stride of the number of threads."""

    technique = "elements per thread"
    summary = (
        "Each thread computes several elements, so that fewer threads are launched. Neighbouring "
        "threads still read neighbouring elements."
    )
    needs = "one dispatch over a line of threads that share nothing and know only their position"

    def versions(self, kernel: Kernel) -> Iterator[str]:
        """Yield the kernel as a loop over elements."""
        found = independent(kernel)
        if found is None:
            return
        each, thread = free_name(kernel, "ELEMENTS"), free_name(kernel, "position")
        count, stride = free_name(kernel, "count"), free_name(kernel, "stride")
        body = (
            f"  const uint {count} = {found.count};\n"
            f"  const uint {stride} = ({count} + {each} - 1) / {each};\n"
            f"  for (uint k_ = 0; k_ < {each}; ++k_) {{\n"
            f"    const uint {found.index} = {thread} + k_ * {stride};\n"
            f"    if ({found.index} < {count}) {found.call('one', found.index)}\n"
            "  }\n"
        )
        function = f"{found.function('one')}\n{found.entry(thread, body)}"
        yield with_tune_line(found.replace_function(function, each), each, COUNTS)
