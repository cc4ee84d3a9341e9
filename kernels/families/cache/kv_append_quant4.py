"""New keys of all heads into their positions of a cache of 4 bits, in groups of 64."""

from metalbench.formats.caches import append_task

kv_append_quant4 = append_task("kv_append_quant4", 4)
