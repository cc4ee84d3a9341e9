// kernel: qmv_q4_k.metal q2_k
