"""Forgetting: what is known of a weight grows old, and its variance grows back towards the prior.

The precision that rows have added to that of the prior halves in every half-life, which is counted in rows:

    1/s(t) = 1/a + 2^(-t / half-life) (1/s(0) - 1/a)

This is the stabilised forgetting of Kulhavy and Zarrop (Int. J. Control 58, 1993), for the precision alone: means stay as
they are until a row says otherwise.  It is lazy.  A weight has a stamp, the number of rows before the one that changed it
last, and its variance grows when a row reads it.  What is read and not changed is not stored, so that chunks of any size
give the same bits.
"""

from libc.math cimport exp2
from libc.stdint cimport uint64_t

from cwlearn._cells cimport Row, index_t, prefetch
from cwlearn._rules cimport smaller

cdef struct Clock:
    double* stamps            # by mean; NULL if nothing is forgotten
    double now                # rows before this one
    double rate               # 1 / half-life
    double prior              # the variance before the first row


cdef inline double grown(const Clock* clock, double s, double stamp) noexcept nogil:
    """The variance of a weight now, if it was s at its stamp."""
    cdef double left = exp2((stamp - clock.now) * clock.rate)
    return smaller(s / (left + s / clock.prior * (1 - left)), clock.prior)


cdef inline void grow_row(const Row* row, const Clock* clock, uint64_t n_features, const index_t* indices) noexcept nogil:
    """Let the variances of a loaded row grow to what they are now."""
    cdef uint64_t j
    cdef Py_ssize_t k
    row.variance[0] = grown(clock, row.variance[0], clock.stamps[0])
    for k in range(row.n - 1):
        j = <uint64_t> indices[k]
        if j >= n_features:
            return
        row.variance[k + 1] = grown(clock, row.variance[k + 1], clock.stamps[j + 1])


cdef inline void stamp_row(const Row* row, const Clock* clock, uint64_t n_features, const index_t* indices) noexcept nogil:
    """Note that the weights of a row have changed now."""
    cdef uint64_t j
    cdef Py_ssize_t k
    clock.stamps[0] = clock.now
    for k in range(row.n - 1):
        j = <uint64_t> indices[k]
        if j >= n_features:
            return
        clock.stamps[j + 1] = clock.now


cdef inline void prefetch_stamps(const Clock* clock, const index_t* later, Py_ssize_t nnz) noexcept nogil:
    """Prefetch the stamps of a later row, as `load_row` does its cells."""
    cdef Py_ssize_t k
    for k in range(nnz):
        prefetch(clock.stamps + <Py_ssize_t> later[k] + 1)
