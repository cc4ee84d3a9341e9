// kernel: gather_qmv4.metal q6_g64
