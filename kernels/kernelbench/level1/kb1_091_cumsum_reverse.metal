// kernel: ../../common/cumsum_reverse.metal
