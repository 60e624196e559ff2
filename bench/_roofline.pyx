"""Loops with the least work that a learner or a parser can do: the references of the benchmarks."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcpy

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


def read_words(const uint8_t[::1] text):
    """Read every eight bytes as a number of eight digits, and add them up: what a parser does with no syntax at all.

    The three multiplications of a number (Lemire, "Quickly parsing eight digits", 2018) need no result of the one
    before, so the loop keeps the arithmetic of a core as busy as the parser does, and a neighbour on the same core
    slows both alike.
    """
    cdef Py_ssize_t k
    cdef uint64_t word
    cdef uint64_t sum = 0
    with nogil:
        for k in range(0, text.shape[0] - 7, 8):
            memcpy(&word, &text[k], 8)
            word = (word & 0x0F0F0F0F0F0F0F0FULL) * 2561ULL >> 8
            word = (word & 0x00FF00FF00FF00FFULL) * 6553601ULL >> 16
            sum += (word & 0x0000FFFF0000FFFFULL) * 42949672960001ULL >> 32
    return sum
