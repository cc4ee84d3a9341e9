// kernel: kb4_006_bart_large_bs1_seq1023.metal
