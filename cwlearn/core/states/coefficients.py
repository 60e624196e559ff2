"""The dual coefficients of one block of weights: see `kernel`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsyr

from cwlearn.core.states.base import check_finite, check_memory
from cwlearn.core.states.full import pack, unpack


class Coefficients:
    """The coefficients nu and Psi of one block of weights over its `members`, which are numbers of kept rows.

    The arrays have room for more members and hold zeros there, because BLAS takes whole matrices.
    """

    def __init__(self, a: float) -> None:
        self.a = a  # the initial variance, and what repairs have added to it
        self.n = 0
        self.members: NDArray[np.int64] = np.empty(0, np.int64)
        self.nu: NDArray[np.float64] = np.empty(0)
        self.psi: NDArray[np.float64] = np.empty((0, 0), order="F")  # its lower triangle

    def make_room(self, n: int) -> None:
        """Have room for n members."""
        if n > len(self.nu):
            room = _capacity(n)
            check_memory(
                8 * room * room, 8 * room * room, f"the coefficients of {n:,} kept rows", "a budget and so fewer rows"
            )
            members, nu, psi = np.zeros(room, np.int64), np.zeros(room), np.zeros((room, room), order="F")
            members[: self.n], nu[: self.n] = self.members[: self.n], self.nu[: self.n]
            psi[: self.n, : self.n] = self.psi[: self.n, : self.n]
            self.members, self.nu, self.psi = members, nu, psi

    def kernels(self, k: NDArray[np.float64]) -> NDArray[np.float64]:
        """The kernels of the members, then zeros, from those of all kept rows (along the last axis)."""
        of_members = np.zeros((*k.shape[:-1], len(self.nu)))
        of_members[..., : self.n] = k[..., self.members[: self.n]]
        return of_members

    def place_of(self, row: int) -> int:
        """The place of a kept row among the members.  A new row is added; there must be room."""
        places = np.flatnonzero(self.members[: self.n] == row)
        if len(places):
            return int(places[0])
        self.members[self.n] = row
        self.n += 1
        return self.n - 1

    def forget(self, row: int) -> None:
        """Take a kept row out; the last member takes its place."""
        places = np.flatnonzero(self.members[: self.n] == row)
        if not len(places):
            return
        place, last = int(places[0]), self.n - 1
        forgotten = self._column(place)
        if forgotten[place] < 0:
            self.nu -= forgotten * (self.nu[place] / forgotten[place])
            dsyr(-1 / forgotten[place], forgotten, lower=1, a=self.psi, overwrite_a=1)
        self._set_column(place, np.zeros_like(forgotten))
        if place != last:
            moved = self._column(last)
            self._set_column(last, np.zeros_like(moved))
            moved[place], moved[last] = moved[last], 0
            self._set_column(place, moved)
            self.members[place], self.nu[place] = self.members[last], self.nu[last]
        self.nu[last] = 0
        self.n = last

    def rename(self, row: int, new: int) -> None:
        """Give a kept row another number."""
        members = self.members[: self.n]
        members[members == row] = new

    def _column(self, j: int) -> NDArray[np.float64]:
        return np.concatenate([self.psi[j, :j], self.psi[j:, j]])

    def _set_column(self, j: int, column: NDArray[np.float64]) -> None:
        self.psi[j, :j], self.psi[j:, j] = column[:j], column[j:]

    # -- model files ---------------------------------------------------------------------------------------------------

    def triangle(self) -> NDArray[np.float64]:
        """Psi as a model file stores it."""
        columns = np.empty(triangle_size(self.n))
        pack(self.psi[: self.n, : self.n], columns)
        return columns

    def restore(
        self, a: float, members: NDArray[np.int64], nu: NDArray[np.float64], triangle: NDArray[np.float64]
    ) -> None:
        """Take over what a model file stores; ValueError says what is wrong."""
        count = len(members)
        check_finite("matrices", triangle)
        self.a = a
        self.make_room(count)
        self.n = count
        self.members[:count] = members
        self.nu[:count] = nu
        unpack(triangle, self.psi[:count, :count])
        if len(np.unique(members)) < count:
            raise ValueError("it has two coefficients for one row")
        if (np.diagonal(self.psi) > 0).any():
            raise ValueError("its matrices are not negative definite")


def triangle_size(n: int) -> int:
    """Numbers in the triangle of an n x n matrix."""
    return n * (n + 1) // 2


def coefficients_bytes(n: int) -> int:
    """The memory that the coefficients of n rows take, with room for more, and their triangle while it is read."""
    return 8 * (_capacity(n) * (_capacity(n) + 2) + triangle_size(n))


def _capacity(n: int) -> int:
    """The room that is taken for n members."""
    return n + max(16, n // 5)
