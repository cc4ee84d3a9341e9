"""Suggest a fix for a kernel whose threadgroup has too many threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from metalbench import _core
from metalbench.kernel.device_defaults import lines_for
from metalbench.kernel.directives import Dispatch
from metalbench.kernel.geometry import count_threads
from metalbench.kernel.header import Kernel


def explain_thread_limit(most: int, device: _core.Device) -> str:
    """Return why a function takes only `most` threads; empty where that is the device's limit."""
    limit = device.limits.max_threads_per_threadgroup
    if most >= limit:
        return ""
    return (
        f" (the device takes {limit}, but not of this kernel: it needs many registers, or "
        "says max_total_threads_per_threadgroup)"
    )


# A hint is not worth a longer search.
MOST_CHOICES = 10_000


def suggest_fewer_threads(
    kernel: Kernel, line: Dispatch, values: Mapping[str, int], most: int, *, dtype: str
) -> str:
    """Return the advice to choose tunables with at most `most` threads in a threadgroup."""
    names = [name for name in kernel.tunables if any(name in each.names for each in line.threads)]
    if not names:
        return "lower threads="
    fitting = list(_fitting_choices(kernel, line, values, most, names=names))
    if not fitting:
        named = " and ".join(f"`// tune: {name}`" for name in names)
        return f"no value of {named} is small enough: add one that is, as the first"
    found = ", ".join(map("{} = {}".format, names, max(fitting)[1]))
    said = {
        name: f"`// defaults: {line}`"
        for line in lines_for(kernel.device_defaults, kernel.target, dtype)
        for name in names
        if name in line.values
    }
    if said:
        lines = " and ".join(dict.fromkeys(said.values()))
        return f"{found} fits: let the line {lines} say so"
    return f"{found} fits: let the `// tune:` line begin with it"


def _fitting_choices(
    kernel: Kernel, line: Dispatch, values: Mapping[str, int], most: int, *, names: Sequence[str]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the threads of each choice of `names` that are few enough, and the choice."""
    choices = itertools.product(*(kernel.tunables[name] for name in names))
    for choice in itertools.islice(choices, MOST_CHOICES):
        threads = count_threads(line, {**values, **dict(zip(names, choice, strict=True))})
        if threads is not None and threads <= most:
            yield threads, choice
