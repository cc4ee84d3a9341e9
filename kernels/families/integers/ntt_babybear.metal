// kernel: ntt_goldilocks.metal babybear
