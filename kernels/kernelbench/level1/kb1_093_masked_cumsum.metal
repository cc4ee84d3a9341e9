// kernel: ../../common/masked_cumsum.metal
