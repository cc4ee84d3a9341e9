"""A step of decoding: a new key and value into caches of 4 bits, and attention up to them."""

from metalbench.formats.caches import step_task

kv_step_quant4 = step_task("kv_step_quant4", 4)
