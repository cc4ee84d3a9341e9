"""The keys of a cache of 4 bits, in groups of 64, as far as it is filled, as floats."""

from metalbench.formats.caches import dequantize_rows_task

kv_dequant4 = dequantize_rows_task("kv_dequant4", 4)
