"""Parse a source: preprocess it with clang, refuse host code and unmatched brackets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from metalbench._core import CompileError
from metalbench.msl.building.compiler import check_syntax
from metalbench.msl.building.diagnostics import Diagnostics
from metalbench.msl.building.preprocess import find_compiler_names, preprocess
from metalbench.msl.building.toolchain import find_reserved_names, find_toolchain
from metalbench.msl.reading.host_code import (
    blank_unknown_pragmas,
    refuse_host_code,
    refuse_stray_text,
)
from metalbench.msl.reading.program import Source
from metalbench.msl.rewriting.edits import Edits, TranslationUnit
from metalbench.msl.rewriting.keywords import rewrite_keywords
from metalbench.msl.rewriting.lower import build_preamble


def parse(
    text: str, filename: str, macros: Mapping[str, str], include_dirs: Sequence[str]
) -> Source:
    """Preprocess a source and check its tokens.

    Raise CompileError with clang's messages, for unmatched brackets, and for C++ that Metal does
    not have.
    """
    expanded = preprocess(text, filename, macros, include_dirs)
    source = Source(text, filename, blank_unknown_pragmas(expanded), tuple(include_dirs))
    refuse_stray_text(source.tokens)
    if not source.tokens.is_balanced:
        _refuse_unbalanced(source)
    refuse_host_code(source.tokens, find_reserved_names(find_toolchain()), find_compiler_names)
    return source


def _refuse_unbalanced(source: Source) -> NoReturn:
    """Raise CompileError for unmatched brackets, with clang's message if it has one."""
    tokens = source.tokens
    edits = Edits(tokens.source)
    rewrite_keywords(tokens, edits)
    opening = build_preamble(tokens)
    code = TranslationUnit(opening + edits.apply(), edits, len(opening))
    check_syntax(code.text, find_toolchain(), Diagnostics(source, code).translate)
    stray = next(
        index
        for index, text in enumerate(tokens.text)
        if text in "()[]{}" and tokens.partner[index] < 0
    )
    raise CompileError(f"{tokens.locate_token(stray)}: error: {tokens.text[stray]} has no partner")
