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
from libc.stdint cimport UINT64_MAX, int32_t, int64_t, uint64_t

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
    double load_variances_of_floats "cwlearn_load_variances_float" (
        const Row* row, const float* means, Py_ssize_t n_labels, const int64_t* cell) noexcept nogil
    void load_means_of_floats "cwlearn_load_means_float" (
        const Row* row, const float* means, const int64_t* cell) noexcept nogil
    void store_block_of_floats "cwlearn_store_block_float" (
        const Row* row, float* means, Py_ssize_t n_labels, const int64_t* cell) noexcept nogil
    bint move_block_of_floats_kl "cwlearn_move_block_KL_float" (
        const Row* row, bint loaded, float* means, Py_ssize_t n_labels, const int64_t* cell, double alpha, double gain,
        double v, double floor) noexcept nogil
    bint move_block_of_floats_l2 "cwlearn_move_block_L2_float" (
        const Row* row, bint loaded, float* means, Py_ssize_t n_labels, const int64_t* cell, double alpha, double gain,
        double v, double floor) noexcept nogil
    bint move_block_of_floats_fixed "cwlearn_move_block_FIXED_float" (
        const Row* row, bint loaded, float* means, Py_ssize_t n_labels, const int64_t* cell, double alpha, double gain,
        double v, double floor) noexcept nogil
    double load_variances_of_doubles "cwlearn_load_variances_double" (
        const Row* row, const double* means, Py_ssize_t n_labels, const int64_t* cell) noexcept nogil
    void load_means_of_doubles "cwlearn_load_means_double" (
        const Row* row, const double* means, const int64_t* cell) noexcept nogil
    void store_block_of_doubles "cwlearn_store_block_double" (
        const Row* row, double* means, Py_ssize_t n_labels, const int64_t* cell) noexcept nogil
    bint move_block_of_doubles_kl "cwlearn_move_block_KL_double" (
        const Row* row, bint loaded, double* means, Py_ssize_t n_labels, const int64_t* cell, double alpha, double gain,
        double v, double floor) noexcept nogil
    bint move_block_of_doubles_l2 "cwlearn_move_block_L2_double" (
        const Row* row, bint loaded, double* means, Py_ssize_t n_labels, const int64_t* cell, double alpha, double gain,
        double v, double floor) noexcept nogil
    bint move_block_of_doubles_fixed "cwlearn_move_block_FIXED_double" (
        const Row* row, bint loaded, double* means, Py_ssize_t n_labels, const int64_t* cell, double alpha, double gain,
        double v, double floor) noexcept nogil

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

cdef struct Move:             # of a block by a row of this variance
    double alpha              # with its sign
    double gain
    double variance

cdef struct Cells:            # the cells of a row, the intercept first
    Py_ssize_t n
    Py_ssize_t n_labels
    int64_t* cell             # where they begin in the state, in an array that only this call can change; among numbers
    #                           by mean (averages, stamps) they begin at half of it
    double* x
    int64_t* ahead            # where the cells begin that a later row will need, and at least as many as of this row
    Py_ssize_t n_ahead
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

cdef extern from "_found_cells.h":
    bint place_int_cells "cwlearn_find_cells_int32_t" (
        int64_t* cell, const int32_t* columns, Py_ssize_t n, uint64_t n_features, int64_t size) noexcept nogil
    bint place_long_cells "cwlearn_find_cells_int64_t" (
        int64_t* cell, const int64_t* columns, Py_ssize_t n, uint64_t n_features, int64_t size) noexcept nogil

# -- cells -------------------------------------------------------------------------------------------------------------

cdef inline bint place_cells(
    int64_t* cell, const index_t* columns, Py_ssize_t n, uint64_t n_features, int64_t size,
) noexcept nogil:
    if index_t is int32_t:
        return place_int_cells(cell, columns, n, n_features, size)
    return place_long_cells(cell, columns, n, n_features, size)


cdef bint find_cells(
    Cells* at, uint64_t n_features, const index_t* indices, const floating* values, Py_ssize_t nnz, double bias,
    Upcoming upcoming,
) noexcept nogil:
    """Fill in the cells of a row; False if a column is out of range."""
    cdef const index_t* later = <const index_t*> upcoming.indices
    cdef Py_ssize_t k
    cdef int64_t size = 2 * at.n_labels          # of a cell
    at.n = nnz + 1
    at.cell[0] = 0
    at.x[0] = bias
    for k in range(nnz):
        at.x[k + 1] = values[k]
    at.looks_ahead = later != NULL
    if at.looks_ahead:
        at.n_ahead = upcoming.nnz
        place_cells(at.ahead, later, upcoming.nnz, UINT64_MAX, size)
        for k in range(upcoming.nnz, at.n):
            at.ahead[k] = 0
    return place_cells(at.cell + 1, indices, nnz, n_features, size)


