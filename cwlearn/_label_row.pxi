"""Learning from a row if there are more than two labels (E9: EMNLP 2009, section 5).

Each label has a block of weights.  The true label y and a rival r make a binary example: the difference vector that has
x in the block of y and -x in that of r, with margin mu_y.x - mu_r.x and variance x'S_y x + x'S_r x.  Every binary rule
applies to it.  The rivals are the k highest-scoring wrong labels (`constraints`), ranked once, ties to the lower label.
Their constraints become one update:

    SEQUENTIAL   one after the other, each from where the last one led                                 (E9 section 5.2)
    PARALLEL     each alone; then the average of the means and of the precisions                       (E9 section 5.2)
    EXACTLY      all at once: the nearest Gaussian that meets all of them                  (E9 section 5.2, "Exact")

In all three a rival's block takes part in one constraint only.  So the steps are found first, while only the copy of
the true label's block may change; nothing is stored before all steps are known to be finite.
"""

from libc.math cimport INFINITY, fabs, isfinite, sqrt
from libc.stdint cimport int64_t, uint64_t

from cwlearn._averages cimport scores_of_average
from cwlearn._cells cimport (
    Gaussian, Outcome, Row, Rule, Upcoming, Weighing, add_gradients, change_of_mean, entry, fill_shares, fill_weights,
    floating, index_t, is_sound, length_of, measure, move_row, moved, prefetch, step_of, sums_gradients, variance_of,
    weighing_of, weight_of,
)
from cwlearn._forgetting cimport Clock, grow, grown
from cwlearn._rules cimport (
    CW_VARIANCE, FIXED, INCLUSIVE, KL, L2, PA_I, PA_II, Projection, Kind, Step, capped, exact_step, larger, rule_step,
)

cdef extern from "_label_blocks.h":
    double load_floats "cwlearn_load_block_float" (
        const Row* row, const float* means, Py_ssize_t n_labels, const int64_t* cell) noexcept nogil
    double load_doubles "cwlearn_load_block_double" (
        const Row* row, const double* means, Py_ssize_t n_labels, const int64_t* cell) noexcept nogil
    void store_floats "cwlearn_store_block_float" (
        const Row* row, float* means, Py_ssize_t n_labels, const int64_t* cell) noexcept nogil
    void store_doubles "cwlearn_store_block_double" (
        const Row* row, double* means, Py_ssize_t n_labels, const int64_t* cell) noexcept nogil

cdef enum Update:
    SEQUENTIAL
    PARALLEL
    EXACTLY

cdef struct Rival:            # a wrong label, and the step that its constraint asks for
    Py_ssize_t label
    double margin             # of the true label over it
    double variance           # of this margin: the variance of both scores
    double own_variance       # of the rival's score alone
    Step step

cdef struct Cells:            # the cells of a row, the intercept first
    Py_ssize_t n
    Py_ssize_t n_labels
    int64_t* cell             # where they begin in the state, in an array that only this call can change; among numbers
    #                           by mean (averages, stamps) they begin at half of it
    double* x
    int64_t* ahead            # where as many cells begin that a later row will need
    bint looks_ahead
    Clock clock               # how old their variances are

cdef struct Workspace:        # where a row is worked on
    Cells at
    double* lines             # five for the true label, and two for each slot of a rival
    Py_ssize_t length         # of a line
    Py_ssize_t n_rivals
    bint shared               # there are more rivals than slots: all use one slot, and are loaded again
    double* scores            # by label, with room for a multiple of four
    double* observed          # the same of the weights that predict
    Py_ssize_t* heap          # by label
    Rival* rivals             # by label

# -- cells -------------------------------------------------------------------------------------------------------------

cdef bint find_cells(
    Cells* at, uint64_t n_features, const index_t* indices, const floating* values, Py_ssize_t nnz, double bias,
    Upcoming upcoming,
) noexcept nogil:
    """Fill in the cells of a row; False if a column is out of range."""
    cdef const index_t* later = <const index_t*> upcoming.indices
    cdef int64_t* cell = at.cell
    cdef int64_t* ahead = at.ahead
    cdef double* x = at.x
    cdef Py_ssize_t k, n_ahead = nnz if nnz < upcoming.nnz else upcoming.nnz
    cdef int64_t size = 2 * at.n_labels          # of a cell
    cdef bint sound = True
    at.n = nnz + 1
    cell[0] = 0
    x[0] = bias
    for k in range(nnz):
        cell[k + 1] = <int64_t> indices[k]
    for k in range(nnz):
        sound &= <uint64_t> cell[k + 1] < n_features
    if not sound:
        return False
    for k in range(nnz):
        cell[k + 1] = (cell[k + 1] + 1) * size
    for k in range(nnz):
        x[k + 1] = values[k]
    at.looks_ahead = later != NULL
    if at.looks_ahead:
        for k in range(n_ahead):
            ahead[k] = (<int64_t> later[k] + 1) * size
        for k in range(n_ahead, at.n):
            ahead[k] = 0
    return True


