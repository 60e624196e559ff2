"""The scores of all labels.  Included by `_label_row.pxi`."""

cdef extern from "_scores.h":
    bint has_wide_scores "cwlearn_has_wide_scores" () noexcept nogil
    void wide_scores "cwlearn_wide_scores" (
        double* scores, const float* cells, const int64_t* cell, const double* x, Py_ssize_t n, const int64_t* ahead,
        Py_ssize_t n_labels) noexcept nogil
    void scores_of_floats "cwlearn_scores_float" (
        double* scores, const float* cells, const int64_t* cell, const double* x, Py_ssize_t n, const int64_t* ahead,
        Py_ssize_t n_labels) noexcept nogil
    void scores_of_doubles "cwlearn_scores_double" (
        double* scores, const double* cells, const int64_t* cell, const double* x, Py_ssize_t n, const int64_t* ahead,
        Py_ssize_t n_labels) noexcept nogil

cdef extern from "_gradient_scores.h":
    Py_ssize_t gradient_scores_of_floats "cwlearn_gradient_scores_float" (
        double* scores, const float* cells, Py_ssize_t n_labels, const int64_t* cell, const double* x, Py_ssize_t n,
        const int64_t* ahead, Weighing by) noexcept nogil
    Py_ssize_t gradient_scores_of_doubles "cwlearn_gradient_scores_double" (
        double* scores, const double* cells, Py_ssize_t n_labels, const int64_t* cell, const double* x, Py_ssize_t n,
        const int64_t* ahead, Weighing by) noexcept nogil


cdef bint use_avx512 = has_wide_scores()


cdef inline void sum_labels(
    double* scores, const floating* cells, const Cells* at, const double* x, const int64_t* ahead, Py_ssize_t n_labels,
    bint x_are_values,
) noexcept nogil:
    """By label, the sum over the cells of a row of x times the label's number."""
    if floating is double:
        scores_of_doubles(scores, cells, at.cell, x, at.n, ahead, n_labels)
    elif use_avx512 and x_are_values:
        wide_scores(scores, cells, at.cell, x, at.n, ahead, n_labels)
    else:
        scores_of_floats(scores, cells, at.cell, x, at.n, ahead, n_labels)


cdef inline void prefetch_rest(const floating* cells, const Cells* at) noexcept nogil:
    """Prefetch the cells that a later row has and this one has not: sums prefetch one for each of two cells."""
    cdef Py_ssize_t line = 64 // <Py_ssize_t> sizeof(floating)
    cdef Py_ssize_t lines = (2 * at.n_labels + line - 1) // line
    cdef Py_ssize_t p, k
    if at.looks_ahead:
        for p in range(at.n - at.n % 2, at.n_ahead):
            for k in range(lines):
                prefetch(cells + at.ahead[p] + line * k)


cdef void score_labels(
    double* scores, double* variances, const floating* cells, const Cells* at, Py_ssize_t n_labels, bint inclusive,
    double shift,
) noexcept nogil:
    """Mean and variance of w_z.x for every label z.  `variances` may be NULL; `scores` has room for a multiple of four.
    """
    cdef const floating* cell
    cdef double square, variance
    cdef Py_ssize_t p, z
    cdef const int64_t* ahead = at.ahead if at.looks_ahead else NULL
    sum_labels(scores, cells, at, at.x, ahead, n_labels, True)
    prefetch_rest(cells, at)
    if inclusive:
        for z in range(n_labels):
            scores[z] = 0
        for p in range(at.n):
            cell = cells + at.cell[p]
            for z in range(n_labels):
                variance = cell[n_labels + z]
                if at.clock.stamps != NULL:
                    variance = grown(&at.clock, variance, at.clock.stamps[(at.cell[p] >> 1) + z])
                scores[z] += entry(cell[z], variance, at.x[p], True, shift)
    if variances == NULL:
        return
    for z in range(n_labels):
        variances[z] = 0
    for p in range(at.n):
        cell = cells + at.cell[p] + n_labels
        square = at.x[p] * at.x[p]
        for z in range(n_labels):
            variances[z] += cell[z] * square


cdef void score_by_gradients(
    double* scores, const floating* cells, const Cells* at, const Rule* rule,
) noexcept nogil:
    """The score of every label, if cells hold sums of gradients, in the sums of `margin_of_weights`."""
    cdef const floating* cell
    cdef Weighing by = weighing_of(rule)
    cdef double[2] sums
    cdef Py_ssize_t p, z, whole
    cdef Py_ssize_t n_labels = rule.blocks
    cdef const int64_t* ahead = at.ahead if at.looks_ahead else NULL
    if floating is float:
        whole = gradient_scores_of_floats(scores, cells, n_labels, at.cell, at.x, at.n, ahead, by)
    else:
        whole = gradient_scores_of_doubles(scores, cells, n_labels, at.cell, at.x, at.n, ahead, by)
    prefetch_rest(cells, at)
    for z in range(whole, n_labels):
        sums[0] = sums[1] = 0
        for p in range(at.n):
            cell = cells + at.cell[p] + z
            sums[p % 2] += weight_of(cell[0], cell[n_labels], by.threshold, by.rate, by.damping) * at.x[p]
        scores[z] = sums[0] + sums[1]


cdef inline double load_and_measure(
    const Row* row, const floating* cells, const Cells* at, const Rule* rule, Py_ssize_t label,
) noexcept nogil:
    """Copy the variances of one label; return the variance of its score, or the squared length of the row if cells hold
    sums of gradients.
    """
    cdef double variance = load_variances(row, cells, at, label)
    return length_of(row, rule) if sums_gradients(rule) else variance
