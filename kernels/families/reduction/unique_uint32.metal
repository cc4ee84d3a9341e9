// kernel: unique.metal uint32
