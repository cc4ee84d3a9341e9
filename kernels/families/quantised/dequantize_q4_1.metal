// kernel: dequantize_q4_k.metal q4_1
