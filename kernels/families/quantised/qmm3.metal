// kernel: qmm4.metal q3_g64
