"""Modules in KernelBench's format, of our own making; the text of files."""

from __future__ import annotations

CONV = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, channels, filters):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(filters)
        self.up = nn.ConvTranspose2d(filters, channels, 2, stride=2, groups=2)

    def forward(self, x):
        y = torch.relu(self.norm(self.conv(x)))
        y = nn.functional.avg_pool2d(self.up(y), 2)
        return y + 1.5


batch_size = 16
channels = 8
filters = 4 * 16
side = 32


def get_inputs():
    return [torch.rand(batch_size, channels, side, side)]


def get_init_inputs():
    return [channels, filters]
"""

NORMS = '''
import torch
import torch.nn as nn


class Model(nn.Module):
    """A product, then a chain of norms and activations."""

    def __init__(self, inner, features):
        super().__init__()
        self.linear = nn.Linear(inner, features)
        self.group = nn.GroupNorm(4, features)
        self.layer = nn.LayerNorm(features)
        self.scale = nn.Parameter(torch.randn(features))

    def forward(self, x, shift):
        y = self.group(self.linear(x))
        y = nn.functional.gelu(self.layer(y)) * self.scale
        return torch.logsumexp(torch.clamp(y + shift, -2.0, 2.0), dim=1, keepdim=True)


batch_size, inner = 64, 128
features = 256


def get_inputs():
    return [torch.rand(64, 128), torch.rand(64, 256)]


def get_init_inputs():
    return [128, 256]
'''

ATTENTION = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self, dims, heads, most):
        super().__init__()
        self.qkv = nn.Linear(dims, 3 * dims)
        self.out = nn.Linear(dims, dims)
        self.heads = heads
        self.register_buffer("mask", torch.tril(torch.ones(most, most)))

    def forward(self, x):
        batch, tokens, dims = x.size()
        q, k, v = self.qkv(x).split(dims, dim=2)
        q, k, v = (each.view(batch, tokens, self.heads, dims // self.heads).transpose(1, 2)
                   for each in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(dims // self.heads)
        scores = scores.masked_fill(self.mask[:tokens, :tokens] == 0, float("-inf"))
        y = (F.softmax(scores, dim=-1) @ v).transpose(1, 2).contiguous()
        return self.out(y.view(batch, tokens, dims))


batch_size = 4
tokens = 32
dims = 64
heads = 4
window = 128


def get_inputs():
    return [torch.randn(batch_size, tokens, dims)]


def get_init_inputs():
    return [dims, heads, window]
"""

LSTM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, inner, hidden, features):
        super().__init__()
        self.lstm = nn.LSTM(inner, hidden, 2, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, features)

    def forward(self, x, h0, c0):
        y, (h, c) = self.lstm(x, (h0, c0))
        return self.fc(y[:, -1, :]), c


batch_size = 3
hidden = 16


def get_inputs():
    return [torch.rand(batch_size, 5, 10), torch.rand(4, batch_size, hidden),
            torch.rand(4, batch_size, hidden)]


def get_init_inputs():
    return [10, hidden, 8]
"""

# Its own operation is none that MLX is asked for here, and whole numbers go in and come out.
UNKNOWN = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, places):
        return torch.sort(x, dim=1).values.gather(1, places), torch.argmax(x, dim=1)


rows = 32
columns = 64


def get_inputs():
    return [torch.rand(rows, columns), torch.randint(0, 8, (rows, columns))]


def get_init_inputs():
    return []
"""

# A number that is called as an array is, one that the constructor asks for, one that forward makes,
# windows, and results that cancel out.
NUMBERS = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.share = [each.item() for each in torch.linspace(0, 0.5, 3)][1]
        self.norm = nn.GroupNorm(2, features)

    def forward(self, x, B):
        y = self.norm(torch.min(x + B, torch.tensor(2.0, device=x.device)) * self.share)
        y = y.unfold(2, 4, 4)
        return y.sum(dim=3), self.norm(x).mean(dim=[1, 2])


b = 16
features = 8


def get_inputs():
    return [torch.rand(b, features, 32), torch.rand(b, features, 32)]


def get_init_inputs():
    return [features]
"""

MODULES = {
    "conv": CONV,
    "norms": NORMS,
    "attention": ATTENTION,
    "lstm": LSTM,
    "numbers": NUMBERS,
    "unknown": UNKNOWN,
}

_REST = """
def get_inputs():
    return [torch.rand(8, 8)]


def get_init_inputs():
    return []
"""
_MODEL = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return {}
"""
# What is wrong, and what is said of it.
WRONG = {
    "no_model": ("import torch\n" + _REST, "expected a class 'Model'"),
    "no_inputs": (_MODEL.format("x"), "expected a function 'get_inputs'"),
    "syntax": ("def (:\n", r"line 1: SyntaxError"),
    "no_such_import": ("import no_such_package\n", "line 1: ModuleNotFoundError"),
    "arguments": (_MODEL.format("x") .replace("(self, x)", "(self, x, y)") + _REST, "forward"),
    "does_not_run": (_MODEL.format("x @ torch.ones(3, 3)") + _REST, "line 8: RuntimeError"),
    "flow": (_MODEL.format("x if x.sum() > 0 else -x") + _REST, "cannot be traced|line 8"),
    "random": (_MODEL.format("nn.functional.dropout(x, 0.5)") + _REST, "random numbers"),
    "kind": (_MODEL.format("x.to(torch.complex64)") + _REST, "complex64"),
    "no_tensor": (
        _MODEL.format("x") + _REST.replace("[torch.rand(8, 8)]", "[3]"),
        "expected at least one tensor",
    ),
    "no_module": ("class Model:\n    pass\n\nimport torch\n" + _REST, "expected a torch.nn.Module"),
}  # fmt: skip
