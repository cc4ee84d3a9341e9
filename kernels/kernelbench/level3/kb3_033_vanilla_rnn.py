"""One step of a recurrent network."""

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "inner"), initial_hidden=rand("batch", "hidden")),
    small=dict(batch=4, inner=48, hidden=40, features=24),
    odd=dict(batch=5, inner=47, hidden=41, features=23),
    cpu=dict(batch=16, inner=384, hidden=384, features=256),
    paper=dict(batch=256, inner=16384, hidden=16384, features=8192),
)
def kb3_033_vanilla_rnn(nn, x, initial_hidden):
    h = nn.tanh(nn.linear(nn.concat([x, initial_hidden], 1), "i2h", nn.hidden))
    return nn.linear(h, "h2o", nn.features)
