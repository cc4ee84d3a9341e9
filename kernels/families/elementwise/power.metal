// kernel: silu_gate.metal power
