"""Kernels for NVIDIA GPUs: PTX, which the driver compiles for the GPU that it finds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from metalbench._core import CompileError
from metalbench.msl.building import cache
from metalbench.msl.building.compiler import Translate, generate, to_assembly
from metalbench.msl.building.targets import NVPTX
from metalbench.msl.building.toolchain import GPU_FLAGS, flags, toolchain
from metalbench.msl.rewriting.edits import Code

# Functions that the driver would have to find elsewhere; what lies in memory is the kernel's own.
_MISSING = re.compile(r"^\s*\.extern \.func\s+(?:\([^)]*\)\s*)?([\w$]+)", re.M)


def ptx_of(code: Code, translate: Translate, *, fast_math: bool, spaces: bool) -> Path:
    """The PTX of lowered text, with the text beside it. Raises CompileError."""
    tools = replace(toolchain(), target=NVPTX)
    options = flags(checked=False, fast_math=fast_math, spaces=spaces, goal=NVPTX, passes=GPU_FLAGS)
    target = cache.path_of(cache.digest("ptx", tools.key, repr(options), code.text), ".ptx")
    with cache.replacing(target) as path:
        parsing = [*options, "-Xclang", "-disable-llvm-passes"]
        ir = generate(code, tools, parsing, translate)
        to_assembly(ir, path, tools, translate, options)
        _check_complete(path.read_text(), translate)
        with cache.replacing(target.with_suffix(".cpp")) as text:
            text.write_text(code.text)
    return target


def _check_complete(ptx: str, translate: Translate) -> None:
    """Nothing is linked to a kernel."""
    missing = dict.fromkeys(_MISSING.findall(ptx))
    if missing:
        said = "\n".join(f"undefined symbol: {name}" for name in missing)
        raise CompileError(translate.linker(said) or said)
