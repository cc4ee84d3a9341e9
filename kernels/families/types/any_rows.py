"""Whether any truth value of every row is set."""

import mlx.core as mx

from metalbench.task.families import join_truths

any_rows = join_truths("any_rows", lambda x: mx.any(x, axis=-1), lambda x: x.any(axis=-1))
