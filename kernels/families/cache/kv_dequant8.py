"""The keys of a cache of 8 bits, in groups of 64, as far as it is filled, as floats."""

from metalbench.formats.appending import filled

kv_dequant8 = filled("kv_dequant8", 8)
