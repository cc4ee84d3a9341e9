// kernel: silu_gate.metal clipped_gate
