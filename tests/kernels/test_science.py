"""Kernels of the family `science` keep what physics conserves, and have known solutions.

Conserved quantities are those of the scheme, not only of the differential equation: they change by
rounding errors alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_outputs import compute

from metalbench.kernel.library import Library
from metalbench.task.grids import sum_differences

LIBRARY = Library()
Array = np.ndarray[Any, Any]


@pytest.mark.parametrize("name", ["heat_2d", "heat_3d"])
class TestHeat:
    def test_is_conserved(self, name: str) -> None:
        before, after = compute(name)
        u, y = before["u"].astype(np.float64), after["y"].astype(np.float64)
        assert abs(y.sum() - u.sum()) <= 1e-6 * np.abs(u).sum()

    def test_has_no_new_extremes(self, name: str) -> None:
        before, after = compute(name)
        assert after["y"].max() < before["u"].max()
        assert after["y"].min() > before["u"].min()

    def test_a_cosine_decays_by_its_eigenvalue(self, name: str) -> None:
        task = LIBRARY.entry(name).task
        shape = task.inputs["u"].shape_at(task.values("odd1"))
        modes = range(2, 2 + len(shape))
        u, rate = np.ones(shape), 0.0
        for axis, mode in enumerate(modes):
            wave = np.pi * mode / shape[axis]
            places = np.cos(wave * (np.arange(shape[axis]) + 0.5))
            u = u * np.expand_dims(places, [k for k in range(len(shape)) if k != axis])
            rate += 4 * np.sin(wave / 2) ** 2
        decay = (1 - task.constants["rate"] * rate) ** task.constants["steps"]
        _, after = compute(name, u=u.astype(np.float32))
        np.testing.assert_allclose(after["y"], decay * u, atol=2e-6)


def test_waves_keep_their_energy() -> None:
    """Leapfrog conserves |now - before|^2 / c^2 - rate <now, differences(before)>."""

    def energy(before: Array, now: Array, speed: Array) -> float:
        before, now, speed = (x.astype(np.float64) for x in (before, now, speed))
        kinetic = ((now - before) ** 2 / speed**2).sum()
        return float(kinetic - 0.4 * (now * sum_differences(before)).sum())

    given, found = compute("wave_2d")
    start = energy(given["before"], given["now"], given["speed"])
    end = energy(found["y_before"], found["y"], given["speed"])
    assert start > 0
    assert abs(end - start) <= 1e-5 * start
    assert np.abs(found["y"] - given["now"]).max() > 0.5


def test_bodies_keep_their_momentum() -> None:
    given, found = compute("n_body", "small")
    mass = given["mass"].astype(np.float64)
    momentum = mass @ given["velocity"].astype(np.float64)
    changed = found["y_velocity"].astype(np.float64)
    assert np.abs(changed - given["velocity"]).max() > 0.01
    assert np.abs(mass @ changed - momentum).max() <= 1e-6 * (mass @ np.abs(changed)).max()


class TestLatticeBoltzmann:
    def test_keeps_mass_around_walls(self) -> None:
        given, found = compute("lattice_boltzmann")
        assert given["solid"].any()
        before, after = (x.astype(np.float64).sum() for x in (given["f"], found["y"]))
        assert abs(after - before) <= 1e-6 * before

    def test_keeps_momentum_without_walls(self) -> None:
        velocities = np.array(
            [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]]
        )
        solid = np.zeros((37, 65), np.uint8)
        given, found = compute("lattice_boltzmann", solid=solid)
        before, after = (
            np.einsum("iyx,id->d", x.astype(np.float64), velocities)
            for x in (given["f"], found["y"])
        )
        assert np.abs(after - before).max() <= 1e-6 * given["f"].sum()

    def test_fluid_at_rest_stays_at_rest(self) -> None:
        weights = np.array([4 / 9, *[1 / 9] * 4, *[1 / 36] * 4], np.float32)
        f = np.broadcast_to(weights[:, None, None], (9, 37, 65)).copy()
        _, found = compute("lattice_boltzmann", f=f)
        np.testing.assert_allclose(found["y"], f, atol=1e-7)


class TestIsing:
    @staticmethod
    def energy(spins: Array) -> int:
        wide = spins.astype(np.int64)
        return -int((wide * (np.roll(wide, 1, 0) + np.roll(wide, 1, 1))).sum())

    def test_without_temperature_the_energy_only_falls(self) -> None:
        given, found = compute("ising_2d", constants=dict(accept_two=0, accept_four=0))
        assert self.energy(found["y"]) < self.energy(given["spins"])

    def test_aligned_spins_without_temperature_stay(self) -> None:
        spins = np.ones((38, 68), np.int8)
        none = dict(accept_two=0, accept_four=0)
        _, found = compute("ising_2d", constants=none, spins=spins)
        assert (found["y"] == 1).all()

    def test_at_infinite_temperature_each_sweep_turns_every_spin(self) -> None:
        always = dict(accept_two=2**32 - 1, accept_four=2**32 - 1)
        given, found = compute("ising_2d", constants=always)
        np.testing.assert_array_equal(found["y"], given["spins"])


@pytest.mark.parametrize(("name", "axis"), [("tridiagonal_columns", 0), ("tridiagonal_rows", 1)])
def test_tridiagonal_solutions_satisfy_their_equations(name: str, axis: int) -> None:
    given, found = compute(name)
    lower, diagonal, upper, right = (
        np.moveaxis(given[each].astype(np.float64), axis, 0)
        for each in ("lower", "diagonal", "upper", "right")
    )
    y = np.moveaxis(found["y"].astype(np.float64), axis, 0)
    product = diagonal * y
    product[1:] += lower[1:] * y[:-1]
    product[:-1] += upper[:-1] * y[1:]
    np.testing.assert_allclose(product, right, atol=1e-5)


@pytest.mark.parametrize("name", ["csr_spmv", "csr_spmm"])
def test_sparse_products_agree_with_scipy(name: str) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    given, found = compute(name)
    cells = (given["values"].astype(np.float64), given["columns"], given["offsets"])
    matrix = sparse.csr_matrix(cells, shape=(len(given["offsets"]) - 1, len(given["x"])))
    np.testing.assert_allclose(found["y"], matrix @ given["x"], rtol=1e-4, atol=1e-4)


class TestAlternatingDirections:
    def test_heat_is_conserved(self) -> None:
        given, found = compute("adi_2d")
        u, y = (x.astype(np.float64) for x in (given["u"], found["y"]))
        assert abs(y.sum() - u.sum()) <= 1e-6 * np.abs(u).sum()

    def test_a_cosine_decays_as_peaceman_and_rachford_say(self) -> None:
        rows, cols = 129, 67
        waves = np.pi * 3 / rows, np.pi * 5 / cols
        down = np.cos(waves[0] * (np.arange(rows) + 0.5))
        across = np.cos(waves[1] * (np.arange(cols) + 0.5))
        u = np.outer(down, across)[None]
        half_rate = LIBRARY.entry("adi_2d").task.constants["rate"] / 2
        steps = [4 * half_rate * np.sin(wave / 2) ** 2 for wave in waves]
        decay = np.prod([(1 - step) / (1 + step) for step in steps])
        _, found = compute("adi_2d", u=u.astype(np.float32))
        np.testing.assert_allclose(found["y"], decay * u, atol=1e-5)


class TestMultigrid:
    """A V-cycle is a linear function of the side, symmetric, and nearly the inverse."""

    SIZE = "batch=2,n=63"

    def solved(self, f: Array) -> Array:
        _, found = compute("poisson_multigrid", self.SIZE, f=f.astype(np.float32))
        return found["y"].astype(np.float64)

    @staticmethod
    def multiplied(u: Array) -> Array:
        padded = np.pad(u, [(0, 0), (1, 1), (1, 1)])
        beside = padded[:, 1:-1, :-2] + padded[:, 1:-1, 2:]
        return 4 * u - beside - padded[:, :-2, 1:-1] - padded[:, 2:, 1:-1]

    def test_a_cycle_leaves_little_of_a_smooth_error(self) -> None:
        places = np.pi * np.arange(1, 64) / 64
        u = np.stack([np.outer(np.sin(places), np.sin(k * places)) for k in (1, 3)])
        error = self.solved(self.multiplied(u)) - u
        assert np.abs(error).max() < 0.25 * np.abs(u).max()

    def test_a_cycle_leaves_little_of_any_error(self) -> None:
        u = np.random.Generator(np.random.Philox(1)).standard_normal((2, 63, 63))
        error = self.solved(self.multiplied(u)) - u
        energy = [(x * self.multiplied(x)).sum() for x in (error, u)]
        assert energy[0] < 0.2**2 * energy[1]

    def test_it_is_symmetric(self) -> None:
        f = np.random.Generator(np.random.Philox(2)).standard_normal((2, 63, 63))
        y = self.solved(f)
        first, second = (f[0] * y[1]).sum(), (f[1] * y[0]).sum()
        assert abs(first - second) <= 1e-5 * np.sqrt((f[0] ** 2).sum() * (y[1] ** 2).sum())


class TestLennardJones:
    def test_forces_of_all_particles_cancel(self) -> None:
        _, found = compute("lennard_jones")
        force = found["force"].astype(np.float64)
        assert np.abs(force).max() > 1
        assert np.abs(force.sum(axis=0)).max() <= 1e-6 * np.abs(force).sum()

    def test_forces_are_the_slope_of_the_energy(self) -> None:
        given, found = compute("lennard_jones")
        random = np.random.Generator(np.random.Philox(3))
        way = random.uniform(-1, 1, given["position"].shape)
        box = np.float32(1.125 * 8)
        by = 1e-3
        energies = []
        for sign in (1, -1):
            moved = np.mod(given["position"] + sign * by * way, box).astype(np.float32)
            moved[moved >= box] = 0
            _, there = compute("lennard_jones", position=moved)
            energies.append(there["energy"].astype(np.float64).sum())
        slope = (energies[0] - energies[1]) / (2 * by)
        expected = -(found["force"] * way).sum()
        assert abs(slope - expected) <= 0.01 * np.linalg.norm(found["force"] * way)

    def test_particles_may_lie_in_any_order_and_place(self) -> None:
        given, found = compute("lennard_jones")
        random = np.random.Generator(np.random.Philox(4))
        order = random.permutation(len(given["position"]))
        moved = given["position"][order] + np.array([3.25, 7.0, 0.5])
        moved = np.mod(moved, 1.125 * 8).astype(np.float32)
        _, again = compute("lennard_jones", position=moved)
        np.testing.assert_allclose(again["force"], found["force"][order], rtol=1e-3, atol=2e-3)
        np.testing.assert_allclose(again["energy"], found["energy"][order], rtol=1e-4, atol=1e-4)


class TestHamiltonianMonteCarlo:
    def test_trajectories_may_be_reversed(self) -> None:
        given, there = compute("hmc_leapfrog")
        _, back = compute("hmc_leapfrog", weights=there["y_weights"], momenta=-there["y_momenta"])
        np.testing.assert_allclose(back["y_weights"], given["weights"], atol=1e-5)
        np.testing.assert_allclose(-back["y_momenta"], given["momenta"], atol=1e-4)
        np.testing.assert_allclose(back["energies"], there["energies"][::-1], rtol=1e-5)

    def test_the_energy_is_conserved_to_the_second_order(self) -> None:
        errors = []
        for step in (0.08, 0.04):
            constants = dict(step=step)
            _, there = compute("hmc_leapfrog", constants=constants)
            before, after = there["energies"].astype(np.float64)
            if step == 0.04:  # as far, with twice as many steps
                between = dict(weights=there["y_weights"], momenta=there["y_momenta"])
                _, end = compute("hmc_leapfrog", constants=constants, **between)
                after = end["energies"][1]
            errors.append(float(np.sqrt(np.mean((after - before) ** 2))))
        assert 3 < errors[0] / errors[1] < 5.5


class TestConvolutionOfImages:
    def test_a_filter_with_one_tap_moves_images(self) -> None:
        """Tap (row, column) moves by its distance from the middle, (16, 16)."""
        w = np.zeros((33, 33), np.float32)
        w[16 + 3, 16 - 5] = 2
        given, found = compute("fft_conv_2d", w=w)
        expected = np.zeros_like(given["x"])
        expected[:, 3:, :-5] = 2 * given["x"][:, :-3, 5:]
        np.testing.assert_allclose(found["y"], expected, atol=1e-5)

    def test_filters_are_exchangeable_with_images(self) -> None:
        """An image within the filter's extents, and the filter as an image, give the same."""
        random = np.random.Generator(np.random.Philox(5))
        small, w = random.standard_normal((2, 33, 33)).astype(np.float32)
        middle = slice(32, 65)
        x, swapped = (np.zeros((3, 96, 96), np.float32) for _ in range(2))
        x[1, middle, middle], swapped[1, middle, middle] = small, w
        _, first = compute("fft_conv_2d", x=x, w=w)
        _, second = compute("fft_conv_2d", x=swapped, w=small)
        assert np.abs(first["y"][1]).max() > 10
        assert np.abs(first["y"][[0, 2]]).max() < 1e-4
        np.testing.assert_allclose(first["y"][1], second["y"][1], atol=1e-4)
