"""Declare an unambiguous name for a kernel, without commas, for the macro of its entry points."""

from __future__ import annotations

from metalbench.msl.reading.declarations import Declaration
from metalbench.msl.reading.lexer import lex
from metalbench.msl.reading.program import Source
from metalbench.msl.reading.reflect import EntryPoint
from metalbench.msl.rewriting.edits import Edits
from metalbench.msl.rewriting.keywords import rewrite_keywords
from metalbench.msl.rewriting.labels import rewrite_asm_labels
from metalbench.msl.rewriting.spaces import rewrite_address_spaces

_FUNCTION = "mb_kernel_function"


def name_entry_point(source: Source, edits: Edits, kernel: EntryPoint, *, spaces: bool) -> str:
    """Declare a name for the kernel; return the text that refers to it at global scope."""
    tokens = source.tokens
    if kernel.instantiation is None:
        if not _is_overloaded(source, kernel.primary):
            return f"static constexpr auto& mb_entry_function = {kernel.expression};\n"
        assert kernel.primary.parameters is not None
        text = _declare_reference(kernel, kernel.primary.parameters[0], spaces=spaces)
        edits.insert(tokens.end(kernel.primary.last - 1), f" {text}")
        return _declare_at_global_scope(kernel.primary)
    declaration = kernel.instantiation
    text = _declare_reference(kernel, kernel.signature, spaces=spaces)
    start, end = tokens.start[declaration.first], tokens.end(declaration.last - 1)
    edits.replace(start, end, text)
    return _declare_at_global_scope(declaration)


def _is_overloaded(source: Source, function: Declaration) -> bool:
    """Return whether another function of its scope has the same name."""
    return any(
        each is not function and each.kind == "function" and each.scope == function.scope
        for each in source.declarations_by_name[function.name]
    )


def _declare_reference(kernel: EntryPoint, signature: int | None, *, spaces: bool) -> str:
    """Return a declaration of a reference to the kernel; `signature` opens its parameter list."""
    target = f"auto& {_FUNCTION}"
    if signature is not None:
        tokens = kernel.tokens
        parameters = tokens.join(signature, tokens.partner[signature] + 1)
        target = f"void (&{_FUNCTION}){_rewrite_text(parameters, spaces=spaces)}"
    return f"static constexpr {target} = {_rewrite_text(kernel.expression, spaces=spaces)};"


def _declare_at_global_scope(declaration: Declaration) -> str:
    scope = "".join(f"::{name}" for name in declaration.scope)
    return f"static constexpr auto& mb_entry_function = {scope}::{_FUNCTION};\n"


def _rewrite_text(text: str, *, spaces: bool) -> str:
    """Return a name or a parameter list as C++."""
    tokens = lex(text)
    edits = Edits(text)
    if spaces:
        rewrite_address_spaces(tokens, edits, [0] if text.startswith("(") else [])
    rewrite_keywords(tokens, edits)
    rewrite_asm_labels(tokens, edits)
    return edits.apply().replace("\n", " ")
