// kernel: kb4_011_electra_small_bs1_seq511.metal
