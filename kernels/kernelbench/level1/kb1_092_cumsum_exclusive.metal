// kernel: ../../common/cumsum_exclusive.metal
