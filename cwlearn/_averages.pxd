"""Averaged rules: the weights that learn are ahead of their average, which predicts.

`average` has, for each mean, the sum over updates of (rounds before it) * (change of the mean).  After T rounds the
mean of the means is mu - average / T.
"""

from libc.stdint cimport int64_t

from cwlearn._cells cimport Row, change_of_mean, floating, index_t, prefetch


cdef inline void add_to_average(
    double* average, const Row* row, const floating* cells, double alpha, double rounds, bint fixed,
) noexcept nogil:
    """Add (rounds before this one) * (change of the mean), for a row that has been moved and not yet stored."""
    cdef int64_t j
    cdef Py_ssize_t k
    average[0] += rounds * change_of_mean(row, 0, cells[0], alpha, fixed)
    for k in range(row.n - 1):
        j = row.columns[k]
        average[j + 1] += rounds * change_of_mean(row, k + 1, cells[2 * j + 2], alpha, fixed)


cdef inline void prefetch_averages(const double* average, const index_t* later, Py_ssize_t nnz) noexcept nogil:
    """Prefetch the averages of a later row, as `load_row` does its cells."""
    cdef Py_ssize_t k
    for k in range(nnz):
        prefetch(average + <Py_ssize_t> later[k] + 1)


cdef inline double lag_of(const double* average, const Row* row, double rounds) noexcept nogil:
    """How much the margin of the weights that learn is ahead of that of their average."""
    cdef double lag = average[0] * row.x[0]
    cdef Py_ssize_t k
    for k in range(row.n - 1):
        lag += average[row.columns[k] + 1] * row.x[k + 1]
    return lag / rounds


cdef inline void scores_of_average(
    double* averaged, const double* scores, const double* average, double rounds, const int64_t* cell, const double* x,
    Py_ssize_t n, Py_ssize_t n_labels,
) noexcept nogil:
    """The scores of all labels by the weights that predict: `scores` themselves, if the rule is not averaged."""
    cdef Py_ssize_t p, z
    cdef double share
    for z in range(n_labels):
        averaged[z] = scores[z]
    if average == NULL or rounds == 0:
        return
    for p in range(n):
        share = x[p] / rounds
        for z in range(n_labels):
            averaged[z] -= share * average[(cell[p] >> 1) + z]
