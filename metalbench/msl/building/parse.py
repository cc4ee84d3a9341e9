"""Text to a parsed source, by way of clang's preprocessor; brackets that do not match are told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from metalbench._core import CompileError
from metalbench.msl.building.compiler import check_syntax
from metalbench.msl.building.diagnostics import Diagnostics
from metalbench.msl.building.preprocess import compiler_words, preprocess
from metalbench.msl.building.toolchain import reserved_names, toolchain
from metalbench.msl.reading.host_code import (
    refuse_host_code,
    refuse_stray_text,
    without_strange_pragmas,
)
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.edits import Code, Edits
from metalbench.msl.rewriting.keywords import rewrite_keywords
from metalbench.msl.rewriting.lower import prologue


def parse(
    text: str, filename: str, macros: Mapping[str, str], include_dirs: Sequence[str]
) -> Source:
    """Preprocess a source.

    Raises CompileError with clang's messages, also for stray brackets, and for what is of a host
    and no Metal.
    """
    expanded = preprocess(text, filename, macros, include_dirs)
    source = Source(text, filename, without_strange_pragmas(expanded), tuple(include_dirs))
    refuse_stray_text(source.tokens)
    if not source.tokens.balanced:
        _refuse_unbalanced(source)
    refuse_host_code(source.tokens, reserved_names(toolchain()), compiler_words)
    return source


def _refuse_unbalanced(source: Source) -> NoReturn:
    """Nothing can be rewritten between brackets that do not match, but clang can say where."""
    tokens = source.tokens
    edits = Edits(tokens.source)
    rewrite_keywords(tokens, edits)
    opening = prologue(tokens)
    code = Code(opening + edits.apply(), edits, len(opening))
    check_syntax(code.text, toolchain(), Diagnostics(source, code).translate)
    stray = next(
        index
        for index, text in enumerate(tokens.text)
        if text in "()[]{}" and tokens.partner[index] < 0
    )
    raise CompileError(f"{tokens.where(stray)}: error: {tokens.text[stray]} has no partner")
