"""Learning from a row of a problem with more than two labels (E9: EMNLP 2009, section 5).

Each label has a block of weights.  The true label y and a rival r make a binary example: the difference vector that has
x in the block of y and -x in that of r, with margin mu_y.x - mu_r.x and variance x'S_y x + x'S_r x, and every binary
rule applies to it.  The rivals that count are the k highest-scoring wrong labels (`constraints`), ranked once, ties to
the lower label.  How their constraints become one update:

    SEQUENTIAL   one after the other, each from where the last one led                                 (E9 section 5.2)
    PARALLEL     each alone; then the average of the means and of the precisions                       (E9 section 5.2)
    EXACTLY      all at once: the nearest Gaussian that meets all of them                  (E9 section 5.2, "Exact")

In all three a rival's block takes part in one constraint only.  So the steps are found first, while only the block of
the true label may change, in its copy; nothing is stored before all of them are known to be sound.
"""

from libc.math cimport INFINITY, fabs, isfinite
from libc.stdint cimport int64_t, uint64_t

from cwlearn._cells cimport (
    Gaussian, Outcome, Row, Rule, Upcoming, entry, fill_shares, floating, index_t, is_sound, measure, move_row, moved,
    prefetch, step_of, variance_of,
)
from cwlearn._rules cimport (
    CW_VARIANCE, INCLUSIVE, PA_I, PA_II, Projection, Kind, Step, capped, exact_step, larger, rule_step,
)

cdef enum Update:
    SEQUENTIAL
    PARALLEL
    EXACTLY

cdef struct Rival:            # a wrong label, and what its constraint asks for
    Py_ssize_t label
    double m                  # margin of the true label over it
    double v
    Step step

cdef struct Cells:            # the cells of a row, the intercept first: they are visited again and again
    Py_ssize_t n
    int64_t* cell             # their numbers, in an array that nobody else can change
    double* x
    int64_t* ahead            # as many that a later row will need
    bint looks_ahead

cdef struct Workspace:        # where a row is worked on
    Cells at
    double* lines             # five for the true label, and two for each slot of a rival
    Py_ssize_t length         # of a line
    Py_ssize_t slots          # rivals that can lie side by side; if there are more, all share one and are loaded again
    double* scores            # by label, with room for a multiple of four
    Py_ssize_t* heap          # by label
    Rival* rivals             # by label

cdef struct Sensitive:        # a number, and how fast it grows with the one it depends on
    double value
    double slope


# -- cells -------------------------------------------------------------------------------------------------------------

cdef bint find_cells(
    Cells* at, uint64_t n_features, const index_t* indices, const floating* values, Py_ssize_t nnz, double bias,
    Upcoming upcoming,
) noexcept nogil:
    """False if a column is out of range."""
    cdef const index_t* later = <const index_t*> upcoming.indices
    cdef int64_t* cell = at.cell
    cdef int64_t* ahead = at.ahead
    cdef double* x = at.x
    cdef Py_ssize_t k, known = nnz if nnz < upcoming.nnz else upcoming.nnz
    cdef bint sound = True
    at.n = nnz + 1
    cell[0] = 0
    x[0] = bias
    for k in range(nnz):
        cell[k + 1] = <int64_t> indices[k] + 1
    for k in range(nnz):
        sound &= <uint64_t> (cell[k + 1] - 1) < n_features
    for k in range(nnz):
        x[k + 1] = values[k]
    at.looks_ahead = later != NULL
    if at.looks_ahead:
        for k in range(known):
            ahead[k] = <int64_t> later[k] + 1
        for k in range(known, at.n):
            ahead[k] = 0
    return sound


cdef void load_block(
    const Row* row, const floating* cells, const Cells* at, Py_ssize_t n_labels, Py_ssize_t label,
) noexcept nogil:
    """Copy the weights of one label."""
    cdef const floating* cell
    cdef Py_ssize_t p
    for p in range(row.n):
        cell = cells + 2 * n_labels * at.cell[p] + label
        row.mean[p] = cell[0]
        row.variance[p] = cell[n_labels]


cdef void store_block(
    const Row* row, floating* cells, const Cells* at, Py_ssize_t n_labels, Py_ssize_t label,
) noexcept nogil:
    cdef floating* cell
    cdef Py_ssize_t p
    for p in range(row.n):
        cell = cells + 2 * n_labels * at.cell[p] + label
        cell[0] = <floating> row.mean[p]
        cell[n_labels] = <floating> row.variance[p]


cdef void add_block_to_average(
    double* average, const Row* row, const Cells* at, double alpha, double rounds, Py_ssize_t n_labels,
    Py_ssize_t label,
) noexcept nogil:
    """Add (rounds before this one) * (change of the mean), for a covariance that stays as it is."""
    cdef Py_ssize_t p
    for p in range(row.n):
        average[n_labels * at.cell[p] + label] += rounds * (alpha * (row.variance[p] * row.x[p]))


