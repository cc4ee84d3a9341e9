// kernel: qmv_q4_k.metal q6_k
