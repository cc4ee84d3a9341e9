"""Weights in nvfp4 as floats, times a factor for each row."""

from metalbench.formats.tasks import dequantize, mode

dequantize_nvfp4 = dequantize("dequantize_nvfp4", mode("nvfp4"))
