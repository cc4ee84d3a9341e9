// kernel: quantized_embedding4.metal q6_g64
