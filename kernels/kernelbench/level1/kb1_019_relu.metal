// kernel: ../../common/relu.metal
