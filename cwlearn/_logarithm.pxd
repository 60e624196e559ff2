"""A logarithm that text weights share."""

from libc.stdint cimport uint64_t
from libc.string cimport memcpy


cdef inline double logarithm(double x) noexcept nogil:
    """The natural logarithm of x >= 1 with the same bits on every machine, which that of a C library does not have.

    The algorithm is that of fdlibm (Sun Microsystems, 1993): x = 2^k * (1 + f) with 1 + f near 1, and a polynomial in
    f / (2 + f).  The error is less than one unit in the last place.
    """
    cdef int k, above
    cdef double f, s, z, w, r, half
    cdef uint64_t bits
    memcpy(&bits, &x, 8)
    k = <int> (bits >> 52) - 1023
    bits = (bits & ((<uint64_t> 1 << 52) - 1)) | (<uint64_t> 1023 << 52)  # from 1 to 2
    memcpy(&x, &bits, 8)
    above = x >= 1.4142135623730951
    k += above
    f = x * (1 - 0.5 * above) - 1
    half = 0.5 * f * f
    s = f / (2 + f)
    z = s * s
    w = z * z
    r = (w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
         + z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (
             1.818357216161805012e-01 + w * 1.479819860511658591e-01))))
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + r) + k * 1.90821492927058770002e-10)) - f)
