"""Interrupt programs of JAX that run through the plugin, by name.

Print a line of JSON for each function: its name, and the failure or null.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from functions_of_plugin import outcome
from jax import lax

X = np.arange(4, dtype=np.float32)
BEGUN = threading.Event()


def interrupt_later(mark):
    """Send SIGINT to this process after `mark` is set."""

    def send():
        mark.wait(300)
        os.kill(os.getpid(), signal.SIGINT)

    mark.clear()
    thread = threading.Thread(target=send)
    thread.start()
    return thread


@jax.jit
def run_endlessly(x, ends):
    """Run a loop that ends at once, or never. It sets BEGUN."""
    jax.debug.callback(lambda x: BEGUN.set(), x)
    return lax.while_loop(lambda x: ends ^ (x.sum() > -1), lambda x: jnp.abs(jnp.sin(x)), x)


def ctrl_c_ends_a_run_and_the_next_one_is_right():
    np.testing.assert_array_equal(run_endlessly(X, True), X)
    for _ in range(3):
        thread = interrupt_later(BEGUN)
        with pytest.raises(KeyboardInterrupt):
            run_endlessly(X, False)
        thread.join()
        np.testing.assert_array_equal(run_endlessly(X, True), X)


def ctrl_c_ends_the_fast_path_of_a_program_without_effects():
    @jax.jit
    def endless(x, ends):
        begin = lambda x: np.asarray(BEGUN.set() or x)  # noqa: E731
        x = jax.pure_callback(begin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        return lax.while_loop(lambda x: ends ^ (x.sum() > -1), lambda x: jnp.abs(jnp.sin(x)), x)

    for _ in range(2):
        endless(X, True)
    thread = interrupt_later(BEGUN)
    with pytest.raises(KeyboardInterrupt):
        endless(X, False)
    thread.join()
    np.testing.assert_array_equal(endless(X, True), X)


def ctrl_c_in_a_callback_ends_the_program():
    def wait(x):
        BEGUN.set()
        while True:
            pass

    call = jax.jit(lambda x: jax.pure_callback(wait, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    thread = interrupt_later(BEGUN)
    with pytest.raises(KeyboardInterrupt):
        call(X)
    thread.join()


def handlers_of_the_program_run_once_and_need_not_raise():
    seen = []
    enough = threading.Event()

    def stop(number, frame):
        seen.append(number)
        enough.set()

    @jax.jit
    def until_seen(x):
        jax.debug.callback(lambda x: BEGUN.set(), x)
        more = jax.ShapeDtypeStruct((), np.bool_)
        return lax.while_loop(
            lambda x: jax.pure_callback(lambda x: np.bool_(not enough.is_set()), more, x),
            lambda x: x + 1,
            x,
        )

    before = signal.signal(signal.SIGINT, stop)
    try:
        thread = interrupt_later(BEGUN)
        assert until_seen(0) >= 0
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


if __name__ == "__main__":
    # A shell that runs this in the background ignores SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for each in sys.argv[1:]:
        print(json.dumps([each, outcome(globals()[each])]), flush=True)
