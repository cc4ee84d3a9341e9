// kernel: qmm_q4_k.metal q8_0
