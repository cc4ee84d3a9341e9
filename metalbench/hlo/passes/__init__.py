"""What is done to a graph before it becomes kernels, one pass a file."""

from metalbench.hlo.passes.attention import fuse_attention
from metalbench.hlo.passes.custom_calls import name_custom_calls
from metalbench.hlo.passes.dead_code import remove_dead_code
from metalbench.hlo.passes.folding import fold_splats
from metalbench.hlo.passes.fourier import split_transforms
from metalbench.hlo.passes.fusion import inlined_values
from metalbench.hlo.passes.merging import split_sorts
from metalbench.hlo.passes.partial_reductions import split_reductions
from metalbench.hlo.passes.pipeline import PASSES, run_first_passes, run_passes
from metalbench.hlo.passes.rows import fuse_rows
from metalbench.hlo.passes.splitting import split_barriers, split_concatenations
from metalbench.hlo.passes.unit_batches import restore_unit_batches

__all__ = [
    "PASSES",
    "fold_splats",
    "fuse_attention",
    "fuse_rows",
    "inlined_values",
    "name_custom_calls",
    "remove_dead_code",
    "restore_unit_batches",
    "run_first_passes",
    "run_passes",
    "split_barriers",
    "split_concatenations",
    "split_reductions",
    "split_sorts",
    "split_transforms",
]
