// kernel: sdpa_causal_gradient.metal bidirectional
