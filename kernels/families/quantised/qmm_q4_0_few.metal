// kernel: qmm_q4_k_few.metal q4_0
