// kernel: sqrt.metal erfinv
