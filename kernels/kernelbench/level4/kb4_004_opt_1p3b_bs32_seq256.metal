// kernel: kb4_002_opt_1p3b_bs1_seq2047.metal
