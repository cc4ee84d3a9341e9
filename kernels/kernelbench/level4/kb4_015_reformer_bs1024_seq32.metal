// kernel: kb4_013_reformer_bs32_seq256.metal
