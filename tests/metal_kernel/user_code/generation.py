"""A loop over tokens, as generation code has it: a separate stream, wired memory, a cache."""

from __future__ import annotations

import contextlib

import mlx.core as mx

generation_stream = mx.new_stream(mx.default_device())


@contextlib.contextmanager
def wired_limit(model_bytes):
    """Ask for as much memory as the GPU is advised to use."""
    if not mx.metal.is_available():
        yield
        return
    most = mx.device_info()["max_recommended_working_set_size"]
    if model_bytes > 0.9 * most:
        raise MemoryError(model_bytes)
    before = mx.set_wired_limit(most)
    try:
        yield
    finally:
        mx.synchronize(generation_stream)
        mx.set_wired_limit(before)


class Cache:
    """The state after the tokens so far."""

    def __init__(self):
        self.state = None
        self.offset = 0

    def step(self, layer, tokens, bias):
        """Outputs for more tokens: the first ones at once, then one by one."""
        length = tokens["q"].shape[1]
        self.offset += length
        call = layer.retention if self.state is None else layer.retention_step
        y, self.state = call(tokens["q"], tokens["k"], tokens["v"], tokens["a"], bias, self.state)
        return y


def generate(layer, tokens, bias, first):
    """Outputs for all tokens, of which the `first` ones are a prompt."""
    cache = Cache()
    length = tokens["q"].shape[1]
    cuts = [slice(0, first), *(slice(t, t + 1) for t in range(first, length))]
    with wired_limit(sum(each.nbytes for each in tokens.values())):
        found = []
        for cut in cuts:
            with mx.stream(generation_stream):
                part = {name: each[:, cut] for name, each in tokens.items()}
                found.append(cache.step(layer, part, bias))
            mx.async_eval(found[-1], cache.state)
    assert cache.offset == length
    return mx.concatenate(found, axis=1)
