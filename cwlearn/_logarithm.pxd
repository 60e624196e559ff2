"""A logarithm that text weights share."""


cdef inline double logarithm(double x) noexcept nogil:
    """The natural logarithm of x >= 1 with the same bits on every machine, which that of a C library does not have.

    The algorithm is that of fdlibm (Sun Microsystems, 1993): x = 2^k * (1 + f) with 1 + f near 1, and a polynomial in
    f / (2 + f).  The error is less than one unit in the last place.
    """
    cdef int k = 0
    cdef double f, s, z, w, r, half
    while x >= 1.4142135623730951:
        x /= 2
        k += 1
    f = x - 1
    half = 0.5 * f * f
    s = f / (2 + f)
    z = s * s
    w = z * z
    r = (w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01))
         + z * (6.666666666666735130e-01 + w * (2.857142874366239149e-01 + w * (
             1.818357216161805012e-01 + w * 1.479819860511658591e-01))))
    return k * 6.93147180369123816490e-01 - ((half - (s * (half + r) + k * 1.90821492927058770002e-10)) - f)
