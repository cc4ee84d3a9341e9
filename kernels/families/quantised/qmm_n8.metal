// kernel: qmm_n4.metal q8_g64
