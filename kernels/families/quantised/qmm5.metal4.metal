// kernel: qmm4.metal4.metal q5_g64
