"""Counted builds: their shared objects, and beside each what its numbers are of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from metalbench.msl.building import cache
from metalbench.msl.building.compiler import MessageTranslator, assemble, generate_ir, optimise
from metalbench.msl.building.frames import check_stack_usage
from metalbench.msl.building.toolchain import CONVERGENT_FLAGS, find_toolchain, list_flags
from metalbench.msl.ir.module import Module
from metalbench.msl.rewriting.edits import TranslationUnit
from metalbench.msl.transforms import block_layout
from metalbench.msl.transforms.counting import count
from metalbench.msl.transforms.metal_semantics import give_metal_semantics

# As written, but for the headers' own functions, which are within the user's: what is counted.
_AS_WRITTEN = [
    "-O0",
    "-Xclang",
    "-disable-O0-optnone",
    *CONVERGENT_FLAGS,
    "-DMB_COUNTED=1",
    "-DMB_MATRIX_DISTRIBUTED=1",
]
# And what is made of that, calls included.
_COMPILED = ["-O1", *CONVERGENT_FLAGS, "-fno-vectorize", "-fno-slp-vectorize"]


def counted_threads_of(
    code: TranslationUnit,
    kernel: str,
    translate: MessageTranslator,
    *,
    fast_math: bool,
    spaces: bool,
) -> Path:
    """The shared object of lowered text whose threads are counted. Raises CompileError."""
    tools = find_toolchain()
    written, compiled = (
        list_flags(checked=False, fast_math=fast_math, spaces=spaces, passes=passes)
        for passes in (_AS_WRITTEN, _COMPILED)
    )
    target = cache.locate_file(cache.digest("counted", tools.key, repr(written), code.text), ".so")
    with cache.write_atomically(target) as path:
        module = Module(generate_ir(code, tools, written, translate))
        give_metal_semantics(module, checked=False)
        counted = count(module)
        block_layout.inline_meeting_functions(module)
        module = Module(optimise(str(module), tools, translate, compiled))
        block_layout.lay_out_blocks(module)
        frames = assemble(str(module), path, tools, translate, [*compiled, *block_layout.FLAGS])
        check_stack_usage(frames, kernel, tools.headers, together=False)
        if tools.target.debug_in_object:
            path.with_suffix(".o").replace(target.with_suffix(".o"))
        with cache.write_atomically(target.with_suffix(".counts")) as record:
            record.write_text(json.dumps(counted.record()))
        with cache.write_atomically(target.with_suffix(".cpp")) as lowered:
            lowered.write_text(code.text)
    return target


def numbers_of(target: Path) -> dict[str, list[dict[str, Any]]]:
    """What the numbers of a counted build are of: `sites` of memory, `segments` of code."""
    found: dict[str, list[dict[str, Any]]] = json.loads(target.with_suffix(".counts").read_text())
    return found
