"""The loops over CSR rows: one that learns, one that scores, one that checks.

`_cells.pxd` describes the memory of a model and has the functions for a row; `_label_row.pxi` is for more than two
labels, `_label_sets.pxi` for several a row.  The callers (`core.rows`, `core.states`) check shapes, dtypes and ranges.
"""

cimport cython
from cython cimport view
from libc.math cimport NAN, isfinite
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from cwlearn._averages cimport add_to_average, lag_of, prefetch_averages
from cwlearn._binary_row cimport SUMS_WHILE_LOADING, load_row, move_and_store, store_row
from cwlearn._calibration cimport (
    CALIBRATION_DOUBLES, MAP_DOUBLES, Calibration, is_chosen, is_observed, observe_labels, observe_two,
)
from cwlearn._cells cimport (
    Gaussian, Outcome, Row, Rule, Upcoming, fill_weights, floating, index_t, is_sound, margin_of, measure,
    move_row, moved, prefetch, shift_of, step_of, sums_gradients,
)
from cwlearn._forgetting cimport Clock, grow_row, prefetch_stamps, stamp_row
from cwlearn._rules cimport (
    AROW, BAYESIAN_LOGISTIC, CW_STDEV, CW_VARIANCE, DUAL, EXACT, FIXED, HINGE_SGD, INCLUSIVE, KL, L2, LOGISTIC_SGD,
    NHERD, PA, PA_I, PA_II, PERCEPTRON, PROBIT, PROXIMAL, RLS, SCW_I, SCW_II, SOP, Kind, Step, capped,
    exact_step, relative, rule_step,
)
from cwlearn._squares cimport squared_length

include "_label_row.pxi"
include "_label_sets.pxi"

cdef extern from "_subnormals.h":
    unsigned int keep_subnormals "cwlearn_keep_subnormals" () noexcept nogil
    void as_before "cwlearn_as_before" (unsigned int before) noexcept nogil

cdef extern from *:
    """
    #if (defined(__GNUC__) || defined(__clang__)) && defined(__x86_64__)
    #define cwlearn_runs_v3() (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") \\
                               && __builtin_cpu_supports("fma"))
    #else
    #define cwlearn_runs_v3() 0
    #endif
    """
    bint cpu_runs_v3 "cwlearn_runs_v3" () noexcept nogil

KINDS = {
    "perceptron": PERCEPTRON, "pa": PA, "pa-i": PA_I, "pa-ii": PA_II, "cw-variance": CW_VARIANCE, "cw-stdev": CW_STDEV,
    "scw-i": SCW_I, "scw-ii": SCW_II, "arow": AROW, "nherd": NHERD, "sop": SOP,
    "bayesian-logistic": BAYESIAN_LOGISTIC, "logistic-sgd": LOGISTIC_SGD, "hinge-sgd": HINGE_SGD, "probit": PROBIT,
    "rls": RLS,
}
PROJECTIONS = {
    "fixed": FIXED, "kl": KL, "l2": L2, "exact": EXACT, "inclusive": INCLUSIVE, "proximal": PROXIMAL, "dual": DUAL,
}
UPDATES = {"sequential": SEQUENTIAL, "parallel": PARALLEL, "exact": EXACTLY}
CALIBRATION_SIZE, MAP_SIZE = CALIBRATION_DOUBLES, MAP_DOUBLES

cdef struct Statistics:
    int64_t rows              # rows seen (those of weight 0 do not count)
    int64_t updates           # rows, or the labels of rows if these have several
    int64_t mistakes          # y * score <= 0, before learning from the row; counted in the same way
    int64_t unsolved          # exact updates of several labels that did not reach their tolerance
    double loss               # regression: sum of the squared errors, before learning from each row
    double surprise           # regression: sum of squared error / (r + v) * number of the row, from 1: the first errors
    #                           tell more of the prior than of the noise
    double squares            # sum of the squared lengths of the examples, the intercept included: an example is a row
    #                           or, with more than two labels, a difference vector, whose square is twice as large
    double[CALIBRATION_DOUBLES] calibration  # a Calibration: what the scores of rows have been worth

