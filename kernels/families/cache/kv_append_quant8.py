"""New keys of all heads into their positions of a cache of 8 bits, in groups of 64."""

from metalbench.formats.caches import append_task

kv_append_quant8 = append_task("kv_append_quant8", 8)
