"""Loops with the least work that a learner or a parser can do: the references of the benchmarks."""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define bench_prefetch(address) __builtin_prefetch(address, 0, 2)
    #else
    #define bench_prefetch(address) ((void)(address))
    #endif
    """
    void prefetch "bench_prefetch" (const void* address) noexcept nogil


def gather_and_write_back(
    float[::1] cells, const int64_t[::1] indptr, const int32_t[::1] indices, const int64_t[::1] order, bint look_ahead,
):
    """One pass over the rows in `order`: gather the cells of each row, then write them back.

    The two halves cannot be one loop, since no cell may change before the margin of the whole row is known.  The only
    arithmetic keeps the compiler from removing the loads, and no values are read, so the traffic between memory and
    core remains.  With `look_ahead`, memory is prefetched as early as the learner does it.
    """
    cdef Py_ssize_t t, k, row, nnz, later
    cdef double mean, variance
    cdef float small_mean, small_variance
    cdef float* cell
    cdef const int32_t* column
    with nogil:
        for t in range(order.shape[0]):
            row = order[t]
            column = &indices[indptr[row]]
            nnz = indptr[row + 1] - indptr[row]
            if look_ahead:
                if t + 24 < order.shape[0]:
                    prefetch(&indptr[order[t + 24]])
                if t + 8 < order.shape[0]:
                    later = order[t + 8]
                    for k in range(indptr[later], indptr[later + 1], 16):
                        prefetch(&indices[k])
                if t + 2 < order.shape[0]:
                    later = order[t + 2]
                    for k in range(indptr[later], indptr[later + 1]):
                        prefetch(&cells[2 * <Py_ssize_t> indices[k] + 2])
            mean = 0
            variance = 0
            for k in range(nnz):
                cell = &cells[2 * <Py_ssize_t> column[k] + 2]
                mean += cell[0]
                variance += cell[1]
            small_mean = <float> (1e-9 * mean)
            small_variance = <float> (1e-9 * variance)
            for k in range(nnz):
                cell = &cells[2 * <Py_ssize_t> column[k] + 2]
                cell[0] = cell[0] + small_mean
                cell[1] = cell[1] + small_variance


def count_lines(const uint8_t[::1] text):
    """How many lines end in this text."""
    cdef const uint8_t* p = &text[0]
    cdef const uint8_t* end = p + text.shape[0]
    cdef Py_ssize_t n = 0
    with nogil:
        while p != end:
            p = <const uint8_t*> memchr(p, 10, end - p)
            if p == NULL:
                break
            p += 1
            n += 1
    return n
