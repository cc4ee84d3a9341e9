"""Causal attention of a block of new tokens over a cache of 4 bits that holds them too."""

from metalbench.formats.caches import prefix_task

qsdpa_prefix_block4 = prefix_task("qsdpa_prefix_block4", 4)
