// kernel: ../../common/swish.metal
