// kernel: qmm4.metal4.metal q8_g64