# How far ahead memory is prefetched: the cells of the state by nonzeros, then the rows of the matrix and what there is
# by row, each some rows earlier than the last.  Measured (bench/kernels.py): 2 to 3 times as fast with 5 million
# features, and 1.6 times with 50 thousand if the rows are shuffled.  A state that fits the cache is not prefetched.
cdef Py_ssize_t CELLS_AHEAD = 128
cdef Py_ssize_t ROWS_AHEAD = 8
cdef size_t CACHE_BYTES = 1 << 19


cdef Statistics* statistics_in(uint8_t[::1] counts) except NULL:
    """Bytes as what they are: NumPy would describe the fields of a struct in each call, which takes microseconds."""
    if counts.shape[0] != sizeof(Statistics) or <size_t> &counts[0] % sizeof(double):
        raise ValueError("counts must be the bytes of a Statistics")
    return <Statistics*> &counts[0]


cdef inline Row new_row(double[:, ::1] scratch, int64_t[:, ::1] places) noexcept nogil:
    """A row with room for scratch.shape[1] entries, the intercept included."""
    return Row(&scratch[0, 0], &scratch[1, 0], &scratch[2, 0], &scratch[3, 0], &places[0, 0], 0)


cdef inline Py_ssize_t rows_ahead(Py_ssize_t n_rows, Py_ssize_t nnz, size_t state_bytes) noexcept nogil:
    """The number of rows with CELLS_AHEAD nonzeros; 0 for a state in the cache."""
    if state_bytes <= CACHE_BYTES or nnz == 0:
        return 0
    return 1 + CELLS_AHEAD * n_rows // nnz


cdef inline Upcoming look_ahead(
    Py_ssize_t t, Py_ssize_t distance, const int64_t[::1] indptr, const index_t* indices, const floating* values,
    const double[::1] by_row, const double[::1] by_row_too, const int64_t[::1] order,
) noexcept nogil:
    """Prefetch what later rows need, and return the row `distance` ahead.

    `load_row` prefetches the cells of that row one by one: all at once would fill the memory queue and stop the core.
    """
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
        if stop > indptr[row]:          # the cache line that the last stride may have missed
            prefetch(indices + stop - 1)
            prefetch(values + stop - 1)
    if distance and t + distance < n:
        row = order[t + distance]
        return Upcoming(indices + indptr[row], indptr[row + 1] - indptr[row])
    return Upcoming(NULL, 0)


