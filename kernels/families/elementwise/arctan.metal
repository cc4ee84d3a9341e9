// kernel: sqrt.metal arctan