cdef double load_block(
    const Row* row, const floating* cells, const Cells* at, Py_ssize_t label,
) noexcept nogil:
    """Copy the weights of one label, as they are now; return the variance of its score, as `variance_of` does."""
    cdef Py_ssize_t p
    cdef double variance
    if floating is float:
        variance = load_floats(row, cells + label, at.n_labels, at.cell)
    else:
        variance = load_doubles(row, cells + label, at.n_labels, at.cell)
    if at.clock.stamps != NULL:
        for p in range(row.n):
            row.shares[p] = at.clock.stamps[(at.cell[p] >> 1) + label]
        grow(row.variance, row.shares, row.n, &at.clock)
        variance = variance_of(row)
    return variance


cdef void store_block(const Row* row, floating* cells, const Cells* at, Py_ssize_t label) noexcept nogil:
    cdef Py_ssize_t p
    if floating is float:
        store_floats(row, cells + label, at.n_labels, at.cell)
    else:
        store_doubles(row, cells + label, at.n_labels, at.cell)
    if at.clock.stamps != NULL:
        for p in range(row.n):
            at.clock.stamps[(at.cell[p] >> 1) + label] = at.clock.now


cdef void add_block_to_average(
    double* average, const Row* row, const floating* cells, const Cells* at, double alpha, double rounds,
    Py_ssize_t label, bint fixed,
) noexcept nogil:
    """Add (rounds before this one) * (change of the mean), for a block that has been moved and not yet stored."""
    cdef Py_ssize_t p
    for p in range(row.n):
        average[(at.cell[p] >> 1) + label] += rounds * change_of_mean(
            row, p, cells[at.cell[p] + label], alpha, fixed,
        )


include "_label_scores.pxi"


cdef extern from "_ranking.h":
    bint all_finite "cwlearn_all_finite" (const double* numbers, Py_ssize_t n) noexcept nogil
    Py_ssize_t next_label "cwlearn_next_label" (
        double* scores, Py_ssize_t n, Py_ssize_t out, Py_ssize_t before, double limit) noexcept nogil

cdef enum:
    FEW_RIVALS = 16           # so many are found one after the other; more by a heap


# -- rivals ------------------------------------------------------------------------------------------------------------

cdef inline bint outranks(const double* scores, Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    return scores[a] > scores[b] or (scores[a] == scores[b] and a < b)


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
    Rival* chosen, Py_ssize_t wanted, double* scores, Py_ssize_t n_labels, Py_ssize_t label, Py_ssize_t* heap,
) noexcept nogil:
    """The `wanted` highest-scoring wrong labels, the highest one first."""
    cdef Py_ssize_t n = n_labels - 1
    cdef Py_ssize_t z, before = -1
    cdef double limit = INFINITY
    if wanted <= FEW_RIVALS:
        for z in range(wanted):
            chosen[z].label = before = next_label(scores, n_labels, label, before, limit)
            limit = scores[before]
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


include "_exact_labels.pxi"
include "_parallel_labels.pxi"


# -- a row -------------------------------------------------------------------------------------------------------------

cdef inline Row true_row(const Workspace* space) noexcept nogil:
    """The place for the block of the true label."""
    cdef double* mean = space.lines
    return Row(mean, mean + space.length, space.at.x, space.lines + 3 * space.length, NULL, space.at.n)


cdef inline Row rival_row(const Workspace* space, Py_ssize_t number) noexcept nogil:
    """The place for the block of a rival; one for all if they are `shared`."""
    cdef double* mean = space.lines + (5 + (0 if space.shared else 2 * number)) * space.length
    return Row(mean, mean + space.length, space.at.x, space.lines + 3 * space.length + space.at.n, NULL, space.at.n)


cdef bint find_rivals(
    const floating* cells, Workspace* space, const Rule* rule, Py_ssize_t label, double shift,
) noexcept nogil:
    """Score all labels, and choose the rivals of the true one; False if a score is not finite."""
    if sums_gradients(rule):
        score_by_gradients(space.scores, cells, &space.at, rule)
    else:
        score_labels(space.scores, NULL, cells, &space.at, rule.blocks, rule.projection == INCLUSIVE, shift)
    if not all_finite(space.scores, rule.blocks):
        return False
    rank_rivals(space.rivals, space.n_rivals, space.scores, rule.blocks, label, space.heap)
    return True


cdef bint find_steps(
    const floating* cells, Workspace* space, const Row* true, Gaussian ours, const Rule* rule, double C, double shift,
    double largest_step,
) noexcept nogil:
    """Find the step that each rival asks for as a binary example; False if a number is not finite.

    `ours` is the score of the true label.  SEQUENTIAL: a step moves the copy of its block before the next rival is
    measured.
    """
    cdef Rival* rival
    cdef Row row
    cdef Py_ssize_t j
    for j in range(space.n_rivals):
        rival = &space.rivals[j]
        row = rival_row(space, j)
        rival.own_variance = load_and_measure(&row, cells, &space.at, rule, rival.label)
        rival.margin = ours.mean - space.scores[rival.label]
        rival.variance = ours.variance + rival.own_variance
        rival.step = step_of(rule, C, rival.margin, rival.variance, true, &row)
        if not is_sound(rule, rival.margin, rival.variance, rival.step, largest_step):
            return False
        if rule.update == SEQUENTIAL and rival.step.alpha > 0:
            move_row(true, rule, rival.step.alpha, rival.step.gain, rival.variance)
            if j < space.n_rivals - 1:
                if rule.projection == INCLUSIVE or sums_gradients(rule):
                    ours = measure(true, rule, shift)
                else:
                    ours = Gaussian(ours.mean + rival.step.alpha * ours.variance, variance_of(true))
    return True


