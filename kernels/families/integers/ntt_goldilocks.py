"""Number-theoretic transforms modulo 2^64 - 2^32 + 1 (Goldilocks), of powers of two."""

from metalbench.task.fields import GOLDILOCKS, transform_task

ntt_goldilocks = transform_task("ntt_goldilocks", GOLDILOCKS, dtype="uint64")
