// kernel: quantize_mxfp8.metal nvfp4
