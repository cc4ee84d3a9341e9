// kernel: sort_long.metal int32
