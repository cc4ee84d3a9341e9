"""Sources whose brackets do not match: nothing can be rewritten, but clang can say where."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from metalbench._core import CompileError
from metalbench.msl.compiler import check_syntax
from metalbench.msl.diagnostics import Diagnostics
from metalbench.msl.edits import Code, Edits
from metalbench.msl.keywords import rewrite_keywords
from metalbench.msl.lower import prologue
from metalbench.msl.toolchain import toolchain

if TYPE_CHECKING:
    from metalbench.msl.program import Source


def refuse_unbalanced(source: Source) -> NoReturn:
    """Raise CompileError with clang's messages for a source with a stray or missing bracket."""
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