cdef inline Outcome learn_row(
    floating* cells, double* average, const Clock* clock, Row* row, uint64_t n_features, double y,
    const index_t* indices, const floating* values, Py_ssize_t nnz, const Rule* rule, double C, double shift,
    double rounds, double largest_step, Upcoming upcoming, bint observes,
) noexcept nogil:
    """Learn from one row, whose label y is +1 or -1, or whose target y is any number (RLS)."""
    cdef Gaussian margin
    cdef Step step
    cdef Outcome outcome = Outcome(False, 0, 0, False, 0, 0, Gaussian(0, 0))
    if average != NULL:
        prefetch_averages(average, <const index_t*> upcoming.indices, upcoming.nnz)
    if clock.stamps != NULL:
        prefetch_stamps(clock, <const index_t*> upcoming.indices, upcoming.nnz)
    if not load_row(row, &margin, cells, n_features, indices, values, nnz, rule.bias, upcoming, rule):
        return outcome
    if clock.stamps != NULL:
        grow_row(row, clock)
    if not SUMS_WHILE_LOADING or clock.stamps != NULL or rule.projection == INCLUSIVE:
        margin = measure(row, rule, shift)
    if rule.kind == RLS:
        margin.mean -= y
        y = 1
        outcome.loss = margin.mean * margin.mean
        if margin.variance + 1 / C > 0:
            outcome.surprise = outcome.loss / (margin.variance + 1 / C)
    else:
        margin.mean *= y
        outcome.mistake = margin.mean <= 0
        outcome.margin = margin
        if observes and average != NULL and rounds > 0:
            outcome.margin.mean -= y * lag_of(average, row, rounds)
    step = step_of(rule, C, margin.mean, margin.variance, row, NULL)
    # The last two limits keep the sums of any number of rows finite.
    outcome.sound = (is_sound(rule, margin.mean, margin.variance, step, largest_step)
                     and outcome.loss < 1e288 and outcome.surprise * (rounds + 1) < 1e288)
    outcome.moved = step.alpha != 0 or step.gain > 0
    if outcome.sound and outcome.moved:
        if average == NULL:
            move_and_store(row, cells, rule, y * step.alpha, step.gain, margin.variance)
        else:
            move_row(row, rule, y * step.alpha, step.gain, margin.variance)
            add_to_average(average, row, cells, y * step.alpha, rounds, rule.projection == FIXED)
            store_row(row, cells)
        if clock.stamps != NULL:
            stamp_row(row, clock)
    return outcome


