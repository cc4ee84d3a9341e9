// kernel: sqrt.metal square
