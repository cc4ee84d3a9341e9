// kernel: kb4_001_gpt_neo_2p7b_bs32_seq256.metal
