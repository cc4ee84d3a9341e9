// kernel: qmm4_few.metal q8_g64
