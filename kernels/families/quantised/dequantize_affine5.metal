// kernel: dequantize_affine4.metal q5_g64
