"""Transform a graph before code generation; each module is one pass."""

from metalbench.hlo.passes.attention import fuse_attention
from metalbench.hlo.passes.custom_calls import name_custom_calls
from metalbench.hlo.passes.dead_code import remove_dead_code
from metalbench.hlo.passes.folding import fold_splats
from metalbench.hlo.passes.fourier import lower_transforms
from metalbench.hlo.passes.fusion import choose_inlined_values
from metalbench.hlo.passes.merging import lower_sorts
from metalbench.hlo.passes.partial_reductions import split_reductions
from metalbench.hlo.passes.pipeline import PASSES, run_initial_passes, run_passes
from metalbench.hlo.passes.rows import fuse_rows
from metalbench.hlo.passes.splitting import lower_barriers, lower_concatenations
from metalbench.hlo.passes.unit_batches import restore_unit_batches

__all__ = [
    "PASSES",
    "choose_inlined_values",
    "fold_splats",
    "fuse_attention",
    "fuse_rows",
    "lower_barriers",
    "lower_concatenations",
    "lower_sorts",
    "lower_transforms",
    "name_custom_calls",
    "remove_dead_code",
    "restore_unit_batches",
    "run_initial_passes",
    "run_passes",
    "split_reductions",
]
