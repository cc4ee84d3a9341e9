// kernel: dequantize_affine4.metal q6_g64
