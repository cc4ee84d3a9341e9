// kernel: cummax.metal cummin
