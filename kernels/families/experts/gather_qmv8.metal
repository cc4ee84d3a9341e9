// kernel: gather_qmv4.metal q8_g64
