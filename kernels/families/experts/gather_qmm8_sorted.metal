// kernel: gather_qmm4_sorted.metal q8_g64
