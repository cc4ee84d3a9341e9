// kernel: ../../common/softmax.metal
