"""The loops over CSR rows: one that learns, one that scores, one that checks.

A model is one flat array of cells, (mean, variance) by feature, so that both numbers of a feature share a cache line;
cell 0 is the intercept, a feature that is always on with the value `rule.bias` (1, or 0 without an intercept), and
feature j is cell j + 1.  State and values are float32 or float64; sums, and all arithmetic, are in double.

The callers (`rows.Rows`, `state.DiagonalState`) check shapes, dtypes and ranges.  Column indices are compared with the
size of the state once more where they are used, because the caller's array may change while the GIL is released; no
cost of that could be measured.
"""

from libc.math cimport NAN, erfc, isfinite, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from cwlearn._rules cimport (
    AROW, BAYESIAN_LOGISTIC, CW_STDEV, CW_VARIANCE, EXACT, FIXED, INCLUSIVE, KL, L2, LOGISTIC_SGD, NHERD, PA, PA_I,
    PA_II, PERCEPTRON, SCW_I, SCW_II, SOP, Covariance, Kind, Step, capped, exact_step, larger, relative, rule_step,
)

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define cwlearn_prefetch(address) __builtin_prefetch(address, 0, 2)  /* no nearer than L2, whose queue is longer */
    #else
    #define cwlearn_prefetch(address) ((void)(address))
    #endif
    #if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    #define cwlearn_runs_v3() (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") \\
                               && __builtin_cpu_supports("fma"))
    #else
    #define cwlearn_runs_v3() 0
    #endif
    """
    void prefetch "cwlearn_prefetch" (const void* address) noexcept nogil
    bint cpu_runs_v3 "cwlearn_runs_v3" () noexcept nogil

ctypedef fused floating:
    float
    double

ctypedef fused index_t:
    int32_t
    int64_t

KINDS = {
    "perceptron": PERCEPTRON, "pa": PA, "pa-i": PA_I, "pa-ii": PA_II, "cw-variance": CW_VARIANCE, "cw-stdev": CW_STDEV,
    "scw-i": SCW_I, "scw-ii": SCW_II, "arow": AROW, "nherd": NHERD, "sop": SOP,
    "bayesian-logistic": BAYESIAN_LOGISTIC, "logistic-sgd": LOGISTIC_SGD,
}
COVARIANCES = {"fixed": FIXED, "kl": KL, "l2": L2, "exact": EXACT, "inclusive": INCLUSIVE}

cdef struct Rule:
    int kind                  # of KINDS
    int covariance            # of COVARIANCES
    double phi
    double C
    bint relative             # measure C by a * (mean squared length of the rows seen); SOP: begin with that length
    double bias
    double initial_variance   # an upper bound of every variance, since they only fall
    double floor              # a lower bound of every variance

cdef struct Tally:
    int64_t rows              # rows seen (those of weight 0 do not count)
    int64_t updates
    int64_t mistakes          # y * score <= 0, before learning from the row
    double squares            # sum of the squared lengths of those rows, the intercept included

cdef struct Margin:
    double mean
    double variance

# How far ahead memory is asked for: the cells of the state by nonzeros, then the rows of the matrix and what there is
# by row, each some rows before the next.  Measured (bench/kernels.py): 2 to 3 times as fast on 5 million features, and
# 1.6 times on 50 thousand when the rows are shuffled.  A state that fits the cache of a core is not asked for.
cdef Py_ssize_t CELLS_AHEAD = 128
cdef Py_ssize_t ROWS_AHEAD = 8
cdef size_t CACHE_BYTES = 1 << 19

cdef struct Upcoming:         # a row whose cells will be needed soon
    const void* indices
    Py_ssize_t nnz

cdef struct Row:              # the cells of one row side by side, where they can be worked on two or four at a time
    double* mean
    double* variance
    double* x
    double* shares            # scratch of the exact projection
    Py_ssize_t n


cdef inline Row new_row(double[:, ::1] scratch) noexcept nogil:
    """A place for rows of up to scratch.shape[1] entries, the intercept included."""
    return Row(&scratch[0, 0], &scratch[1, 0], &scratch[2, 0], &scratch[3, 0], 0)


cdef inline Py_ssize_t rows_ahead(Py_ssize_t n_rows, Py_ssize_t nnz, size_t state_bytes) noexcept nogil:
    """How many rows make CELLS_AHEAD nonzeros; 0 for a state in the cache."""
    if state_bytes <= CACHE_BYTES or nnz == 0:
        return 0
    return 1 + CELLS_AHEAD * n_rows // nnz


cdef inline Upcoming look_ahead(
    Py_ssize_t t, Py_ssize_t distance, const int64_t[::1] indptr, const index_t* indices, const floating* values,
    const double[::1] by_row, const double[::1] by_row_too, const int64_t[::1] order,
) noexcept nogil:
    """Ask for what later rows need; return the row `distance` ahead, whose cells `load_row` will ask for one by one,
    since all at once they would fill the queue to memory and stop the core."""
    cdef Py_ssize_t k, row, stop
    cdef Py_ssize_t n = order.shape[0]
    if t + distance + 3 * ROWS_AHEAD < n:
        row = order[t + distance + 3 * ROWS_AHEAD]
        prefetch(&indptr[row])
        prefetch(&by_row[row])
        prefetch(&by_row_too[row])
    if t + distance + ROWS_AHEAD < n:
        row = order[t + distance + ROWS_AHEAD]
        stop = indptr[row + 1]
        for k in range(indptr[row], stop, 16):
            prefetch(indices + k)
            prefetch(values + k)
        if stop > indptr[row]:          # the line that the last stride may have stopped short of
            prefetch(indices + stop - 1)
            prefetch(values + stop - 1)
    if distance and t + distance < n:
        row = order[t + distance]
        return Upcoming(indices + indptr[row], indptr[row + 1] - indptr[row])
    return Upcoming(NULL, 0)


cdef inline bint load_row(
    Row* row, const floating* cells, uint64_t n_features, const index_t* indices, const floating* values,
    Py_ssize_t nnz, double bias, Upcoming upcoming,
) noexcept nogil:
    """Copy the cells of a row, the intercept first; False if a column is out of range."""
    cdef const index_t* later = <const index_t*> upcoming.indices
    cdef const floating* cell
    cdef double* mean = row.mean
    cdef double* variance = row.variance
    cdef double* x = row.x
    cdef uint64_t j
    cdef Py_ssize_t k
    row.n = nnz + 1
    mean[0] = cells[0]
    variance[0] = cells[1]
    x[0] = bias
    for k in range(nnz, upcoming.nnz):
        prefetch(cells + 2 * <Py_ssize_t> later[k] + 2)
    for k in range(nnz):
        j = <uint64_t> indices[k]
        if j >= n_features:
            return False
        if k < upcoming.nnz:
            prefetch(cells + 2 * <Py_ssize_t> later[k] + 2)
        cell = cells + 2 * j + 2
        mean[k + 1] = cell[0]
        variance[k + 1] = cell[1]
        x[k + 1] = values[k]
    return True


cdef inline void store_row(
    const Row* row, floating* cells, uint64_t n_features, const index_t* indices,
) noexcept nogil:
    cdef floating* cell
    cdef uint64_t j
    cdef Py_ssize_t k
    cells[0] = <floating> row.mean[0]
    cells[1] = <floating> row.variance[0]
    for k in range(row.n - 1):
        j = <uint64_t> indices[k]
        if j >= n_features:
            return
        cell = cells + 2 * j + 2
        cell[0] = <floating> row.mean[k + 1]
        cell[1] = <floating> row.variance[k + 1]


cdef inline double entry(double mean, double variance, double x, bint inclusive, double shift) noexcept nogil:
    """What a feature adds to the mean of the margin.

    `inclusive` counts the row itself into the precision: the diagonal SOP's sum_p x_p z_p / (A_p + x_p^2), with
    mu_p = z_p / A_p and s_p = 1 / A_p, is sum_p x_p mu_p / (1 + s_p x_p^2).  `shift` is added to every A_p.
    """
    return mean * x / (1 + variance * (x * x + shift)) if inclusive else mean * x


cdef inline Margin margin_of(const Row* row, bint inclusive, double shift) noexcept nogil:
    """Mean and variance of mu.x, in two sums each: the order of additions is ours, not the compiler's."""
    cdef const double* mean = row.mean
    cdef const double* variance = row.variance
    cdef const double* x = row.x
    cdef double m0 = 0
    cdef double m1 = 0
    cdef double v0 = 0
    cdef double v1 = 0
    cdef Py_ssize_t p
    cdef Py_ssize_t even = row.n - row.n % 2
    for p in range(0, even, 2):
        m0 += entry(mean[p], variance[p], x[p], inclusive, shift)
        m1 += entry(mean[p + 1], variance[p + 1], x[p + 1], inclusive, shift)
        v0 += variance[p] * (x[p] * x[p])
        v1 += variance[p + 1] * (x[p + 1] * x[p + 1])
    if even < row.n:
        m0 += entry(mean[even], variance[even], x[even], inclusive, shift)
        v0 += variance[even] * (x[even] * x[even])
    return Margin(m0 + m1, v0 + v1)


