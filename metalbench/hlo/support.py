"""What is supported, as the table of the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench.hlo.graph import ELEMENT_TYPES
from metalbench.hlo.operations import Kind, list_names

# Each row: its name, how the operations are computed, and their kinds.
_ROWS = (
    (
        "elementwise",
        "one thread an element; inlined into what uses them",
        (Kind.ELEMENTWISE, Kind.COMPOUND),
    ),
    ("movement", "maps of indices, no kernel of their own", (Kind.MOVEMENT,)),
    (
        "reductions, windows, products",
        "a loop in each thread; elementwise epilogues",
        (Kind.LOOP,),
    ),
    ("whole tensors", "kernels in one or more stages", (Kind.STAGED,)),
    ("matrices", "a threadgroup a matrix; XLA's custom calls", (Kind.FACTORIZATION,)),
    ("control flow", "decided by the host, which reads the predicate", (Kind.CONTROL_FLOW,)),
    ("legalised before", "shapes must be constants by then", (Kind.LEGALIZED,)),
)


def format_support_table() -> str:
    """Return operations and element types as Markdown."""
    lines = ["| operations | how | |", "|---|---|---|"]
    for name, how, kinds in _ROWS:
        lines.append(f"| {name} | {how} | {_format_names(sorted(list_names(*kinds)))} |")
    kept = [name for name, each in ELEMENT_TYPES.items() if not each.is_narrow]
    narrow = [name for name, each in ELEMENT_TYPES.items() if each.is_narrow]
    lines += [
        "",
        "| element types | |",
        "|---|---|",
        f"| as they are | {_format_names(kept)} |",
        f"| in a byte an element, cut after each operation | {_format_names(narrow)} |",
        "| refused by name | `f64`, `complex<f64>`, quantised, eight bits of floats and fewer |",
    ]
    return "\n".join(lines)


def _format_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)
