"""Probabilities of labels whose scores are Gaussian."""

from libc.math cimport NAN, erfc, exp, isfinite, log, sqrt
from libc.stdlib cimport free, malloc

cdef double REACH = 8         # standard deviations beyond which a Gaussian is not looked at: 6e-16 of it
cdef double ROOT_2 = sqrt(2.0)
cdef double ROOT_2_PI = sqrt(2 * 3.14159265358979323846)

# Gauss-Legendre with ten nodes on [-1, 1], of which these are the positive ones.
cdef double[5] NODES = [
    0.14887433898163121, 0.43339539412924719, 0.67940956829902441, 0.86506336668898451, 0.97390652851717172,
]
cdef double[5] WEIGHTS = [
    0.29552422471475287, 0.26926671930999636, 0.21908636251598204, 0.14945134915058059, 0.066671344308688138,
]


cdef inline double cdf(double z) noexcept nogil:
    return erfc(-z / ROOT_2) / 2


def normal_cdf(double[::1] out, const double[::1] z):
    """Phi, the distribution function of the standard normal (NIPS 2008, section 2)."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = cdf(z[i])


cdef inline void add_node(
    double* chance, double* ratio, const double* mean, const double* sd, Py_ssize_t n, double t, double weight,
) noexcept nogil:
    """Add weight * pdf_z(t) * product of the other cdf(t), for every label z, unless it is as good as nothing."""
    cdef double product = weight, z, below
    cdef Py_ssize_t k
    for k in range(n):
        z = (t - mean[k]) / sd[k]
        ratio[k] = 0
        if z < REACH:                         # else all of it lies below t
            below = cdf(z)
            product *= below
            if product < 1e-20 * weight:
                return
            ratio[k] = exp(-z * z / 2) / (ROOT_2_PI * sd[k] * below)
    for k in range(n):
        chance[k] += product * ratio[k]


cdef void share_equally(double* chance, const double* mean, Py_ssize_t n) noexcept nogil:
    """Without any variance the highest score wins, and equal ones by chance."""
    cdef double highest = mean[0], ties = 0
    cdef Py_ssize_t k
    for k in range(n):
        highest = mean[k] if mean[k] > highest else highest
    for k in range(n):
        ties += mean[k] == highest
    for k in range(n):
        chance[k] = (mean[k] == highest) / ties


cdef void integrate(double* chance, double* ratio, const double* mean, double* sd, Py_ssize_t n) noexcept nogil:
    """Pr(score z is the highest) = integral of pdf_z times the product of the other cdf, for independent scores.

    From the highest of all lower ends (at REACH deviations) to the highest upper end, in panels as wide as `widest` of
    the smallest deviations among the Gaussians that are not over yet.  All have begun, so panels only widen, no label
    causes more than 16 / `widest` of them, and within one nothing bends sharply: ten nodes are good to about 1e-12.
    """
    cdef double low, high, width, total, least
    cdef double widest = 2 / (1 + log(<double> n) / 3)        # the highest of many bends more sharply than each of them
    cdef Py_ssize_t k
    low = mean[0] - REACH * sd[0]
    high = mean[0] + REACH * sd[0]
    for k in range(n):
        chance[k] = 0
        low = mean[k] - REACH * sd[k] if mean[k] - REACH * sd[k] > low else low
        high = mean[k] + REACH * sd[k] if mean[k] + REACH * sd[k] > high else high
    while low < high:
        least = high - low
        for k in range(n):
            if mean[k] + REACH * sd[k] > low and widest * sd[k] < least:
                least = widest * sd[k]
        width = least / 2
        for k in range(5):
            add_node(chance, ratio, mean, sd, n, low + width * (1 - NODES[k]), WEIGHTS[k] * width)
            add_node(chance, ratio, mean, sd, n, low + width * (1 + NODES[k]), WEIGHTS[k] * width)
        low += least
    total = 0
    for k in range(n):
        total += chance[k]
    for k in range(n):
        chance[k] /= total


def winning_chances(double[:, ::1] out, const double[:, ::1] mean, const double[:, ::1] variance):
    """By row, the probability of each score to be the highest one, the scores being independent Gaussians."""
    cdef Py_ssize_t n = out.shape[1]
    cdef Py_ssize_t i, k
    cdef double widest, farthest
    cdef bint sound
    cdef double* scratch = <double*> malloc(2 * n * sizeof(double))
    cdef double* sd = scratch
    cdef double* ratio = scratch + n
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
                for k in range(n):            # no narrower than what can be told apart
                    sd[k] = max(sd[k], 1e-13 * (farthest + widest))
                integrate(&out[i, 0], ratio, &mean[i, 0], sd, n)
    free(scratch)
