"""The squared length of a row: the one sum that the parser and the check of matrices share, with the same bits."""

ctypedef fused floating:
    float
    double


cdef inline double squared_length(const floating* values, Py_ssize_t n) noexcept nogil:
    """In float64, by four sums, so that the processor works at several of them at once."""
    cdef double s0 = 0
    cdef double s1 = 0
    cdef double s2 = 0
    cdef double s3 = 0
    cdef Py_ssize_t k
    for k in range(0, n - 3, 4):
        s0 += <double> values[k] * values[k]
        s1 += <double> values[k + 1] * values[k + 1]
        s2 += <double> values[k + 2] * values[k + 2]
        s3 += <double> values[k + 3] * values[k + 3]
    for k in range(n - n % 4, n):
        s0 += <double> values[k] * values[k]
    return (s0 + s1) + (s2 + s3)
