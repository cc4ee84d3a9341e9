// kernel: qmv_q4_k.metal q5_1
