// kernel: qmm4.metal q5_g64
