"""The plugin for JAX, in separate processes, because JAX breaks tests that fork."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

# Scripts whose cases all run: one process takes as long for a part of them.
whole = pytest.mark.whole

FOLDER = Path(__file__).parent
# These build dozens of kernels each.
LONG = (
    "random_draws_of_many_kinds_are_xlas",
    "complex_matrices_have_xlas_inverses",
    "pseudo_inverses_are_xlas",
)
LIBRARIES = ("flax", "optax")


def python(script, *arguments, **environment):
    """Run a script in a process whose JAX platforms are metalbench's and XLA's."""
    variables = {
        "JAX_PLATFORMS": "metalbench,cpu",
        "METALBENCH_JAX_DEVICE": "cpu",
        **environment,
    }
    return subprocess.run(
        [sys.executable, *script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **variables},
        # Not in the checkout, whose folder `metalbench` would shadow the installed package.
        cwd=FOLDER,
    )


def names_in(script):
    """Return the names of a script's tests: functions without parameters at top level."""
    text = (FOLDER / script).read_text()
    return [name for name in re.findall(r"^def (\w+)\(\):", text, re.M) if name != "client"]


@cache
def outcomes(script, names, platforms="metalbench,cpu"):
    """Return the failure of each test, run in one process. A crash is reported for its test."""
    done = python([str(FOLDER / script)], *names, JAX_PLATFORMS=platforms)
    found = dict(json.loads(line) for line in done.stdout.splitlines())
    missing = dict.fromkeys(names, f"the process ended ({done.returncode})\n{done.stderr}")
    return {**missing, **found}


def check(script, name, names=None):
    wrong = outcomes(script, tuple(names or names_in(script)))[name]
    assert wrong is None, wrong


@pytest.fixture
def selected(request):
    """Return the names that the cases of this test have, of those that run."""
    test = (request.node.path, request.node.originalname)
    items = [each for each in request.session.items if (each.path, each.originalname) == test]
    return [each.callspec.params["name"] for each in items]


@pytest.mark.parametrize(
    "name", [each for each in names_in("functions_of_plugin.py") if each not in LONG]
)
def test_jax_through_the_plugin_is_jax(name, selected):
    check("functions_of_plugin.py", name, selected)


@whole
@pytest.mark.parametrize("name", names_in("callbacks_of_plugin.py"))
def test_callbacks_of_jax_run_on_the_host(name):
    check("callbacks_of_plugin.py", name)


@whole
@pytest.mark.parametrize("name", names_in("interrupts_of_plugin.py"))
def test_ctrl_c_is_keyboard_interrupt(name):
    check("interrupts_of_plugin.py", name)


@whole
@pytest.mark.parametrize("name", names_in("deferral_of_plugin.py"))
def test_deferred_programs_are_right(name):
    check("deferral_of_plugin.py", name)


@pytest.mark.slow
@pytest.mark.parametrize("name", LONG)
def test_jax_through_the_plugin_is_jax_in_the_long_run(name):
    check("functions_of_plugin.py", name, [name])


@whole
@pytest.mark.parametrize("name", names_in("calls_of_pjrt.py"))
def test_careless_callers_get_errors(name):
    check("calls_of_pjrt.py", name)


def random_calls(seed, calls):
    """Return the number of successful calls in a process that made random calls."""
    done = python([str(FOLDER / "fuzz_of_pjrt.py"), "--seed", str(seed), str(calls)])
    assert done.returncode == 0, f"{done.stdout.splitlines()[-1:]} {done.stderr}"
    return json.loads(done.stdout.splitlines()[-1])


def test_random_calls_end_no_process():
    found = random_calls(0, 3000)
    # Many calls must be valid, or only the checks of arguments would be tested.
    assert found["LoadedExecutable_Execute"] > 5
    assert len(found) > 60


@pytest.mark.parametrize("seed", range(1, 41))
def test_many_random_calls_end_no_process(seed):
    random_calls(seed, 3000)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gpt", "resnet"])
def test_models_train_as_under_xla(model):
    for each in LIBRARIES:
        pytest.importorskip(each, reason=f"trained with {each}: pip install 'metalbench[jax]'")
    done = python([str(FOLDER / "training_of_plugin.py")], model)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", names_in("libraries_of_plugin.py"))
def test_libraries_over_jax_run_unmodified(name):
    pytest.importorskip(name, reason=f"a program of {name}: pip install {name}")
    check("libraries_of_plugin.py", name, [name])


def test_the_plugin_is_used_only_if_it_is_named():
    script = "import jax; print(jax.default_backend(), len(jax.devices()))"
    done = python(["-c", script], JAX_PLATFORMS="cpu")
    assert done.stdout.split() == ["cpu", "1"], done.stderr


def test_a_missing_device_is_an_exception():
    done = python(["-c", "import jax; jax.devices()"], METALBENCH_JAX_DEVICE="toaster")
    assert done.returncode == 1, done.stderr
    assert "toaster" in done.stderr


COMPILATION = """
import os, signal, sys, threading
import jax
from metalbench.hlo.plugin import runtime

begun, compile_with_facts = threading.Event(), runtime.compile_with_facts

def compile_slowly(*arguments, **named):
    begun.set()
    for _ in range(3):
        found = compile_with_facts(*arguments, **named)
    return found

jax.devices()
runtime.compile_with_facts = compile_slowly
step = jax.jit(lambda x: jax.numpy.sort(x) * 3)
x = jax.device_put(jax.numpy.arange(4.0), jax.devices("cpu")[0])
x = jax.device_put(x, jax.devices()[0])
begun.clear()
signal.signal(signal.SIGINT, signal.default_int_handler)

def interrupt():
    begun.wait(300)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    step(x)
except KeyboardInterrupt:
    print("interrupted", END)
"""


@whole
@pytest.mark.parametrize(
    ("end", "printed"), [("step(x)", "interrupted [0. 3. 6. 9.]"), ("1", "interrupted 1")]
)
def test_ctrl_c_during_a_compilation_is_keyboard_interrupt(end, printed):
    # In the second case the process ends while the compilation goes on.
    done = python(["-c", COMPILATION.replace("END", end)])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == printed.split()


DEFERRED = """
import os, signal, threading
import jax
import jax.numpy as jnp
from metalbench.hlo.plugin import runtime

begun, build = threading.Event(), runtime.build_kernels

def build_endlessly(executables):
    begun.set()
    while True:
        pass

def interrupt():
    begun.wait(300)
    os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
jax.devices()
x = jnp.arange(4.0) * 1.75
runtime.build_kernels = build_endlessly
threading.Thread(target=interrupt).start()
try:
    jax.block_until_ready(x)
except KeyboardInterrupt:
    print("interrupted")
runtime.build_kernels = build
print(x)
"""


def test_ctrl_c_while_deferred_programs_are_built_is_keyboard_interrupt():
    done = python(["-c", DEFERRED])
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["interrupted", "[0.   1.75 3.5  5.25]"]
