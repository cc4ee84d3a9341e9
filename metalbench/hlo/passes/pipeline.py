"""The order and names of the passes."""

from __future__ import annotations

from collections.abc import Callable

from metalbench.hlo.ir import Block
from metalbench.hlo.passes.canonicalization import (
    fold_splats,
    name_custom_calls,
    remove_collectives,
    remove_dead_code,
)
from metalbench.hlo.passes.fourier import lower_transforms
from metalbench.hlo.passes.loops import fuse_loops
from metalbench.hlo.passes.lowering import (
    divide_scatters,
    lower_barriers,
    lower_concatenations,
    lower_selections,
    lower_sorts,
    split_reductions,
)
from metalbench.hlo.passes.matrix_products import restore_unit_batches
from metalbench.hlo.passes.packed_products import pack_products
from metalbench.hlo.passes.prefix_reductions import lower_prefix_reductions
from metalbench.hlo.passes.random_numbers import lower_random_numbers
from metalbench.hlo.passes.row_fusion import fuse_attention, fuse_row_products, fuse_rows
from metalbench.hlo.passes.triangular_solves import split_triangular_solves

# Passes for every program, at all levels.
INITIAL_PASSES: dict[str, Callable[[Block], None]] = {
    "name-custom-calls": name_custom_calls,
    "remove-collectives": remove_collectives,
    "split-barriers": lower_barriers,
    "split-concatenations": lower_concatenations,
    "split-transforms": lower_transforms,
    "lower-random-numbers": lower_random_numbers,
    "remove-dead-code": remove_dead_code,
}


def _restore_and_clean(block: Block) -> None:
    """Restore unit batches, and remove reshapes that have become unused."""
    restore_unit_batches(block)
    remove_dead_code(block)


def _fuse_and_clean(block: Block) -> None:
    """Fuse loops, and remove what only their conditions and initial states used."""
    fuse_loops(block)
    remove_dead_code(block)


def _select_and_clean(block: Block, device: str) -> None:
    """Lower selections, and remove sorts that have become unused."""
    lower_selections(block, device)
    remove_dead_code(block)


# The lowest level of a pass, and the pass on a block for a kind of device.
PASSES_BY_LEVEL: dict[str, tuple[int, Callable[[Block, str], None]]] = {
    "fold-splats": (1, lambda block, _: fold_splats(block)),
    "fuse-loops": (1, lambda block, _: _fuse_and_clean(block)),
    "split-triangular-solves": (1, lambda block, _: split_triangular_solves(block)),
    "restore-unit-batches": (3, lambda block, _: _restore_and_clean(block)),
    "fuse-rows": (3, lambda block, _: fuse_rows(block)),
    "fuse-attention": (3, fuse_attention),
    "fuse-row-products": (3, fuse_row_products),
    "split-selections": (1, _select_and_clean),
    "split-prefixes": (1, lower_prefix_reductions),
    "split-reductions": (1, lambda block, _: split_reductions(block)),
    "split-sorts": (1, lower_sorts),
    "divide-scatters": (1, divide_scatters),
    "pack-products": (1, pack_products),
}
PASSES = (*INITIAL_PASSES, *PASSES_BY_LEVEL)


def run_initial_passes(block: Block, until: str | None = None) -> None:
    """Run the passes of every level in place; `until` names the last one to run."""
    for name, transform in INITIAL_PASSES.items():
        transform(block)
        if name == until:
            return


def run_passes(block: Block, level: int, until: str | None = None, *, device: str = "") -> None:
    """Run the passes of an optimisation level in place; `until` names the last one to run.

    `device` is the target kind, or empty if it is unknown.
    """
    if until in INITIAL_PASSES:
        return
    for name, (lowest, transform) in PASSES_BY_LEVEL.items():
        if level >= lowest:
            transform(block, device)
        if name == until:
            return