# -- scores ------------------------------------------------------------------------------------------------------------

cdef extern from "_scores.h":
    void scores_of_floats "cwlearn_scores_float" (
        double* scores, const float* cells, Py_ssize_t stride, const int64_t* cell, const double* x, Py_ssize_t n,
        const int64_t* ahead, Py_ssize_t n_labels) noexcept nogil
    void scores_of_doubles "cwlearn_scores_double" (
        double* scores, const double* cells, Py_ssize_t stride, const int64_t* cell, const double* x, Py_ssize_t n,
        const int64_t* ahead, Py_ssize_t n_labels) noexcept nogil


cdef void score_labels(
    double* scores, double* variances, const floating* cells, const Cells* at, Py_ssize_t n_labels, bint inclusive,
    double shift,
) noexcept nogil:
    """Mean and, unless that is NULL, variance of w_z.x for every label z; `scores` has room for a multiple of four."""
    cdef const floating* cell
    cdef double square
    cdef Py_ssize_t p, z
    cdef const int64_t* ahead = at.ahead if at.looks_ahead else NULL
    if floating is float:
        scores_of_floats(scores, cells, 2 * n_labels, at.cell, at.x, at.n, ahead, n_labels)
    else:
        scores_of_doubles(scores, cells, 2 * n_labels, at.cell, at.x, at.n, ahead, n_labels)
    if inclusive:
        for z in range(n_labels):
            scores[z] = 0
        for p in range(at.n):
            cell = cells + 2 * n_labels * at.cell[p]
            for z in range(n_labels):
                scores[z] += entry(cell[z], cell[n_labels + z], at.x[p], True, shift)
    if variances == NULL:
        return
    for z in range(n_labels):
        variances[z] = 0
    for p in range(at.n):
        cell = cells + 2 * n_labels * at.cell[p] + n_labels
        square = at.x[p] * at.x[p]
        for z in range(n_labels):
            variances[z] += cell[z] * square


# -- rivals ------------------------------------------------------------------------------------------------------------

cdef inline bint outranks(const double* scores, Py_ssize_t one, Py_ssize_t other) noexcept nogil:
    return scores[one] > scores[other] or (scores[one] == scores[other] and one < other)


cdef inline void sift_down(Py_ssize_t* heap, Py_ssize_t place, Py_ssize_t n, const double* scores) noexcept nogil:
    """Restore the heap below a place: no label outranks the one above it."""
    cdef Py_ssize_t sinking = heap[place]
    cdef Py_ssize_t child
    while True:
        child = 2 * place + 1
        if child >= n:
            break
        if child + 1 < n and outranks(scores, heap[child + 1], heap[child]):
            child += 1
        if not outranks(scores, heap[child], sinking):
            break
        heap[place] = heap[child]
        place = child
    heap[place] = sinking


