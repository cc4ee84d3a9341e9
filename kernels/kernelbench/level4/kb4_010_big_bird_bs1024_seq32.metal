// kernel: kb4_009_big_bird_bs32_seq256.metal
