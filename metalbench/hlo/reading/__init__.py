"""Programs in StableHLO, read and made plain by jaxlib's MLIR, as graphs."""

from __future__ import annotations

from typing import Any

from metalbench.hlo.graph import Block
from metalbench.hlo.reading.graph import import_block
from metalbench.hlo.reading.module import get_context, legalize, parse

__all__ = ["get_context", "import_block", "legalize", "parse", "read"]


def read(source: Any, filename: str = "<program>", entry: str = "main") -> Block:
    """The graph of a program: text, bytecode, a portable artifact, or a module of jaxlib.

    Raises DeclarationError if it is none, Unsupported, naming it, for what kernels cannot do.
    """
    module = parse(source, filename)  # must outlive the function, which is a part of it
    function = legalize(module, entry, filename)
    return import_block(function.regions[0].blocks[0])