cdef bint move_exactly(
    const floating* cells, Workspace* space, const Row* true, double v_true, double* total, bint* unsolved,
    const Rule* rule, double C, double largest_step,
) noexcept nogil:
    """EXACTLY: replace the steps by those that meet all constraints, and move the copy of the true label's block.

    False if a number is not finite.  `total` becomes the step of that block.
    """
    cdef Row row = rival_row(space, 0)
    cdef Rival* rival
    cdef Step step
    cdef Py_ssize_t j
    unsolved[0] = not solve(total, space.rivals, space.n_rivals, true, v_true, &row, cells, &space.at, rule, C)
    for j in range(space.n_rivals):
        rival = &space.rivals[j]
        rival.step.gain = capped(2 * rule.phi * rival.step.alpha, rival.own_variance)
        if not is_sound(rule, rival.margin, rival.own_variance, rival.step, largest_step):
            return False
    step = Step(total[0], capped(2 * rule.phi * total[0], v_true))
    if not is_sound(rule, 0, v_true, step, largest_step):
        return False
    move_row(true, rule, step.alpha, step.gain, v_true)
    return True


cdef void move_rivals(
    floating* cells, double* average, const Workspace* space, const Rule* rule, double rounds,
) noexcept nogil:
    """Move and store the blocks of the rivals whose constraints were violated."""
    cdef const Rival* rival
    cdef Row row
    cdef double alpha
    cdef Py_ssize_t j
    for j in range(space.n_rivals):
        rival = &space.rivals[j]
        if rival.step.alpha <= 0:
            continue
        row = rival_row(space, j)
        if space.shared or rule.update == EXACTLY:              # the place has been used for other rivals since
            load_block(&row, cells, &space.at, rival.label)
        alpha = rival.step.alpha
        if sums_gradients(rule):
            fill_weights(&row, rule)
        if rule.update == PARALLEL:
            alpha /= space.n_rivals
            move_to_average(&row, rule, -1, rival, 1, space.n_rivals)
        elif rule.update == EXACTLY:
            move_row(&row, rule, -alpha, rival.step.gain, rival.own_variance)
        else:
            move_row(&row, rule, -alpha, rival.step.gain, rival.variance)
        if average != NULL:
            add_block_to_average(
                average, &row, cells, &space.at, -alpha, rounds, rival.label, rule.projection == FIXED,
            )
        store_block(&row, cells, &space.at, rival.label)


cdef Outcome learn_labels(
    floating* cells, double* average, Workspace* space, uint64_t n_features, double target, const index_t* indices,
    const floating* values, Py_ssize_t nnz, const Rule* rule, double C, double shift, double rounds,
    double largest_step, Upcoming upcoming, bint observes,
) noexcept nogil:
    """Learn from one row, whose label is `target`.  Nothing is stored before all steps are known to be finite."""
    cdef Outcome outcome = Outcome(False, 0, 0, False, 0, 0, Gaussian(0, 0))
    cdef Row true
    cdef Gaussian ours
    cdef Py_ssize_t j, label
    cdef double total = 0         # the step of the true label's block
    if not 0 <= target < rule.blocks:
        return outcome
    label = <Py_ssize_t> target
    if not find_cells(&space.at, n_features, indices, values, nnz, rule.bias, upcoming):
        return outcome
    if not find_rivals(cells, space, rule, label, shift):
        return outcome
    if observes:
        scores_of_average(
            space.observed, space.scores, average, rounds, space.at.cell, space.at.x, space.at.n, rule.blocks,
        )
    true = true_row(space)
    ours = Gaussian(space.scores[label], load_and_measure(&true, cells, &space.at, rule, label))
    if sums_gradients(rule):
        fill_weights(&true, rule)
    if not find_steps(cells, space, &true, ours, rule, C, shift, largest_step):
        return outcome
    for j in range(space.n_rivals):
        total += space.rivals[j].step.alpha
    outcome.mistake = space.rivals[0].margin <= 0
    outcome.moved = total > 0
    if outcome.moved:
        if rule.update == EXACTLY:
            if not move_exactly(
                cells, space, &true, ours.variance, &total, &outcome.unsolved, rule, C, largest_step,
            ):
                return outcome
        elif rule.update == PARALLEL:
            total /= space.n_rivals
            move_to_average(&true, rule, 1, space.rivals, space.n_rivals, space.n_rivals)
        if average != NULL:
            add_block_to_average(
                average, &true, cells, &space.at, total, rounds, label, rule.projection == FIXED,
            )
        store_block(&true, cells, &space.at, label)
        move_rivals(cells, average, space, rule, rounds)
    outcome.sound = True
    return outcome
