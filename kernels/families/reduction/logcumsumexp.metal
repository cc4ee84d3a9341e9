// kernel: cummax.metal logcumsumexp
