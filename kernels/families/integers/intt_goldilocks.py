"""Inverse number-theoretic transforms modulo 2^64 - 2^32 + 1 (Goldilocks)."""

from metalbench.task.fields import GOLDILOCKS, transform_task

intt_goldilocks = transform_task("intt_goldilocks", GOLDILOCKS, dtype="uint64", inverse=True)
