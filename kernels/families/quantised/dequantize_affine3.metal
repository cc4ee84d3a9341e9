// kernel: dequantize_affine4.metal q3_g64
