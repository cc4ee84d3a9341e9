"""Find tests for NaN and infinity that Metal may remove from a `// math: fast` kernel."""

from __future__ import annotations

from collections.abc import Iterator

from metalbench._core import Error
from metalbench.kernel.prepare import Compiled, source_options
from metalbench.msl import engine


def find_folded_tests(compiled: Compiled) -> tuple[str, ...]:
    """Return a warning for every test for NaN or infinity in the code that the kernel runs.

    Return none for safe math, and for a kernel that the front end cannot read.
    """
    if compiled.kernel.math != "fast":
        return ()
    try:
        return tuple(dict.fromkeys(_warnings(compiled)))
    except Error:
        return ()


def _warnings(compiled: Compiled) -> Iterator[str]:
    from metalbench.msl.reading.no_number import find_nan_tests

    options = source_options(compiled.kernel, compiled.dtype, compiled.tunables)
    program = engine.parse(compiled.kernel.source, **options)
    for function in compiled.pipelines:
        for where, test in find_nan_tests(program.source, function):
            yield (
                f"{where}: `{test}` under `// math: fast`: Metal may take it for granted that no "
                "value is infinite or NaN, and leave the test out; test the bits "
                "(as_type<uint>(x)), or compile with safe math"
            )
