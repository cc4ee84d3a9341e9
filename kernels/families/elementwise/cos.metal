// kernel: sqrt.metal cos
