// kernel: conv1d_causal_silu.metal
