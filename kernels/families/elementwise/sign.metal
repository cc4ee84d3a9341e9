// kernel: sqrt.metal sign
