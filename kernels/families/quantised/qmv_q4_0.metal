// kernel: qmv_q4_k.metal q4_0
