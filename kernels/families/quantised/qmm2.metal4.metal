// kernel: qmm4.metal4.metal q2_g64
