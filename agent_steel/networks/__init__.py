"""Profile a neural network, find the tasks of its operations, and run it with their kernels."""
