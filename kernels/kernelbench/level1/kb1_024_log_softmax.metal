// kernel: ../../standard/log_softmax.metal
