// kernel: dequantize_mxfp4.metal nvfp4
