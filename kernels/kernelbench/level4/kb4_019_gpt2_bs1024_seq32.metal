// kernel: kb4_007_gpt2_bs32_seq256.metal
