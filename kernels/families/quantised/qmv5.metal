// kernel: qmv4.metal q5_g64
