// kernel: ../../common/cumsum.metal
