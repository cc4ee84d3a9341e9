"""The name by which the entry points find the kernel: without commas, and of one function alone."""

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
    """Give the kernel a name without commas; return the text that refers to it at global scope."""
    tokens = source.tokens
    if kernel.instantiation is None:
        if not _overloaded(source, kernel.primary):
            return f"static constexpr auto& mb_entry_function = {kernel.expression};\n"
        assert kernel.primary.parameters is not None
        text = _reference(kernel, kernel.primary.parameters[0], spaces=spaces)
        edits.insert(tokens.end(kernel.primary.last - 1), f" {text}")
        return _at_global_scope(kernel.primary)
    declaration = kernel.instantiation
    text = _reference(kernel, kernel.signature, spaces=spaces)
    start, end = tokens.start[declaration.first], tokens.end(declaration.last - 1)
    edits.replace(start, end, text)
    return _at_global_scope(declaration)


def _overloaded(source: Source, function: Declaration) -> bool:
    """Whether another function of its scope has the same name, so that types tell them apart."""
    return any(
        each is not function and each.kind == "function" and each.scope == function.scope
        for each in source.declarations_by_name[function.name]
    )


def _reference(kernel: EntryPoint, signature: int | None, *, spaces: bool) -> str:
    """The declaration of a name for the kernel; `signature` opens the parameters that it has."""
    target = f"auto& {_FUNCTION}"
    if signature is not None:
        tokens = kernel.tokens
        parameters = tokens.join(signature, tokens.partner[signature] + 1)
        target = f"void (&{_FUNCTION}){_rewritten(parameters, spaces=spaces)}"
    return f"static constexpr {target} = {_rewritten(kernel.expression, spaces=spaces)};"


def _at_global_scope(declaration: Declaration) -> str:
    scope = "".join(f"::{name}" for name in declaration.scope)
    return f"static constexpr auto& mb_entry_function = {scope}::{_FUNCTION};\n"


def _rewritten(text: str, *, spaces: bool) -> str:
    """A name or the parameters of a function, by themselves."""
    tokens = lex(text)
    edits = Edits(text)
    if spaces:
        rewrite_address_spaces(tokens, edits, [0] if text.startswith("(") else [])
    rewrite_keywords(tokens, edits)
    rewrite_asm_labels(tokens, edits)
    return edits.apply().replace("\n", " ")
