// kernel: sqrt.metal floor
