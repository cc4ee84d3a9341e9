// kernel: silu_gate.metal arctan2