cdef double load_variances(const Row* row, const floating* cells, const Cells* at, Py_ssize_t label) noexcept nogil:
    """Copy the variances of one label, as they are now; return that of its score, as `variance_of` does."""
    cdef Py_ssize_t p
    cdef double variance
    if floating is float:
        variance = load_variances_of_floats(row, cells + label, at.n_labels, at.cell)
    else:
        variance = load_variances_of_doubles(row, cells + label, at.n_labels, at.cell)
    if at.clock.stamps != NULL:
        for p in range(row.n):
            row.shares[p] = at.clock.stamps[(at.cell[p] >> 1) + label]
        grow(row.variance, row.shares, row.n, &at.clock)
        variance = variance_of(row)
    return variance


cdef void load_means(const Row* row, const floating* cells, const Cells* at, Py_ssize_t label) noexcept nogil:
    if floating is float:
        load_means_of_floats(row, cells + label, at.cell)
    else:
        load_means_of_doubles(row, cells + label, at.cell)


cdef void store_block(const Row* row, floating* cells, const Cells* at, Py_ssize_t label) noexcept nogil:
    if floating is float:
        store_block_of_floats(row, cells + label, at.n_labels, at.cell)
    else:
        store_block_of_doubles(row, cells + label, at.n_labels, at.cell)


