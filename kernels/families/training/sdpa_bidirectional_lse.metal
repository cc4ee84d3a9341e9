// kernel: sdpa_causal_lse.metal bidirectional
