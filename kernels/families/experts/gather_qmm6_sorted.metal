// kernel: gather_qmm4_sorted.metal q6_g64
