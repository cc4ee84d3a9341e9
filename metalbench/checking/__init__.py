"""Checked runs of kernels: findings with their location, threads and count."""
