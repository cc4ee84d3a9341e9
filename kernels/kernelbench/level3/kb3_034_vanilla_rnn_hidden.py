"""A recurrent network, step by step."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import even, rand


@problem(
    inputs=dict(x=rand("steps", "batch", "inner"), h0=rand("batch", "hidden")),
    small=dict(steps=9, batch=3, inner=20, hidden=17, features=11),
    odd=dict(steps=8, batch=5, inner=19, hidden=16, features=13),
    cpu=dict(steps=32, batch=4, inner=128, hidden=64, features=32),
    paper=dict(steps=256, batch=8, inner=1024, hidden=256, features=128),
)
def kb3_034_vanilla_rnn_hidden(nn, x, h0):
    w = nn.parameter("i2h.weight", (nn.hidden, nn.inner + nn.hidden), even(nn.inner + nn.hidden))
    b = nn.parameter("i2h.bias", (nn.hidden,), even(nn.inner + nn.hidden))
    h, states = h0, []
    for x_t in x:
        h = nn.tanh(nn.matmul(nn.concat([x_t, h], 1), nn.swapped(w)) + b)
        states.append(h)
    return nn.linear(nn.stack(states, 0), "h2o", nn.features)
