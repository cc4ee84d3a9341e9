// kernel: dequantize_q4_k.metal iq4_xs
