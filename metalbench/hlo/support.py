"""Format the table of supported operations and element types for the documentation."""

from __future__ import annotations

from collections.abc import Iterable

from metalbench.hlo.graph import ELEMENT_TYPES
from metalbench.hlo.operations import Kind, list_names

# Each row: name, method of computation, and kinds of operations.
_ROWS = (
    (
        "elementwise",
        "one thread for each element; inlined into their users",
        (Kind.ELEMENTWISE, Kind.COMPOUND),
    ),
    ("movement", "maps of indices; inlined into their users", (Kind.MOVEMENT,)),
    (
        "reductions, windows, products",
        "a loop in each thread, with elementwise epilogues",
        (Kind.LOOP,),
    ),
    ("whole tensors", "one or more stages, each a kernel", (Kind.STAGED,)),
    (
        "matrices",
        "one threadgroup for each matrix; custom calls of XLA",
        (Kind.FACTORIZATION,),
    ),
    ("control flow", "the host reads the predicate and runs the regions", (Kind.CONTROL_FLOW,)),
    ("legalised", "replaced by other operations; shapes must be static", (Kind.LEGALIZED,)),
)


def format_support_table() -> str:
    """Return the supported operations and element types as Markdown."""
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
        f"| one byte for each element, truncated after each operation | {_format_names(narrow)} |",
        "| refused by name | `f64`, `complex<f64>`, quantised, floats of eight bits or fewer |",
    ]
    return "\n".join(lines)


def _format_names(names: Iterable[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)
