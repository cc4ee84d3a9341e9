// kernel: silu_gate.metal sigmoid_gate
