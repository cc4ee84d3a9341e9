// kernel: gather_qmv4.metal q3_g64
