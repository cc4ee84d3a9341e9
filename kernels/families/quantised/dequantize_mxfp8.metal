// kernel: dequantize_mxfp4.metal mxfp8