cdef Py_ssize_t learn_in_order(
    floating[::1] cells, double[::1] average, double[::1] stamps, double[:, ::1] scratch, int64_t[:, ::1] places,
    const int64_t[::1] indptr, const index_t[::1] indices, const floating[::1] values, const double[::1] squares,
    const double[::1] targets, const double[::1] weights, const uint8_t[::1] fresh, const int64_t[::1] order, Rule rule,
    uint8_t[::1] counts, const int64_t[::1] set_bounds, const int32_t[::1] set_labels, double[:, ::1] calibrations,
) except -1:
    """`learn_rows`, which says what all this is, for callers that have it in C already."""
    cdef Py_ssize_t blocks = rule.blocks
    cdef uint64_t n_features = cells.shape[0] // (2 * blocks) - 1
    cdef floating* cell0 = &cells[0]
    cdef double* average0 = &average[0] if average.shape[0] else NULL
    # NULL + 0 is undefined in C; without entries, use any valid pointer.
    cdef const index_t* column0 = &indices[0] if indices.shape[0] else <const index_t*> &indptr[0]
    cdef const floating* value0 = &values[0] if values.shape[0] else <const floating*> &indptr[0]
    cdef Py_ssize_t t, i, nnz
    cdef Py_ssize_t distance = rows_ahead(indptr.shape[0], indices.shape[0], cells.shape[0] * sizeof(floating))
    cdef double square, scale, C, shift, spread
    cdef double weight = 1
    cdef double l1 = rule.threshold
    cdef Statistics* total = statistics_in(counts)
    cdef Statistics statistics = total[0]
    cdef Calibration* known = <Calibration*> &statistics.calibration[0]
    cdef bint has_sets = set_bounds is not None
    cdef bint by_length = (blocks > 1 and not has_sets) or rule.projection in (FIXED, INCLUSIVE, PROXIMAL, DUAL)
    cdef bint observes, is_fresh
    cdef bint chosen = is_chosen(statistics.rows, blocks > 1 and not has_sets)
    cdef bint wanted = not has_sets and is_observed(known, chosen, blocks > 1, rule.settled)
    # A step below half a unit in the last place of the largest number can never carry a finite mean to infinity.
    cdef double largest_step = 2.0 ** 102 if floating is float else 2.0 ** 969
    cdef Row row = new_row(scratch, places)
    cdef Py_ssize_t n_rivals = rule.constraints if rule.constraints < blocks - 1 else blocks - 1
    cdef Workspace space = Workspace(
        Cells(0, blocks, &places[0, 0], row.x, &places[1, 0], 0, False, Clock(NULL, 0, 0, rule.initial_variance)),
        &scratch[0, 0], scratch.shape[1],
        n_rivals, n_rivals > (scratch.shape[0] - 5) // 2, <double*> malloc((blocks + 3) * sizeof(double)),
        <double*> malloc(blocks * sizeof(double)), <Py_ssize_t*> malloc(blocks * sizeof(Py_ssize_t)),
        <Rival*> malloc(blocks * sizeof(Rival)),
    )
    cdef Clock* clock = &space.at.clock
    cdef Sets sets = Sets(NULL, 0, NULL, 0, NULL)
    cdef Binaries binary = new_binaries(row, scratch, places, blocks)
    cdef Outcome outcome
    cdef Upcoming upcoming
    cdef unsigned int before
    if stamps.shape[0]:
        clock.stamps = &stamps[0]
        clock.rate = 1 / rule.forgetting
    try:
        if NULL in (space.scores, space.observed, binary.numbers) or space.heap == NULL or space.rivals == NULL:
            raise MemoryError
        if has_sets:
            sets = sets_of(set_bounds, set_labels, calibrations, blocks)
        with nogil:
            before = keep_subnormals()
            for t in range(order.shape[0]):
                upcoming = look_ahead(t, distance, indptr, column0, value0, targets, squares, order)
                i = order[t]
                if weights.shape[0]:
                    weight = weights[i]
                    if weight == 0:
                        continue
                square = squares[i] + rule.bias * rule.bias
                if blocks > 1 and not has_sets:
                    square *= 2
                scale = (statistics.squares + square) / (statistics.rows + 1)
                C = rule.C * weight
                if rule.relative:
                    C = relative(<Kind> rule.kind, C, rule.initial_variance * scale)
                if not isfinite(scale):
                    break
                shift = shift_of(&rule, scale)
                if rule.projection == DUAL:
                    rule.threshold = l1 * statistics.rows
                clock.now = <double> statistics.rows
                nnz = indptr[i + 1] - indptr[i]
                is_fresh = rule.kind != RLS and (fresh.shape[0] == 0 or fresh[i])
                observes = is_fresh and wanted
                if has_sets:
                    outcome = learn_set(
                        cell0, average0, &binary, &sets, n_features, targets[i], column0 + indptr[i],
                        value0 + indptr[i], nnz, &rule, C, shift, statistics.rows, largest_step, upcoming,
                        sets.known if is_fresh else NULL, chosen,
                        squares[i] + rule.bias * rule.bias if by_length else -1, weight,
                    )
                elif blocks == 1:
                    outcome = learn_row(
                        cell0, average0, clock, &row, n_features, targets[i], column0 + indptr[i], value0 + indptr[i],
                        nnz, &rule, C, shift, <double> statistics.rows, largest_step, upcoming, observes,
                    )
                else:
                    outcome = learn_labels(
                        cell0, average0, &space, n_features, targets[i], column0 + indptr[i], value0 + indptr[i], nnz,
                        &rule, C, shift, <double> statistics.rows, largest_step, upcoming, observes,
                    )
                if not outcome.sound:
                    break
                if observes:
                    spread = squares[i] + rule.bias * rule.bias if by_length else outcome.margin.variance
                    if blocks == 1:
                        observe_two(known, outcome.margin.mean, spread, targets[i], weight, rule.settled)
                    else:
                        observe_labels(
                            known, space.observed, blocks, <Py_ssize_t> targets[i], spread, weight, rule.settled,
                        )
                statistics.rows += 1
                if observes or statistics.rows % 16 == 0:       # else nothing that decides this has changed
                    chosen = is_chosen(statistics.rows, blocks > 1 and not has_sets)
                    wanted = not has_sets and is_observed(known, chosen, blocks > 1, rule.settled)
                statistics.updates += outcome.moved
                statistics.mistakes += outcome.mistake
                statistics.unsolved += outcome.unsolved
                statistics.loss += outcome.loss
                statistics.surprise += outcome.surprise * statistics.rows
                statistics.squares += square
            else:
                t = order.shape[0]
            total[0] = statistics
            as_before(before)
    finally:
        free(space.scores)
        free(space.observed)
        free(space.heap)
        free(space.rivals)
        free(binary.numbers)
    return t


