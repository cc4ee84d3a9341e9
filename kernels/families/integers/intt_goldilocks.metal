// kernel: ntt_goldilocks.metal inverse
