"""Plain rows as floats of eight bits, E4M3, with a power of two for each group of 32."""

from metalbench.formats.tasks import quantize_small_floats

quantize_mxfp8 = quantize_small_floats("quantize_mxfp8", "mxfp8")
