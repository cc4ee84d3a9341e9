// kernel: sqrt.metal round