cdef inline void move_row(
    const Row* row, double alpha, double gain, double v, double floor, Covariance covariance,
) noexcept nogil:
    """Apply a step (alpha with the sign of the label) to the cells of a row whose variance is v."""
    cdef double* mean = row.mean
    cdef double* variance = row.variance
    cdef const double* x = row.x
    cdef double s, q
    cdef Py_ssize_t p
    for p in range(row.n):
        s = variance[p]
        q = s * (x[p] * x[p])
        mean[p] += alpha * (s * x[p])
        if covariance == INCLUSIVE:
            mean[p] /= 1 + gain * q
        if covariance == L2:
            # s - beta (s x)^2 as a product, which no rounding makes negative.
            variance[p] = larger(s * ((1 + gain * larger(v - q, 0)) / (1 + gain * v)), floor)
        elif covariance != FIXED:
            variance[p] = larger(s / (1 + gain * q), floor)


cdef inline Step exact_row(const Row* row, Rule rule, double m, double v) noexcept nogil:
    cdef Py_ssize_t p
    for p in range(row.n):
        row.shares[p] = row.variance[p] * (row.x[p] * row.x[p]) / v
    return exact_step(<Kind> rule.kind, rule.phi, m, v, row.shares, row.n)


cdef inline void add_to_average(
    double[::1] average, const Row* row, double alpha, double rounds, uint64_t n_features, const index_t* indices,
) noexcept nogil:
    """Add (rounds before this one) * (change of the mean), for a covariance that stays as it is."""
    cdef uint64_t j
    cdef Py_ssize_t k
    average[0] += rounds * (alpha * (row.variance[0] * row.x[0]))
    for k in range(row.n - 1):
        j = <uint64_t> indices[k]
        if j >= n_features:
            return
        average[<Py_ssize_t> j + 1] += rounds * (alpha * (row.variance[k + 1] * row.x[k + 1]))


