// kernel: dequantize_q4_k.metal q5_0
