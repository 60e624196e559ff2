"""Probabilities of labels whose scores are Gaussian."""

import numpy as np

from libc.math cimport NAN, erfc, exp, isfinite, log, sqrt
from libc.stdlib cimport free, malloc

cdef double REACH = 8         # standard deviations beyond which a Gaussian is ignored: 6e-16 of it
cdef double ROOT_2 = sqrt(2.0)
cdef double ROOT_2_PI = sqrt(2 * 3.14159265358979323846)

# Gauss-Legendre quadrature with ten nodes on [-1, 1]; these are the positive ones.
cdef double[5] NODES = [
    0.14887433898163121, 0.43339539412924719, 0.67940956829902441, 0.86506336668898451, 0.97390652851717172,
]
cdef double[5] WEIGHTS = [
    0.29552422471475287, 0.26926671930999636, 0.21908636251598204, 0.14945134915058059, 0.066671344308688138,
]


cdef inline double cdf(double z) noexcept nogil:
    return erfc(-z / ROOT_2) / 2


def normal_cdf(const double[::1] z):
    """Phi, the distribution function of the standard normal (NIPS 2008, section 2)."""
    result = np.empty(z.shape[0])
    cdef double[::1] out = result
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = cdf(z[i])
    return result


# Phi and its derivative at the points of a grid.  Between two of them, a Taylor series is exact to rounding, in a third
# of the time that erfc and exp take.
cdef enum:
    STEPS = 32                # of the grid in one standard deviation
    POINTS = 2 * 8 * 32 + 2
cdef double C2 = 1 / 2., C3 = 1 / 6., C4 = 1 / 24., C5 = 1 / 120., C6 = 1 / 720., C7 = 1 / 5040., C8 = 1 / 40320.
cdef double[POINTS] GRID_CDF, GRID_PDF
cdef int point
for point in range(POINTS):
    GRID_CDF[point] = cdf(<double> point / STEPS - REACH)
    GRID_PDF[point] = exp(-(<double> point / STEPS - REACH) ** 2 / 2) / ROOT_2_PI


cdef inline double cdf_and_pdf(double z, double* pdf) noexcept nogil:
    """Phi(z) and its derivative, for -REACH <= z < REACH."""
    cdef double place = (z + REACH) * STEPS
    cdef Py_ssize_t point = <Py_ssize_t> (place + 0.5) if place > 0 else 0
    cdef double x = <double> point * (1. / STEPS) - REACH
    cdef double d = z - x
    cdef double x2 = x * x
    cdef double u = -d * (x + d * 0.5)          # the logarithm of pdf(z) / pdf(x), at most 1/8
    pdf[0] = GRID_PDF[point] * (1 + u * (1 + u * (C2 + u * (C3 + u * (C4 + u * (C5 + u * (C6 + u * (C7 + u * C8))))))))
    # The derivatives of pdf are Hermite polynomials times pdf.
    return GRID_CDF[point] + GRID_PDF[point] * d * (1 - d * (C2 * x - d * (C3 * (x2 - 1) - d * (
        C4 * x * (x2 - 3) - d * (C5 * (x2 * (x2 - 6) + 3) - d * C6 * x * (x2 * (x2 - 10) + 15))))))


cdef inline void add_node(
    double* probability, double* ratio, const double* mean, const double* precision, Py_ssize_t n, double t,
    double weight,
) noexcept nogil:
    """Add weight * pdf_z(t) * product of the other cdf(t), for every label z, unless it is negligible."""
    cdef double product = weight, z, below
    cdef double pdf = 0
    cdef Py_ssize_t k
    for k in range(n):
        z = (t - mean[k]) * precision[k]
        ratio[k] = 0
        if z < REACH:                         # else all of it lies below t
            below = cdf_and_pdf(z, &pdf)
            product *= below
            if product < 1e-20 * weight:
                return
            ratio[k] = pdf * precision[k] / below
    for k in range(n):
        probability[k] += product * ratio[k]


cdef void share_equally(double* probability, const double* mean, Py_ssize_t n) noexcept nogil:
    """Without variance the highest score wins; equal ones share the probability."""
    cdef double highest = mean[0], ties = 0
    cdef Py_ssize_t k
    for k in range(n):
        highest = mean[k] if mean[k] > highest else highest
    for k in range(n):
        ties += mean[k] == highest
    for k in range(n):
        probability[k] = (mean[k] == highest) / ties


cdef void integrate(
    double* probability, double* ratio, double* precision, const double* mean, const double* sd, Py_ssize_t n,
) noexcept nogil:
    """Pr(score z is the highest) = integral of pdf_z times the product of the other cdf, for independent scores.

    The integral runs from the highest of all lower ends (at REACH deviations) to the highest upper end.  A panel is
    `widest` times as wide as the smallest deviation among the Gaussians that have not ended.  All have begun, so panels
    only widen, and no label causes more than 16 / `widest` of them.  Ten nodes in each are exact to about 1e-12.
    """
    cdef double low, high, width, total, least
    cdef double widest = 2 / (1 + log(<double> n) / 3)        # the maximum of many bends more sharply than each
    cdef Py_ssize_t k
    low = mean[0] - REACH * sd[0]
    high = mean[0] + REACH * sd[0]
    for k in range(n):
        probability[k] = 0
        precision[k] = 1 / sd[k]
        low = mean[k] - REACH * sd[k] if mean[k] - REACH * sd[k] > low else low
        high = mean[k] + REACH * sd[k] if mean[k] + REACH * sd[k] > high else high
    while low < high:
        least = high - low
        for k in range(n):
            if mean[k] + REACH * sd[k] > low and widest * sd[k] < least:
                least = widest * sd[k]
        width = least / 2
        for k in range(5):
            add_node(probability, ratio, mean, precision, n, low + width * (1 - NODES[k]), WEIGHTS[k] * width)
            add_node(probability, ratio, mean, precision, n, low + width * (1 + NODES[k]), WEIGHTS[k] * width)
        low += least
    total = 0
    for k in range(n):
        total += probability[k]
    for k in range(n):
        probability[k] /= total


def winning_probabilities(const double[:, ::1] mean, const double[:, ::1] variance):
    """By row, the probability that each score is the highest one, if the scores are independent Gaussians."""
    result = np.empty((mean.shape[0], mean.shape[1]))
    cdef double[:, ::1] out = result
    cdef Py_ssize_t n = out.shape[1]
    cdef Py_ssize_t i, k
    cdef double widest, farthest
    cdef bint sound
    cdef double* scratch = <double*> malloc(3 * n * sizeof(double))
    cdef double* sd = scratch
    cdef double* ratio = scratch + n
    cdef double* precision = scratch + 2 * n
    if scratch == NULL:
        raise MemoryError
    with nogil:
        for i in range(out.shape[0]):
            widest = farthest = 0
            sound = True
            for k in range(n):
                sd[k] = sqrt(variance[i, k])
                sound = sound and isfinite(mean[i, k]) and isfinite(sd[k])
                widest = sd[k] if sd[k] > widest else widest
                farthest = mean[i, k] if mean[i, k] > farthest else farthest
                farthest = -mean[i, k] if -mean[i, k] > farthest else farthest
            if not sound:
                for k in range(n):
                    out[i, k] = NAN
            elif widest == 0:
                share_equally(&out[i, 0], &mean[i, 0], n)
            else:
                for k in range(n):            # no narrower than rounding
                    sd[k] = max(sd[k], 1e-13 * (farthest + widest))
                integrate(&out[i, 0], ratio, precision, &mean[i, 0], sd, n)
    free(scratch)
    return result
