// kernel: dequantize_q4_k.metal q8_0
