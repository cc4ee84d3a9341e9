"""Programs in StableHLO, read and made plain by jaxlib's MLIR, as graphs."""

from __future__ import annotations

from typing import Any

from metalbench.hlo.graph import Block
from metalbench.hlo.reading.graph import block
from metalbench.hlo.reading.module import context, parse, plain

__all__ = ["block", "context", "parse", "plain", "read"]


def read(source: Any, filename: str = "<program>", entry: str = "main") -> Block:
    """The graph of a program: text, bytecode, a portable artifact, or a module of jaxlib.

    Raises DeclarationError if it is none, Unsupported, naming it, for what kernels cannot do.
    """
    module = parse(source, filename)  # must outlive the function, which is a part of it
    function = plain(module, entry, filename)
    return block(function.regions[0].blocks[0])
