"""Small networks as files in KernelBench's form."""

from __future__ import annotations

from pathlib import Path

MLX = """
import mlx.core as mx
import mlx.nn as nn
from mlx.core import softmax

rows, dims = 16, 32


class Model(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.norm = nn.LayerNorm(dims)
        self.up = nn.Linear(dims, 2 * dims)
        self.down = nn.Linear(2 * dims, dims)
        self.relu = nn.ReLU()

    def __call__(self, x):
        y = self.down(nn.gelu(self.up(self.norm(x))))
        return softmax(self.relu(self.relu(x + y)), axis=-1) * 0.5


def get_inputs():
    return [mx.random.normal((2, rows, dims))]


def get_init_inputs():
    return [dims]
"""
TORCH = """
import torch
import torch.nn as nn
import torch.nn.functional as F

rows, dims = 16, 32


class Model(nn.Module):
    def __init__(self, dims):
        super().__init__()
        self.norm = nn.LayerNorm(dims)
        self.up = nn.Linear(dims, 2 * dims)
        self.down = nn.Linear(2 * dims, dims)

    def forward(self, x):
        y = self.down(F.gelu(self.up(self.norm(x))))
        return torch.softmax(F.relu(F.relu(x + y)), dim=-1) * 0.5


def get_inputs():
    return [torch.randn(2, rows, dims)]


def get_init_inputs():
    return [dims]
"""


def write_network(folder: Path, text: str = MLX, name: str = "net.py") -> Path:
    """Write a network's file, and return its path."""
    path = folder / name
    path.write_text(text)
    return path
