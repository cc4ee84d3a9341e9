"""What is supported, as the table of the documentation."""

from __future__ import annotations

from metalbench.hlo.emission import EMITTERS, WHOLE, factorizations
from metalbench.hlo.graph import ELEMENTS
from metalbench.hlo.passes.fusion import LOOPS, MOVES
from metalbench.hlo.running import CONTROL_FLOW

# Gone before kernels are made: by passes of StableHLO, or because they are shapes' alone.
_BEFORE = (
    "batch_norm_grad",
    "batch_norm_training",
    "composite",
    "dot",
    "dynamic_broadcast_in_dim",
    "dynamic_conv",
    "dynamic_gather",
    "dynamic_iota",
    "dynamic_pad",
    "dynamic_reshape",
    "func.call",
)


def table() -> str:
    """Operations and element types as Markdown."""
    elementwise = sorted(set(EMITTERS) - MOVES - LOOPS)
    rows = [
        ("elementwise", "one thread an element; inlined into what uses them", elementwise),
        ("movement", "maps of indices, no kernel of their own", sorted(MOVES)),
        ("reductions, windows, products", "a loop in each thread; elementwise epilogues", LOOPS),
        ("whole tensors", "kernels in one or more stages", WHOLE),
        ("matrices", "a threadgroup a matrix; XLA's custom calls", factorizations.FACTORIZATIONS),
        ("control flow", "decided by the host, which reads the predicate", CONTROL_FLOW),
        ("legalised before", "shapes must be constants by then", _BEFORE),
    ]
    lines = ["| operations | how | |", "|---|---|---|"]
    for name, how, operations in rows:
        lines.append(f"| {name} | {how} | {_listed(sorted(operations))} |")
    kept = [name for name, each in ELEMENTS.items() if not each.is_narrow]
    narrow = [name for name, each in ELEMENTS.items() if each.is_narrow]
    lines += [
        "",
        "| element types | |",
        "|---|---|",
        f"| as they are | {_listed(kept)} |",
        f"| in a byte an element, cut after each operation | {_listed(narrow)} |",
        "| refused by name | `f64`, `complex<f64>`, quantised, eight bits of floats and fewer |",
    ]
    return "\n".join(lines)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{each}`" for each in names)
