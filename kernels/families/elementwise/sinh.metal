// kernel: sqrt.metal sinh