cdef void rank_rivals(
    Rival* chosen, Py_ssize_t wanted, const double* scores, Py_ssize_t n_labels, Py_ssize_t label, Py_ssize_t* heap,
) noexcept nogil:
    """The `wanted` highest-scoring wrong labels, the highest one first."""
    cdef Py_ssize_t n = n_labels - 1
    cdef Py_ssize_t z, best
    if wanted == 1:
        best = 1 if label == 0 else 0
        for z in range(best + 1, n_labels):
            if scores[z] > scores[best] and z != label:
                best = z
        chosen[0].label = best
        return
    for z in range(n):
        heap[z] = z + (z >= label)
    for z in range(n // 2 - 1, -1, -1):
        sift_down(heap, z, n, scores)
    for z in range(wanted):
        chosen[z].label = heap[0]
        n -= 1
        heap[0] = heap[n]
        sift_down(heap, 0, n, scores)


# -- the exact update --------------------------------------------------------------------------------------------------

cdef inline Gaussian spread(const Row* row, double k) noexcept nogil:
    """sum_p t_p and sum_p t_p^2 of t_p = share_p / (1 + k share_p)."""
    cdef double u = 0, e = 0, t
    cdef Py_ssize_t p
    for p in range(row.n):
        t = row.shares[p] / (1 + k * row.shares[p])
        u += t
        e += t * t
    return Gaussian(u, e)


cdef inline Sensitive true_side(const Row* true, const Rule* rule, double v, double alpha) noexcept nogil:
    """What a step alpha of the true label's block adds to every margin, less phi times the variance that it leaves."""
    cdef Gaussian left
    if rule.phi == 0:
        return Sensitive(alpha * v, v)
    left = spread(true, 2 * rule.phi * alpha * v)
    return Sensitive(v * (alpha - rule.phi * left.mean), v * (1 + 2 * rule.phi * rule.phi * v * left.variance))


cdef inline Sensitive rival_side(const Row* rival, const Rule* rule, double C, double m, double v) noexcept nogil:
    """The step that a rival's block must take, for itself alone a binary example of margin m and variance v; the slope
    tells how it falls with m."""
    cdef double alpha
    if rule.phi == 0:
        alpha = rule_step(<Kind> rule.kind, 0, rule.gain_factor, C, m, v).alpha
        if rule.kind == PA_II:
            v += 1 / (2 * C)
        return Sensitive(alpha, 0 if alpha == 0 or (rule.kind == PA_I and alpha >= C) else 1 / v)
    if m >= rule.phi * v:
        return Sensitive(0, 0)
    fill_shares(rival, v)
    alpha = exact_step(CW_VARIANCE, rule.phi, m, v, rival.shares, rival.n).alpha
    return Sensitive(
        alpha, 1 / (v * (1 + 2 * rule.phi * rule.phi * v * spread(rival, 2 * rule.phi * alpha * v).variance))
    )


cdef bint solve(
    double* total, Rival* chosen, Py_ssize_t n, const Row* true, double v_true, const Row* rival, const floating* cells,
    const Cells* at, const Rule* rule, double C,
) noexcept nogil:
    """Steps that meet all constraints at once, with alpha_j > 0 only where one is tight; False if the cap came first.

    The problem's conditions (E9 section 5.2, as corrected; S is the covariance before the row):

        mu = mu_0 + sum_j alpha_j S g_j,    1/s_p = 1/s_p0 + 2 phi sum_j alpha_j (g_j)_p^2,    g_j: difference vectors

    Block y moves by A = sum_j alpha_j whoever the rivals are, and block r_j by alpha_j alone.  So, A being given, every
    alpha_j is the step of a binary row in its own block, and what is left of the problem is one equation:

        sum_j alpha_j(A) = A.

    The paper's cycle over the constraints (Hildreth) would approach the same point slowly, for all of them share block
    y.  Each alpha_j(A) is convex and falling, but for the cap of PA-I; so Newton's method from A = 0 rises to the root
    and cannot pass it, and for PA-I bisection keeps it in.  With a fixed covariance this is k-best PA (MIRA).
    """
    cdef double low = 0, high = INFINITY, A = 0, reached = 0, excess = 0, slope, delta, m
    cdef Sensitive ours, theirs
    cdef Py_ssize_t j
    cdef int sweep
    fill_shares(true, v_true)
    for sweep in range(rule.sweeps):
        ours = true_side(true, rule, v_true, A)
        reached = A
        excess = -A
        slope = 0
        for j in range(n):
            m = chosen[j].m + ours.value
            if rule.phi > 0 and m < rule.phi * chosen[j].v:
                load_block(rival, cells, at, rule.blocks, chosen[j].label)
            theirs = rival_side(rival, rule, C, m, chosen[j].v)
            chosen[j].step.alpha = theirs.value
            excess += theirs.value
            slope += theirs.slope
        delta = excess / (1 + slope * ours.slope)
        if not (fabs(delta) > rule.tolerance * A and high - low > rule.tolerance * A):
            total[0] = A
            return True
        if delta > 0:
            low = A
        else:
            high = A
        A += delta
        if not low < A < high or (sweep >= 20 and high < INFINITY):     # Newton goes astray: in circles, or by rounding
            A = low + (high - low) / 2
    total[0] = 0
    if excess + reached > 0:
        total[0] = A
        for j in range(n):                           # in the proportion of the last sweep, so that A is their sum
            chosen[j].step.alpha *= A / (excess + reached)
    return False


# -- a row -------------------------------------------------------------------------------------------------------------

cdef void move_to_average(
    const Row* row, const Rule* rule, double sign, const Rival* rivals, Py_ssize_t n, Py_ssize_t constraints,
) noexcept nogil:
    """The average of the means, and of the precisions, that each of n steps leads to, with `constraints` - n that move
    nothing."""
    cdef double mean, s, x, change, ratio
    cdef Gaussian weight
    cdef Py_ssize_t p, j
    for p in range(row.n):
        mean, s, x = row.mean[p], row.variance[p], row.x[p]
        change = 0
        ratio = constraints
        for j in range(n):
            if rivals[j].step.alpha > 0:
                weight = moved(
                    mean, s, x, sign * rivals[j].step.alpha, rivals[j].step.gain, rivals[j].v, rule.floor,
                    <Projection> rule.projection,
                )
                change += weight.mean - mean
                ratio += s / weight.variance - 1
        row.mean[p] = mean + change / constraints
        row.variance[p] = larger(s * (constraints / ratio), rule.floor)     # a factor of at most 1; 1, if fixed


cdef inline Row rival_row(const Workspace* space, Py_ssize_t slot, bint shared) noexcept nogil:
    cdef double* mean = space.lines + (5 + (0 if shared else 2 * slot)) * space.length
    return Row(mean, mean + space.length, space.at.x, space.lines + 3 * space.length + space.at.n, space.at.n)


cdef Outcome learn_labels(
    floating* cells, double* average, Workspace* space, uint64_t n_features, double target, const index_t* indices,
    const floating* values, Py_ssize_t nnz, const Rule* rule, double C, double shift, double rounds,
    double largest_step, Upcoming upcoming,
) noexcept nogil:
    """Learn from one row, whose label is `target`."""
    cdef Outcome outcome = Outcome(False, False, False, False, 0, 0)
    cdef Py_ssize_t n = rule.blocks - 1 if rule.blocks - 1 < rule.constraints else rule.constraints
    cdef bint shared = n > space.slots
    cdef bint inclusive = rule.projection == INCLUSIVE
    cdef Cells* at = &space.at
    cdef double* scores = space.scores
    cdef Rival* chosen = space.rivals
    cdef Row true = Row(
        space.lines, space.lines + space.length, at.x, space.lines + 3 * space.length, nnz + 1,
    )
    cdef Row rival
    cdef Py_ssize_t z, j, label
    cdef Gaussian ours, theirs
    cdef Step step
    cdef double alpha
    cdef double total = 0         # the step of the true label's block
    if not 0 <= target < rule.blocks:
        return outcome
    label = <Py_ssize_t> target
    if not find_cells(at, n_features, indices, values, nnz, rule.bias, upcoming):
        return outcome
    score_labels(scores, NULL, cells, at, rule.blocks, inclusive, shift)
    for z in range(rule.blocks):
        if not isfinite(scores[z]):
            return outcome
    rank_rivals(chosen, n, scores, rule.blocks, label, space.heap)

    load_block(&true, cells, at, rule.blocks, label)
    ours = Gaussian(scores[label], variance_of(&true))
    for j in range(n):
        rival = rival_row(space, j, shared)
        load_block(&rival, cells, at, rule.blocks, chosen[j].label)
        theirs = Gaussian(scores[chosen[j].label], variance_of(&rival))
        chosen[j].m = ours.mean - theirs.mean
        chosen[j].v = ours.variance + theirs.variance
        step = step_of(rule, C, chosen[j].m, chosen[j].v, &true, &rival)
        if not is_sound(rule, chosen[j].m, chosen[j].v, step, largest_step):
            return outcome
        chosen[j].step = step
        total += step.alpha
        if rule.update == SEQUENTIAL and step.alpha > 0:
            move_row(&true, rule, step.alpha, step.gain, chosen[j].v)
            if j < n - 1:
                ours = measure(&true, rule, shift) if inclusive else Gaussian(
                    ours.mean + step.alpha * ours.variance, variance_of(&true))
        if rule.update == EXACTLY:
            chosen[j].v = theirs.variance
    outcome.mistake = chosen[0].m <= 0
    outcome.moved = total > 0
    if outcome.moved and rule.update == EXACTLY:
        rival = rival_row(space, 0, True)
        outcome.unsolved = not solve(&total, chosen, n, &true, ours.variance, &rival, cells, at, rule, C)
        for j in range(n):
            chosen[j].step.gain = capped(2 * rule.phi * chosen[j].step.alpha, chosen[j].v)
            if not is_sound(rule, chosen[j].m, chosen[j].v, chosen[j].step, largest_step):
                return outcome
        step = Step(total, capped(2 * rule.phi * total, ours.variance))
        if not is_sound(rule, 0, ours.variance, step, largest_step):
            return outcome
        move_row(&true, rule, step.alpha, step.gain, ours.variance)
    elif outcome.moved and rule.update == PARALLEL:
        total /= n
        move_to_average(&true, rule, 1, chosen, n, n)
    outcome.sound = True
    if not outcome.moved:
        return outcome

    if average != NULL:
        add_block_to_average(average, &true, at, total, rounds, rule.blocks, label)
    store_block(&true, cells, at, rule.blocks, label)
    for j in range(n):
        if chosen[j].step.alpha <= 0:
            continue
        rival = rival_row(space, j, shared)
        if shared or rule.update == EXACTLY:
            load_block(&rival, cells, at, rule.blocks, chosen[j].label)
        alpha = chosen[j].step.alpha
        if rule.update == PARALLEL:
            alpha /= n
            move_to_average(&rival, rule, -1, &chosen[j], 1, n)
        else:
            move_row(&rival, rule, -alpha, chosen[j].step.gain, chosen[j].v)
        if average != NULL:
            add_block_to_average(average, &rival, at, -alpha, rounds, rule.blocks, chosen[j].label)
        store_block(&rival, cells, at, rule.blocks, chosen[j].label)
    return outcome