def learn_rows(
    floating[::1] cells, double[::1] average, double[::1] stamps, double[:, ::1] scratch, int64_t[:, ::1] places,
    const int64_t[::1] indptr, const index_t[::1] indices, const floating[::1] values, const double[::1] squares,
    const double[::1] targets, const double[::1] weights, const uint8_t[::1] fresh, const int64_t[::1] order, Rule rule,
    uint8_t[::1] counts, const int64_t[::1] set_bounds=None, const int32_t[::1] set_labels=None,
    double[:, ::1] calibrations=None,
):
    """Learn from the rows in `order`, one after the other, in place; return how many were done.

    The weights and `counts` (the bytes of a Statistics) change together: no signal handler of Python can run between
    them.

    average   per mean, the sum over updates of (rounds before it) * (change of the mean); empty if not wanted
    stamps    per mean, the number of rows before the one that changed it last; empty if nothing is forgotten
    scratch   four lines, as long as the longest row and the intercept; with more than two labels, five lines and
              two for each slot of a rival
    places    two such lines
    squares   the squared length of each row
    targets   by row: +1 or -1; with more than two labels, the number of the label; in regression, any number; if rows
              have several labels, the number of a set of labels
    weights   by row, or empty for all 1
    fresh     by row, whether it is new to the model, so that its score tests the model; empty if all are
    set_...   the labels of set k are set_labels[set_bounds[k]:set_bounds[k + 1]]; None unless rows have several labels
    calibrations   by label, a Calibration; None unless rows have several labels

    The pass ends early before a row whose margin, variance or step is not finite.
    """
    return learn_in_order(
        cells, average, stamps, scratch, places, indptr, indices, values, squares, targets, weights, fresh, order, rule,
        counts, set_bounds, set_labels, calibrations,
    )


include "_margins.pxi"


def check_rows(
    double[::1] squares, const int64_t[::1] indptr, const index_t[::1] indices, const floating[::1] values,
    int64_t n_features,
):
    """Fill in the squared length of each row; return (first row with a column out of range or -1, rows are canonical).

    Canonical means that the columns of every row rise strictly.  `indptr` must be sound already.
    """
    cdef Py_ssize_t row, start, stop
    cdef Py_ssize_t n_rows = squares.shape[0]
    cdef bint canonical = True
    cdef unsigned int before
    with nogil:
        before = keep_subnormals()
        for row in range(n_rows):
            start = indptr[row]
            stop = indptr[row + 1]
            if stop == start:
                squares[row] = 0
                continue
            if not check_row(&indices[start], &values[start], stop - start, &squares[row]):
                canonical = False
                if not columns_exist(&indices[start], stop - start, n_features):
                    break
            elif not (indices[start] >= 0 and indices[stop - 1] < n_features):
                break
        else:
            row = -1
        as_before(before)
    return row, canonical


include "_one_row.pxi"
include "_answers.pxi"


def runs_v3():
    """Whether this processor has AVX2, BMI2 and FMA."""
    return cpu_runs_v3()


def choose_scores(bint wide):
    """Choose whether scores of labels are summed with AVX-512, for tests; return whether this processor can do that."""
    global use_avx512
    use_avx512 = wide and has_wide_scores()
    return has_wide_scores() or not wide


def rule_answer(int kind, double parameter, double C, double m, double v):
    """The (alpha, gain) of a rule for a margin m and a variance v > 0; `parameter` is phi, or AROW's gain factor."""
    cdef Step step = rule_step(<Kind> kind, parameter, parameter, C, m, v)
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