def learn_rows(
    floating[::1] cells, double[::1] average, double[:, ::1] scratch, const int64_t[::1] indptr,
    const index_t[::1] indices, const floating[::1] values, const double[::1] squares, const double[::1] targets,
    const double[::1] weights, const int64_t[::1] order, Rule rule, Tally tally,
):
    """Learn from the rows in `order`, one after the other, in place; return the new tally and how many were done.

    average   per cell, the sum over updates of (rounds before it) * (change of the mean); empty if not wanted
    scratch   four lines, as long as the longest row and the intercept
    squares   the squared length of each row
    targets   +1 or -1 by row
    weights   by row, or empty for all 1

    The pass ends early before a row whose margin, variance or step is not finite.
    """
    cdef uint64_t n_features = cells.shape[0] // 2 - 1
    cdef floating* cell0 = &cells[0]
    cdef const index_t* column0 = &indices[0] if indices.shape[0] else NULL
    cdef const floating* value0 = &values[0] if values.shape[0] else NULL
    cdef const index_t* column
    cdef Py_ssize_t t, i, nnz
    cdef Py_ssize_t distance = rows_ahead(indptr.shape[0], indices.shape[0], cells.shape[0] * sizeof(floating))
    cdef double y, m, v, C, square, scale, shift, reach
    cdef double weight = 1
    # A mean moves by at most alpha sqrt(a v) (Cauchy-Schwarz, a the initial variance).  A step below half a unit in the
    # last place of the largest number can never carry a finite mean to infinity.
    cdef double largest_step = 2.0 ** 102 if floating is float else 2.0 ** 969
    cdef Covariance covariance = <Covariance> rule.covariance
    cdef Row row = new_row(scratch)
    cdef Margin margin
    cdef Step step
    cdef Upcoming upcoming
    with nogil:
        for t in range(order.shape[0]):
            upcoming = look_ahead(t, distance, indptr, column0, value0, targets, squares, order)
            i = order[t]
            if weights.shape[0]:
                weight = weights[i]
                if weight == 0:
                    continue
            square = squares[i] + rule.bias * rule.bias
            scale = (tally.squares + square) / (tally.rows + 1)
            column = column0 + indptr[i]
            margin = Margin(NAN, NAN)
            nnz = indptr[i + 1] - indptr[i]
            if load_row(&row, cell0, n_features, column, value0 + indptr[i], nnz, rule.bias, upcoming):
                # A constant instead of a variable in such calls: the compiler makes one loop for each.
                if covariance == INCLUSIVE:
                    shift = larger(scale - 1 / rule.initial_variance, 0) if rule.relative else 0
                    margin = margin_of(&row, True, shift)
                else:
                    margin = margin_of(&row, False, 0)
            y = targets[i]
            m = y * margin.mean
            v = margin.variance
            step = Step(0, 0)
            if v > 0:
                C = rule.C * weight
                if rule.relative:
                    C = relative(<Kind> rule.kind, C, rule.initial_variance * scale)
                step = rule_step(<Kind> rule.kind, rule.phi, C, m, v)
                if covariance == EXACT and step.gain > 0:
                    step = exact_row(&row, rule, m, v)
                step.gain = capped(step.gain, v)
            # (SOP divides by 1 + q as well, which bounds its step by sqrt(a) / 2.)
            reach = sqrt(rule.initial_variance) * (1 if covariance == INCLUSIVE else step.alpha * sqrt(v))
            if not (isfinite(m) and isfinite(v) and isfinite(scale) and isfinite(step.gain) and reach < largest_step):
                break

            if step.alpha > 0:
                if average.shape[0]:
                    add_to_average(average, &row, y * step.alpha, <double> tally.rows, n_features, column)
                if covariance == FIXED:
                    move_row(&row, y * step.alpha, 0, v, rule.floor, FIXED)
                elif covariance == L2:
                    move_row(&row, y * step.alpha, step.gain, v, rule.floor, L2)
                elif covariance == INCLUSIVE:
                    move_row(&row, y * step.alpha, step.gain, v, rule.floor, INCLUSIVE)
                else:
                    move_row(&row, y * step.alpha, step.gain, v, rule.floor, KL)
                store_row(&row, cell0, n_features, column)
                tally.updates += 1
            tally.rows += 1
            tally.mistakes += m <= 0
            tally.squares += square
        else:
            t = order.shape[0]
    return tally, t


