"""How many rows of each label have each feature, counted without the GIL."""

from cython cimport floating
from libc.math cimport fabs
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

cdef extern from "_subnormals.h":
    unsigned int keep_subnormals "cwlearn_keep_subnormals" () noexcept nogil
    void as_before "cwlearn_as_before" (unsigned int before) noexcept nogil

ctypedef fused index_t:
    int32_t
    int64_t


def count_rows(
    uint32_t[:, ::1] counts, double[::1] sums, double[::1] sizes, const int64_t[::1] indptr, const index_t[::1] indices,
    const floating[::1] values, const int64_t[::1] numbers, const uint8_t[::1] counted,
):
    """Count the features of those rows that are `counted`; a stored 0 is none.  Return how many rows there are.

    counts    by label and feature
    sums      by feature, of values, added one after the other: the same for any parts of the rows
    sizes     the same of values without their signs
    numbers   of the labels, by row
    """
    cdef Py_ssize_t row, k
    cdef Py_ssize_t n_rows = numbers.shape[0]
    cdef Py_ssize_t n_counted = 0
    cdef uint64_t column
    cdef uint64_t n_features = counts.shape[1]
    cdef double value
    cdef unsigned int before
    cdef bint sound = True
    if indptr.shape[0] != n_rows + 1 or counted.shape[0] != n_rows or indices.shape[0] != values.shape[0]:
        raise ValueError("the arrays do not fit together")
    if sums.shape[0] != counts.shape[1] or sizes.shape[0] != counts.shape[1]:
        raise ValueError("the arrays do not fit together")
    with nogil:
        before = keep_subnormals()
        for row in range(n_rows):
            if not counted[row]:
                continue
            if not (0 <= numbers[row] < counts.shape[0] and 0 <= indptr[row] <= indptr[row + 1] <= indices.shape[0]):
                sound = False
                break
            n_counted += 1
            for k in range(indptr[row], indptr[row + 1]):
                column = <uint64_t> indices[k]
                value = values[k]
                if column >= n_features:
                    sound = False
                elif value != 0:
                    counts[numbers[row], column] += 1
                    sums[column] += value
                    sizes[column] += fabs(value)
        as_before(before)
    if not sound:
        raise ValueError("a row, its label or a column is out of range")
    return n_counted
