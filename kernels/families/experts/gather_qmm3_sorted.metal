// kernel: gather_qmm4_sorted.metal q3_g64
