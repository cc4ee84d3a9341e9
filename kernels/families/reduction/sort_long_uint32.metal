// kernel: sort_long.metal uint32
