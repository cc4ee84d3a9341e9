// kernel: silu_gate.metal gelu_gate
