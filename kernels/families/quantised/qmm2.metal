// kernel: qmm4.metal q2_g64
