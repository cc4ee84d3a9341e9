"""Compile kernels whose threads run one by one, in loops or as fibers, to shared objects."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from metalbench.msl.building import cache
from metalbench.msl.building.compiler import MessageTranslator, compile_shared_object
from metalbench.msl.building.frames import check_stack_usage
from metalbench.msl.building.host_calls import refuse_host_calls
from metalbench.msl.building.toolchain import find_toolchain, list_flags
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.edits import Edits, TranslationUnit


def compile_threads(
    code: TranslationUnit,
    kernel: str,
    translate: MessageTranslator,
    *,
    fibers: bool,
    checked: bool,
    fast_math: bool,
    spaces: bool,
    tools: Sequence[str] = (),
    reasons: list[str] | None = None,
) -> Path:
    """Compile lowered text to a shared object; store the text next to it. Raise CompileError.

    With `fibers` each thread is a fiber; `checked` builds require it. If optimisations are reduced,
    the reason is appended to `reasons`.
    """
    chain = find_toolchain()
    options = list_flags(checked=checked, fast_math=fast_math, spaces=spaces, tools=tools)
    written = translate.source_digest if checked else ""
    made_of = ("object", chain.key, repr(options), repr(tools), repr(fibers), written, code.text)
    target = cache.locate_file(cache.digest(*made_of), ".so")
    with cache.write_atomically(target) as path:
        frames = compile_shared_object(
            code,
            path,
            chain,
            translate,
            options,
            checked=checked,
            fibers=fibers,
            follow=checked and "init" in tools,
            reasons=reasons,
        )
        check_stack_usage(frames, kernel, chain.headers, together=False)
        if chain.target.debug_in_object:
            path.with_suffix(".o").replace(target.with_suffix(".o"))
        with cache.write_atomically(target.with_suffix(".cpp")) as text:
            text.write_text(code.text)
    return target


def compile_fibers_from_file(text: Path, kernel: str, *, fast_math: bool, spaces: bool) -> Path:
    """Compile the lowered text of a file as fibers, as `compile_threads` does."""
    code = TranslationUnit(text.read_text(), Edits(""), 0)
    source = Source("", kernel, "")
    return compile_threads(
        code,
        kernel,
        MessageTranslator(check_ir=lambda ir: refuse_host_calls(ir, source, code)),
        fibers=True,
        checked=False,
        fast_math=fast_math,
        spaces=spaces,
    )
