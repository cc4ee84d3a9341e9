// kernel: sqrt.metal sin
