"""Number-theoretic transforms modulo 15 2^27 + 1 (BabyBear), of powers of two."""

from metalbench.task.fields import BABYBEAR, transform_task

ntt_babybear = transform_task("ntt_babybear", BABYBEAR, dtype="uint32")
