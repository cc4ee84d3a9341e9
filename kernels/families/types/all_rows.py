"""Whether all truth values of every row are set."""

import mlx.core as mx

from metalbench.task.families import join_truths

all_rows = join_truths("all_rows", lambda x: mx.all(x, axis=-1), lambda x: x.all(axis=-1))
