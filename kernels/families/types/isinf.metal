// kernel: isnan.metal isinf
