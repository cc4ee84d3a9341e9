// kernel: qmm4.metal q8_g64