cdef void add_block_to_average(
    double* average, const Row* row, const floating* cells, const Cells* at, double alpha, double rounds,
    Py_ssize_t label, bint fixed,
) noexcept nogil:
    """Add (rounds before this one) * (change of the mean), for a block that has been moved and not yet stored."""
    cdef Py_ssize_t p
    for p in range(row.n):
        average[at.cell[p] // 2 + label] += rounds * change_of_mean(row, p, cells[at.cell[p] + label], alpha, fixed)


cdef bint move_in_cells(
    const Row* row, bint loaded, floating* cells, const Cells* at, const Rule* rule, Py_ssize_t label, Move move,
) noexcept nogil:
    """`move_row` and `store_block` in one loop; False, and nothing done, where there is no such loop."""
    cdef Py_ssize_t n = at.n_labels
    cdef double alpha = move.alpha, gain = move.gain, v = move.variance
    if rule.projection == INCLUSIVE or sums_gradients(rule):
        return False
    if floating is float:
        if rule.projection == FIXED:
            return move_block_of_floats_fixed(row, loaded, cells + label, n, at.cell, alpha, gain, v, rule.floor)
        if rule.projection == L2:
            return move_block_of_floats_l2(row, loaded, cells + label, n, at.cell, alpha, gain, v, rule.floor)
        return move_block_of_floats_kl(row, loaded, cells + label, n, at.cell, alpha, gain, v, rule.floor)
    if rule.projection == FIXED:
        return move_block_of_doubles_fixed(row, loaded, cells + label, n, at.cell, alpha, gain, v, rule.floor)
    if rule.projection == L2:
        return move_block_of_doubles_l2(row, loaded, cells + label, n, at.cell, alpha, gain, v, rule.floor)
    return move_block_of_doubles_kl(row, loaded, cells + label, n, at.cell, alpha, gain, v, rule.floor)


cdef void finish_block(
    const Row* row, bint loaded, floating* cells, double* average, const Cells* at, const Rule* rule, Py_ssize_t label,
    Move move, double total, double rounds,
) noexcept nogil:
    """Make the last move of a block, if there is one, and store it.

    Its variances are loaded, and if `loaded` its means and, of gradients, its weights.  `total` sums all steps.
    """
    cdef Py_ssize_t p
    cdef bint moves = move.alpha != 0 or move.gain != 0
    if average != NULL or not moves or not move_in_cells(row, loaded, cells, at, rule, label, move):
        if not loaded:
            load_means(row, cells, at, label)
            if sums_gradients(rule):
                fill_weights(row, rule)
        if moves:
            move_row(row, rule, move.alpha, move.gain, move.variance)
        if average != NULL:
            add_block_to_average(average, row, cells, at, total, rounds, label, rule.projection == FIXED)
        store_block(row, cells, at, label)
    if at.clock.stamps != NULL:
        for p in range(row.n):
            at.clock.stamps[(at.cell[p] >> 1) + label] = at.clock.now


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
    double largest_step, Move* last,
) noexcept nogil:
    """Find the step that each rival asks for as a binary example; False if a number is not finite.

    `ours` is the score of the true label.  SEQUENTIAL: a step moves the copy of its block before the next rival is
    measured; that of the last rival becomes `last`.
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
            if j == space.n_rivals - 1:
                last[0] = Move(rival.step.alpha, rival.step.gain, rival.variance)
                break
            move_row(true, rule, rival.step.alpha, rival.step.gain, rival.variance)
            if rule.projection == INCLUSIVE or sums_gradients(rule):
                ours = measure(true, rule, shift)
            else:
                ours = Gaussian(ours.mean + rival.step.alpha * ours.variance, variance_of(true))
    return True


cdef bint find_exact_steps(
    const floating* cells, Workspace* space, const Row* true, double v_true, Move* last, bint* unsolved,
    const Rule* rule, double C, double largest_step,
) noexcept nogil:
    """EXACTLY: replace the steps by those that meet all constraints; False if a number is not finite.

    `last` becomes that of the true label's block.
    """
    cdef Row row = rival_row(space, 0)
    cdef Rival* rival
    cdef Step step
    cdef Py_ssize_t j
    cdef double total = 0
    unsolved[0] = not solve(&total, space.rivals, space.n_rivals, true, v_true, &row, cells, &space.at, rule, C)
    for j in range(space.n_rivals):
        rival = &space.rivals[j]
        rival.step.gain = capped(2 * rule.phi * rival.step.alpha, rival.own_variance)
        if not is_sound(rule, rival.margin, rival.own_variance, rival.step, largest_step):
            return False
    step = Step(total, capped(2 * rule.phi * total, v_true))
    last[0] = Move(step.alpha, step.gain, v_true)
    return is_sound(rule, 0, v_true, step, largest_step)


cdef void move_rivals(
    floating* cells, double* average, const Workspace* space, const Rule* rule, double rounds,
) noexcept nogil:
    """Move and store the blocks of the rivals whose constraints were violated."""
    cdef const Rival* rival
    cdef Row row
    cdef Move move
    cdef double total
    cdef Py_ssize_t j
    cdef bint averages = rule.update == PARALLEL
    for j in range(space.n_rivals):
        rival = &space.rivals[j]
        if rival.step.alpha <= 0:
            continue
        row = rival_row(space, j)
        if space.shared or rule.update == EXACTLY:              # the place has been used for other rivals since
            load_variances(&row, cells, &space.at, rival.label)
        total = -rival.step.alpha
        move = Move(total, rival.step.gain, rival.own_variance if rule.update == EXACTLY else rival.variance)
        if averages:
            total /= space.n_rivals
            move = Move(0, 0, 0)
            load_means(&row, cells, &space.at, rival.label)
            if sums_gradients(rule):
                fill_weights(&row, rule)
            move_to_average(&row, rule, -1, rival, 1, space.n_rivals)
        finish_block(&row, averages, cells, average, &space.at, rule, rival.label, move, total, rounds)


cdef Outcome learn_labels(
    floating* cells, double* average, Workspace* space, uint64_t n_features, double target, const index_t* indices,
    const floating* values, Py_ssize_t nnz, const Rule* rule, double C, double shift, double rounds,
    double largest_step, Upcoming upcoming, bint observes,
) noexcept nogil:
    """Learn from one row, whose label is `target`.  Nothing is stored before all steps are known to be finite."""
    cdef Outcome outcome = Outcome(False, 0, 0, False, 0, 0, Gaussian(0, 0))
    cdef Row true
    cdef Gaussian ours
    cdef Move last = Move(0, 0, 0)                # of the true label's block
    cdef Py_ssize_t j, label
    cdef double total = 0                         # the step of that block
    # One rival, or all at once: a single move, which is made while the block is stored.
    cdef bint loaded = rule.update == PARALLEL or sums_gradients(rule) or (
        rule.update == SEQUENTIAL and space.n_rivals > 1)
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
    if loaded:
        load_means(&true, cells, &space.at, label)
        if sums_gradients(rule):
            fill_weights(&true, rule)
    if not find_steps(cells, space, &true, ours, rule, C, shift, largest_step, &last):
        return outcome
    for j in range(space.n_rivals):
        total += space.rivals[j].step.alpha
    outcome.mistake = space.rivals[0].margin <= 0
    outcome.moved = total > 0
    if outcome.moved:
        if rule.update == EXACTLY:
            if not find_exact_steps(
                cells, space, &true, ours.variance, &last, &outcome.unsolved, rule, C, largest_step,
            ):
                return outcome
            total = last.alpha
        elif rule.update == PARALLEL:
            total /= space.n_rivals
            move_to_average(&true, rule, 1, space.rivals, space.n_rivals, space.n_rivals)
        finish_block(&true, loaded, cells, average, &space.at, rule, label, last, total, rounds)
        move_rivals(cells, average, space, rule, rounds)
    outcome.sound = True
    return outcome
