// kernel: sqrt.metal softcap
