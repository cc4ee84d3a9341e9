"""Six LSTM layers, and a linear layer of the last step; the state before is given."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.layers import lstm
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(
        x=rand("batch", "steps", "inner"),
        h0=rand(6, "batch", "hidden"),
        c0=rand(6, "batch", "hidden"),
    ),
    small=dict(steps=7, batch=2, inner=8, hidden=12, features=5),
    odd=dict(steps=9, batch=3, inner=7, hidden=11, features=5),
    cpu=dict(steps=10, batch=4, inner=32, hidden=32, features=10),
    paper=dict(steps=512, batch=10, inner=128, hidden=256, features=10),
)
def kb3_035_lstm(nn, x, h0, c0):
    steps = nn.transpose(x, (1, 0, 2))
    y, _, _ = lstm(nn, steps, (h0, c0), layers=6)
    return nn.linear(y[-1], "fc", nn.features)
