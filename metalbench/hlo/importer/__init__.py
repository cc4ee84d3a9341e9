"""Import StableHLO programs: parse and legalise them with MLIR (jaxlib), then build a graph."""

from __future__ import annotations

from typing import Any

from metalbench.hlo.importer.graph import import_block
from metalbench.hlo.importer.module import get_context, legalize, parse
from metalbench.hlo.ir import Block

__all__ = ["get_context", "import_block", "legalize", "parse", "read"]


def read(source: Any, filename: str = "<program>", entry: str = "main") -> Block:
    """Return the graph of a program: text, bytecode, a portable artifact or a jaxlib module.

    Raise DeclarationError if it is not a StableHLO program, Unsupported with the operation's name
    if kernels cannot compute it.
    """
    module = parse(source, filename)  # must outlive the function, which is a part of it
    function = legalize(module, entry, filename)
    return import_block(function.regions[0].blocks[0])
