"""Forgetting: what is known of a weight grows old, and its variance grows back towards the prior.

The precision that rows have added to that of the prior halves in every half-life, which is counted in rows:

    1/s(t) = 1/a + 2^(-t / half-life) (1/s(0) - 1/a)

This is the stabilised forgetting of Kulhavy and Zarrop (Int. J. Control 58, 1993), for the precision alone: means stay
as they are until a row says otherwise.  It is lazy.  A weight has a stamp, the number of rows before the one that
changed it last, and its variance grows when a row reads it.  What is read and not changed is not stored, so that chunks
of any size give the same bits.
"""

from libc.stdint cimport uint64_t

from cwlearn._cells cimport Row, index_t, prefetch
from cwlearn._rules cimport smaller

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    /* 2^-z for z from 0 to 1000, to some 2e-16, without a branch, so that a loop does four at a time.  z = k + f with
       |f| <= 1/2; 2^-f is the Taylor series of exp(-f log 2), and 2^-k is an exponent.  Adding 1.5 * 2^52 rounds z. */
    static inline double cwlearn_power_of_half(double z) {
        const double rounder = 6755399441055744.0;
        double shifted = z + rounder, u = (shifted - rounder - z) * 0.6931471805599453, power, scale;
        int64_t bits, base;
        memcpy(&bits, &shifted, sizeof bits);
        memcpy(&base, &rounder, sizeof base);
        bits = (int64_t) ((uint64_t) (1023 - (bits - base)) << 52);
        memcpy(&scale, &bits, sizeof scale);
        power = 1.0 / 479001600 + u * (1.0 / 6227020800);
        power = 1.0 / 39916800 + u * power;
        power = 1.0 / 3628800 + u * power;
        power = 1.0 / 362880 + u * power;
        power = 1.0 / 40320 + u * power;
        power = 1.0 / 5040 + u * power;
        power = 1.0 / 720 + u * power;
        power = 1.0 / 120 + u * power;
        power = 1.0 / 24 + u * power;
        power = 1.0 / 6 + u * power;
        power = 1.0 / 2 + u * power;
        power = 1.0 + u * power;
        power = 1.0 + u * power;
        return power * scale;
    }
    """
    double power_of_half "cwlearn_power_of_half" (double z) noexcept nogil

cdef struct Clock:
    double* stamps            # by mean; NULL if nothing is forgotten
    double now                # rows before this one
    double rate               # 1 / half-life
    double prior              # the variance before the first row


cdef inline double grown(const Clock* clock, double s, double stamp) noexcept nogil:
    """The variance of a weight now, if it was s at its stamp."""
    cdef double left = power_of_half(smaller((clock.now - stamp) * clock.rate, 1000))
    return smaller(s / (left + s * (1 / clock.prior) * (1 - left)), clock.prior)


cdef inline void grow(double* variance, const double* stamp, Py_ssize_t n, const Clock* clock) noexcept nogil:
    """Let n variances grow to what they are now."""
    cdef Py_ssize_t p
    for p in range(n):
        variance[p] = grown(clock, variance[p], stamp[p])


cdef inline void grow_row(const Row* row, const Clock* clock) noexcept nogil:
    """Let the variances of a loaded row grow; its stamps are put side by side first, where its shares will be."""
    cdef double* stamp = row.shares
    cdef Py_ssize_t k
    stamp[0] = clock.stamps[0]
    for k in range(row.n - 1):
        stamp[k + 1] = clock.stamps[row.columns[k] + 1]
    grow(row.variance, stamp, row.n, clock)


cdef inline void stamp_row(const Row* row, const Clock* clock) noexcept nogil:
    """Note that the weights of a row have changed now."""
    cdef Py_ssize_t k
    clock.stamps[0] = clock.now
    for k in range(row.n - 1):
        clock.stamps[row.columns[k] + 1] = clock.now


cdef inline void prefetch_stamps(const Clock* clock, const index_t* later, Py_ssize_t nnz) noexcept nogil:
    """Prefetch the stamps of a later row, as `load_row` does its cells."""
    cdef Py_ssize_t k
    for k in range(nnz):
        prefetch(clock.stamps + <Py_ssize_t> later[k] + 1)
