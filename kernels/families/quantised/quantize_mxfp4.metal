// kernel: quantize_mxfp8.metal mxfp4
