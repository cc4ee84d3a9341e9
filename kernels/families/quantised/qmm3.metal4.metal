// kernel: qmm4.metal4.metal q3_g64
