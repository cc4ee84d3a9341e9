// kernel: qmv_q4_k.metal q8_0
