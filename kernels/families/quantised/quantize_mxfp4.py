"""Plain rows as floats of four bits, E2M1, with a power of two for each group of 32."""

from metalbench.formats.tasks import quantize_small_floats

quantize_mxfp4 = quantize_small_floats("quantize_mxfp4", "mxfp4")
