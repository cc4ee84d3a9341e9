// kernel: quantize_affine4.metal q8_g64
