// kernel: qmm_q4_k.metal q6_k
