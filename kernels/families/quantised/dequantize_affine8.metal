// kernel: dequantize_affine4.metal q8_g64
