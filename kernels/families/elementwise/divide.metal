// kernel: silu_gate.metal divide
