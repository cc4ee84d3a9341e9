// kernel: qmm_q4_k.metal q3_k
