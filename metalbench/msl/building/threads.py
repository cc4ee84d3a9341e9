"""Kernels whose threads are run one by one, in loops or as fibers: their shared objects."""

from __future__ import annotations

from pathlib import Path

from metalbench.msl.building import cache
from metalbench.msl.building.compiler import Translate, compile_shared_object
from metalbench.msl.building.frames import check_frames
from metalbench.msl.building.toolchain import flags, toolchain
from metalbench.msl.rewriting.edits import Code, Edits


def threads_of(
    code: Code,
    kernel: str,
    translate: Translate,
    *,
    checked: bool,
    fast_math: bool,
    spaces: bool,
) -> Path:
    """The shared object of lowered text, with the text beside it. Raises CompileError."""
    tools = toolchain()
    options = flags(checked=checked, fast_math=fast_math, spaces=spaces)
    target = cache.path_of(cache.digest("object", tools.key, repr(options), code.text), ".so")
    with cache.replacing(target) as path:
        frames = compile_shared_object(code, path, tools, translate, options, checked=checked)
        check_frames(frames, kernel, tools.headers, together=False)
        if tools.target.debug_in_object:
            path.with_suffix(".o").replace(target.with_suffix(".o"))
        with cache.replacing(target.with_suffix(".cpp")) as text:
            text.write_text(code.text)
    return target


def threads_of_text(text: Path, kernel: str, *, fast_math: bool, spaces: bool) -> Path:
    """The same of text that compiled before, in a file."""
    code = Code(text.read_text(), Edits(""), 0)
    return threads_of(code, kernel, Translate(), checked=False, fast_math=fast_math, spaces=spaces)
