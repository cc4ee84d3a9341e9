// kernel: dequantize_affine4.metal q2_g64
