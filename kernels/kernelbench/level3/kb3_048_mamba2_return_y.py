"""Mamba-2's scan in chunks: all outputs."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.layers import scan_chunks, step_by_step
from metalbench.kernelbench.problems.parameters import rand


def parameters(nn):
    """A, B and C, which have a separate batch."""
    lead = (nn.batch, nn.steps, nn.heads)
    a = nn.normal("A", *lead)
    return a, nn.normal("B", *lead, nn.state), nn.normal("C", *lead, nn.state)


def exact(nn, x):
    """Step by step."""
    return step_by_step(nn, x, *parameters(nn))[0]


@problem(
    inputs=dict(x=rand("batch", "steps", "heads", "dims")),
    small=dict(batch=2, steps=24, heads=2, dims=6, state=4, chunk=8),
    odd=dict(batch=3, steps=21, heads=3, dims=5, state=7, chunk=7),
    cpu=dict(batch=2, steps=64, heads=2, dims=32, state=16, chunk=32),
    paper=dict(batch=2048, steps=128, heads=8, dims=64, state=16, chunk=64),
    divides=dict(steps="chunk"),
    oracle=exact,
)
def kb3_048_mamba2_return_y(nn, x):
    return scan_chunks(nn, x, *parameters(nn), chunk=nn.chunk)[0]
