// kernel: qmm4.metal4.metal q6_g64
