// kernel: qmv4.metal q2_g64
