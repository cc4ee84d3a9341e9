"""The keys of a cache of 4 bits, in groups of 64, as far as it is filled, as floats."""

from metalbench.formats.appending import filled

kv_dequant4 = filled("kv_dequant4", 4)
