"""Plain rows as floats of four bits, E2M1, with one of eight, E4M3, for each group of 16."""

from metalbench.formats.tasks import quantize_small_floats

quantize_nvfp4 = quantize_small_floats("quantize_nvfp4", "nvfp4")
