"""The parallel update of several constraints (E9: EMNLP 2009, section 5.2).  Included by `_label_row.pxi`."""

cdef enum:
    ENTRIES = 64              # of a row that are averaged at once


cdef inline void average_steps(
    const Row* row, double floor, double sign, const Rival* rivals, Py_ssize_t n, Py_ssize_t constraints,
    Projection projection,
) noexcept nogil:
    """The average of `move_to_average`, step by step over a few entries: so the processor works at four at a time."""
    cdef double[ENTRIES] change, ratio
    cdef double* mean
    cdef double* variance
    cdef const double* x
    cdef double alpha, gain, v
    cdef Gaussian weight
    cdef Py_ssize_t part, start, size, p, j
    for part in range((row.n + ENTRIES - 1) // ENTRIES):
        start = part * ENTRIES
        size = row.n - start if row.n - start < ENTRIES else ENTRIES
        mean, variance, x = row.mean + start, row.variance + start, row.x + start
        for p in range(size):
            change[p] = 0
            ratio[p] = constraints
        for j in range(n):
            alpha = sign * rivals[j].step.alpha
            gain, v = rivals[j].step.gain, rivals[j].variance
            if rivals[j].step.alpha > 0:
                for p in range(size):
                    weight = moved(mean[p], variance[p], x[p], alpha, gain, v, floor, projection)
                    change[p] += weight.mean - mean[p]
                    ratio[p] += variance[p] / weight.variance - 1
        for p in range(size):
            mean[p] += change[p] / constraints
            variance[p] = larger(variance[p] * (constraints / ratio[p]), floor)   # a factor of at most 1; 1, if fixed


cdef void move_to_average(
    const Row* row, const Rule* rule, double sign, const Rival* rivals, Py_ssize_t n, Py_ssize_t constraints,
) noexcept nogil:
    """Move to the average of the means and precisions after each of n steps and `constraints` - n idle ones.

    If cells hold sums of gradients, add the average of the gradients.
    """
    cdef double total = 0
    cdef Py_ssize_t j
    if sums_gradients(rule):
        for j in range(n):
            total += rivals[j].step.alpha
        add_gradients(row, rule, sign * total / constraints)
    elif rule.projection == FIXED:                          # constant arguments: the compiler makes a loop for each
        average_steps(row, rule.floor, sign, rivals, n, constraints, FIXED)
    elif rule.projection == L2:
        average_steps(row, rule.floor, sign, rivals, n, constraints, L2)
    elif rule.projection == INCLUSIVE:
        average_steps(row, rule.floor, sign, rivals, n, constraints, INCLUSIVE)
    else:
        average_steps(row, rule.floor, sign, rivals, n, constraints, KL)
