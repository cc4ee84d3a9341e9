"""NetVLAD: soft assignment to clusters, some of them ghosts, and residuals."""

import math

from metalbench.kernelbench.problems.declaration import problem
from metalbench.kernelbench.problems.parameters import rand


@problem(
    inputs=dict(x=rand("batch", "count", "dims")),
    small=dict(batch=4, count=10, dims=24, clusters_kept=6, ghosts=3),
    odd=dict(batch=5, count=9, dims=23, clusters_kept=7, ghosts=2),
    cpu=dict(batch=8, count=32, dims=128, clusters_kept=16, ghosts=8),
    paper=dict(batch=2048, count=100, dims=512, clusters_kept=32, ghosts=16),
)
def kb3_046_net_vlad_with_ghost_clusters(nn, x):
    batch, count, dims = x.shape
    rows = nn.reshape(x, (batch * count, dims))
    total = nn.clusters_kept + nn.ghosts
    scores = nn.matmul(rows, nn.normal("clusters", dims, total, deviation=1 / math.sqrt(dims)))
    shares = nn.softmax(nn.batch_norm(scores, "batch_norm"), 1)
    shares = nn.reshape(shares, (batch, count, total))[..., : nn.clusters_kept]
    centres = nn.normal("clusters2", 1, dims, nn.clusters_kept, deviation=1 / math.sqrt(dims))
    vlad = nn.matmul(nn.swapped(x), shares) - nn.sum(shares, 1, keep=True) * centres
    vlad = vlad / nn.maximum(nn.root_of_squares(vlad, 1, keep=True), 1e-12)
    flat = nn.reshape(vlad, (batch, dims * nn.clusters_kept))
    return flat / nn.maximum(nn.root_of_squares(flat, 1, keep=True), 1e-12)
