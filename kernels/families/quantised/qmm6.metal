// kernel: qmm4.metal q6_g64
