"""Probabilities of labels whose scores are Gaussian."""

import numpy as np

from libc.math cimport NAN, erfc, exp, isfinite, log, sqrt
from libc.stdlib cimport free, malloc, qsort

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


# A label that can win.
ctypedef struct Score:
    double upper              # the end of its Gaussian: mean + REACH deviations
    double narrowest          # the smallest deviation of this label and those before it
    Py_ssize_t label

# The labels that can win, and arrays of what each node of the quadrature needs of them.
ctypedef struct Race:
    Score* score
    double* mean
    double* precision         # one over the deviation
    double* ratio
    double* probability


cdef int by_upper_end(const void* a, const void* b) noexcept nogil:
    """The Gaussians that end last come first, so that those still to end are always the first ones."""
    cdef const Score* p = <const Score*> a
    cdef const Score* q = <const Score*> b
    if p.upper != q.upper:
        return -1 if p.upper > q.upper else 1
    return -1 if p.label < q.label else 1


cdef inline void add_node(Race race, Py_ssize_t n, double t, double weight) noexcept nogil:
    """Add weight * pdf_z(t) * product of the other cdf(t), for every label z, unless it is negligible."""
    cdef double product = weight, z, below
    cdef double pdf = 0
    cdef Py_ssize_t k
    for k in range(n):
        z = (t - race.mean[k]) * race.precision[k]
        race.ratio[k] = 0
        if z < REACH:                         # else all of it lies below t
            below = cdf_and_pdf(z, &pdf)
            product *= below
            if product < 1e-20 * weight:
                return
            race.ratio[k] = pdf * race.precision[k] / below
    for k in range(n):
        race.probability[k] += product * race.ratio[k]


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


cdef Py_ssize_t keep_possible(Race race, const double* mean, const double* sd, Py_ssize_t n) noexcept nogil:
    """Keep the labels that can win, those whose Gaussians end last first; return how many they are.

    Let `a` be the label with the highest lower end.  Label z wins only if it beats a, which has the probability
    Q((m_a - m_z) / sqrt(v_a + v_z)), Q = 1 - Phi.  A label is left out where this is below Q(REACH) < 6.3e-16.  By the
    union bound one of those that are left out wins with a probability below n Q(REACH), less than 1e-9 for 1.5 million
    labels; and without them the probabilities of the others rise by just as much in sum.
    """
    cdef Py_ssize_t k, kept = 0, a = 0
    cdef double lead
    for k in range(n):
        a = k if mean[k] - REACH * sd[k] > mean[a] - REACH * sd[a] else a
    for k in range(n):
        lead = (mean[a] - mean[k]) / REACH
        if lead <= 0 or lead * lead <= sd[a] * sd[a] + sd[k] * sd[k]:
            race.score[kept].upper = mean[k] + REACH * sd[k]
            race.score[kept].label = k
            kept += 1
    qsort(race.score, kept, sizeof(Score), by_upper_end)
    for k in range(kept):
        a = race.score[k].label
        race.mean[k] = mean[a]
        race.precision[k] = 1 / sd[a]
        race.probability[k] = 0
        race.score[k].narrowest = min(sd[a], race.score[k - 1].narrowest) if k else sd[a]
    return kept


cdef void integrate(double* probability, Race race, const double* mean, const double* sd, Py_ssize_t n) noexcept nogil:
    """Pr(score z is the highest) = integral of pdf_z times the product of the other cdf, for independent scores.

    Only labels that can win take part.  The integral runs from the highest of their lower ends (at REACH deviations) to
    the highest upper end.  A panel is `widest` times as wide as the smallest deviation among the Gaussians that have
    not ended.  All have begun, so panels only widen, and no label causes more than 16 / `widest` of them.  Ten nodes in
    each are exact to about 1e-12.
    """
    cdef double low, high, width, total = 0
    cdef Py_ssize_t k, kept = keep_possible(race, mean, sd, n), going = kept
    cdef double widest = 2 / (1 + log(<double> kept) / 3)     # the maximum of many bends more sharply than each
    high = race.score[0].upper
    low = mean[0] - REACH * sd[0]
    for k in range(n):
        low = max(low, mean[k] - REACH * sd[k])
        probability[k] = 0
    while low < high:
        while race.score[going - 1].upper <= low:
            going -= 1
        width = min(widest * race.score[going - 1].narrowest, high - low) / 2
        for k in range(5):
            add_node(race, going, low + width * (1 - NODES[k]), WEIGHTS[k] * width)
            add_node(race, going, low + width * (1 + NODES[k]), WEIGHTS[k] * width)
        low += 2 * width
    for k in range(kept):
        total += race.probability[k]
    for k in range(kept):
        probability[race.score[k].label] = race.probability[k] / total


def winning_probabilities(const double[:, ::1] mean, const double[:, ::1] variance):
    """By row, the probability that each score is the highest one, if the scores are independent Gaussians."""
    result = np.empty((mean.shape[0], mean.shape[1]))
    cdef double[:, ::1] out = result
    cdef Py_ssize_t n = out.shape[1]
    cdef Py_ssize_t i, k
    cdef double widest, farthest
    cdef bint sound
    cdef Race race
    cdef double* sd = <double*> malloc(5 * n * sizeof(double))
    race.score = <Score*> malloc(n * sizeof(Score))
    if sd == NULL or race.score == NULL:
        free(sd)
        free(race.score)
        raise MemoryError
    race.mean, race.precision, race.ratio, race.probability = sd + n, sd + 2 * n, sd + 3 * n, sd + 4 * n
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
                integrate(&out[i, 0], race, &mean[i, 0], sd, n)
    free(sd)
    free(race.score)
    return result