def margin_rows(
    double[::1] mean, double[::1] variance, const floating[::1] cells, double[:, ::1] scratch,
    const int64_t[::1] indptr, const index_t[::1] indices, const floating[::1] values, const int64_t[::1] order,
    double bias, bint inclusive,
):
    """Mean and variance of mu.x for the rows in `order`; see `entry` for `inclusive`, `learn_rows` for the rest."""
    cdef uint64_t n_features = cells.shape[0] // 2 - 1
    cdef const floating* cell0 = &cells[0]
    cdef const index_t* column0 = &indices[0] if indices.shape[0] else NULL
    cdef const floating* value0 = &values[0] if values.shape[0] else NULL
    cdef Py_ssize_t t, i, nnz
    cdef Py_ssize_t distance = rows_ahead(indptr.shape[0], indices.shape[0], cells.shape[0] * sizeof(floating))
    cdef Row row = new_row(scratch)
    cdef Margin margin
    cdef Upcoming upcoming
    with nogil:
        for t in range(order.shape[0]):
            upcoming = look_ahead(t, distance, indptr, column0, value0, mean, variance, order)
            i = order[t]
            margin = Margin(NAN, NAN)
            nnz = indptr[i + 1] - indptr[i]
            if load_row(&row, cell0, n_features, column0 + indptr[i], value0 + indptr[i], nnz, bias, upcoming):
                margin = margin_of(&row, inclusive, 0)
            mean[i] = margin.mean
            variance[i] = margin.variance


