// kernel: silu_gate.metal remainder
