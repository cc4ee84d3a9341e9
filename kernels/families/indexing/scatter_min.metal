// kernel: scatter_max.metal smallest