def check_rows(
    double[::1] squares, const int64_t[::1] indptr, const index_t[::1] indices, const floating[::1] values,
    int64_t n_features,
):
    """Fill in the squared length of each row; return (first row with a column out of range or -1, rows are canonical).

    Canonical means that the columns of every row rise strictly.  `indptr` must be sound already.
    """
    cdef Py_ssize_t row, k, start, stop
    cdef Py_ssize_t n_rows = squares.shape[0]
    cdef bint canonical = True
    cdef bint disordered
    cdef double s0, s1, s2, s3
    with nogil:
        for row in range(n_rows):
            start = indptr[row]
            stop = indptr[row + 1]
            disordered = False
            for k in range(start + 1, stop):
                disordered |= indices[k] <= indices[k - 1]
            if disordered:
                canonical = False
                for k in range(start, stop):
                    if not 0 <= indices[k] < n_features:
                        break
                else:
                    k = -1
                if k >= 0:
                    break
            elif stop > start and not (indices[start] >= 0 and indices[stop - 1] < n_features):
                break
            s0 = s1 = s2 = s3 = 0
            for k in range(start, stop - 3, 4):
                s0 += <double> values[k] * values[k]
                s1 += <double> values[k + 1] * values[k + 1]
                s2 += <double> values[k + 2] * values[k + 2]
                s3 += <double> values[k + 3] * values[k + 3]
            for k in range(stop - (stop - start) % 4, stop):
                s0 += <double> values[k] * values[k]
            squares[row] = (s0 + s1) + (s2 + s3)
        else:
            row = -1
    return row, canonical


def runs_v3():
    """Whether this processor has AVX2 and what goes with it."""
    return cpu_runs_v3()


def normal_cdf(double[::1] out, const double[::1] z):
    """Phi, the distribution function of the standard normal (N8 section 2)."""
    cdef Py_ssize_t i
    with nogil:
        for i in range(out.shape[0]):
            out[i] = erfc(-z[i] / sqrt(2.0)) / 2


def rule_answer(int kind, double phi, double C, double m, double v):
    """One rule, one row: (alpha, gain) for a margin m and a variance v > 0."""
    cdef Step step = rule_step(<Kind> kind, phi, C, m, v)
    return step.alpha, capped(step.gain, v)


def exact_answer(int kind, double phi, double m, const double[::1] q):
    """The exact diagonal (alpha, gain) of a violated row with q_p = s_p x_p^2."""
    cdef double v = 0
    cdef double[::1] shares = q.copy()
    cdef Py_ssize_t p
    cdef Step step
    for p in range(q.shape[0]):
        v += q[p]
    for p in range(q.shape[0]):
        shares[p] = q[p] / v
    step = exact_step(<Kind> kind, phi, m, v, &shares[0], q.shape[0])
    return step.alpha, step.gain
