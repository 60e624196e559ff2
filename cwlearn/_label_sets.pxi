"""Rows with any number of labels.  Included by `_kernels.pyx`.

Each label has a block of weights, and is a binary example of its own: +1 if the row has the label, else -1.  All labels
share the cells of the row, whose blocks are neighbours, so their margins are summed side by side.  The sums of a label
have the order of `margin_of`: each block has the very bits of a binary learner that has seen the same rows.
"""

cdef extern from "_moves.h":
    void shrink_floats "cwlearn_move_kl_float" (
        float* mean, float* variance, double x, const double* alphas, const double* gains, Py_ssize_t n, double floor,
    ) noexcept nogil
    void shrink_doubles "cwlearn_move_kl_double" (
        double* mean, double* variance, double x, const double* alphas, const double* gains, Py_ssize_t n, double floor,
    ) noexcept nogil
    void move_floats "cwlearn_move_fixed_float" (
        float* mean, const float* variance, double x, const double* alphas, Py_ssize_t n) noexcept nogil
    void move_doubles "cwlearn_move_fixed_double" (
        double* mean, const double* variance, double x, const double* alphas, Py_ssize_t n) noexcept nogil

cdef struct Sets:             # of labels: those of set k are labels[bounds[k]:bounds[k + 1]]
    const int64_t* bounds
    Py_ssize_t n              # of sets
    const int32_t* labels
    Py_ssize_t n_labels       # of all sets
    Calibration* known        # by label

cdef struct Binaries:         # where the binary examples of a row are worked on
    Cells at
    Row row                   # one block, if it is moved by itself
    double* squares           # of the values, by cell
    double* numbers           # five times room for all labels, each for a multiple of four
    double* scores            # the first of them
    double* variances
    double* signs             # 1 or -1
    double* alphas            # steps, with their signs
    double* gains

# Where more than one label in so many moves, all are moved side by side: the others by nothing.
cdef enum:
    FEW_MOVE = 3


cdef inline Py_ssize_t room_of(Py_ssize_t n_labels) noexcept nogil:
    return n_labels + 3


cdef Binaries new_binaries(Row row, double[:, ::1] scratch, int64_t[:, ::1] places, Py_ssize_t blocks) noexcept nogil:
    """`numbers` is NULL if there is no memory; else it must be freed."""
    cdef Py_ssize_t room = room_of(blocks)
    cdef double* numbers = <double*> malloc(5 * room * sizeof(double))
    cdef double* squares = &scratch[4, 0] if blocks > 1 else NULL
    return Binaries(
        Cells(0, blocks, &places[0, 0], row.x, &places[1, 0], 0, False, Clock(NULL, 0, 0, 0)), row, squares, numbers,
        numbers, numbers + room, numbers + 2 * room, numbers + 3 * room, numbers + 4 * room,
    )


cdef Sets sets_of(
    const int64_t[::1] bounds, const int32_t[::1] labels, double[:, ::1] calibrations, Py_ssize_t blocks,
) except *:
    """Sets of labels whose arrays are long enough; the numbers in them are checked when they are read."""
    cdef Sets sets = Sets(NULL, 0, NULL, 0, NULL)
    if labels is None or calibrations is None or bounds.shape[0] < 1:
        raise ValueError("sets of labels need bounds, labels and calibrations")
    if calibrations.shape[0] != blocks or calibrations.shape[1] != CALIBRATION_DOUBLES:
        raise ValueError("there must be a calibration for each label")
    sets.bounds = &bounds[0]
    sets.n = bounds.shape[0] - 1
    sets.n_labels = labels.shape[0]
    sets.known = <Calibration*> &calibrations[0, 0]
    if sets.n_labels:
        sets.labels = &labels[0]
    return sets


cdef inline bint side_by_side(const Rule* rule) noexcept nogil:
    """Whether the blocks of all labels can be measured and moved together."""
    return rule.blocks > 1 and rule.projection in (FIXED, KL, L2, EXACT)


cdef bint find_signs(const Binaries* at, const Sets* sets, double target, Py_ssize_t n_labels) noexcept nogil:
    """The sign of every label for a row whose set of labels has this number; False if there is no such set."""
    cdef Py_ssize_t number, start, stop, k
    cdef int32_t label
    if not 0 <= target < sets.n:
        return False
    number = <Py_ssize_t> target
    start, stop = sets.bounds[number], sets.bounds[number + 1]
    if not 0 <= start <= stop <= sets.n_labels:
        return False
    for k in range(n_labels):
        at.signs[k] = -1
    for k in range(start, stop):
        label = sets.labels[k]
        if not 0 <= label < n_labels:
            return False
        at.signs[label] = 1
    return True


cdef void measure_labels(
    const floating* cells, const Binaries* binary, const Rule* rule, double shift,
) noexcept nogil:
    """Mean and variance of the score of every label, in the sums of `margin_of`."""
    cdef const Cells* at = &binary.at
    cdef const floating* cell
    cdef Py_ssize_t p, z
    cdef Py_ssize_t n_labels = rule.blocks
    cdef Py_ssize_t whole = n_labels - n_labels % 4
    cdef double[2] sums
    cdef Gaussian margin
    if not side_by_side(rule):
        for z in range(n_labels):
            load_variances(&binary.row, cells, at, z)
            load_means(&binary.row, cells, at, z)
            margin = measure(&binary.row, rule, shift)
            binary.scores[z] = margin.mean
            binary.variances[z] = margin.variance
        return
    score_labels(binary.scores, NULL, cells, at, n_labels, False, 0)
    for p in range(at.n):
        binary.squares[p] = at.x[p] * at.x[p]
    # The same sums over the second half of each cell.  Those of a fourth label beyond the last one would read beyond
    # the last cell, so the labels behind the last four are summed one by one.
    sum_labels(binary.variances, cells + n_labels, at, binary.squares, NULL, whole, False)
    for z in range(whole, n_labels):
        sums[0] = sums[1] = 0
        for p in range(at.n):
            cell = cells + at.cell[p] + n_labels
            sums[p % 2] += cell[z] * binary.squares[p]
        binary.variances[z] = sums[0] + sums[1]


cdef int64_t find_label_steps(
    const floating* cells, const Binaries* binary, const Rule* rule, double C, double largest_step,
) noexcept nogil:
    """Find the step of every label; return how many move, or -1 if a number is not finite."""
    cdef int64_t n_moving = 0
    cdef Py_ssize_t z
    cdef double m, v
    cdef Step step
    for z in range(rule.blocks):
        m, v = binary.signs[z] * binary.scores[z], binary.variances[z]
        if rule.projection == EXACT and v > 0:
            if rule_step(<Kind> rule.kind, rule.phi, rule.gain_factor, C, m, v).gain > 0:
                load_variances(&binary.row, cells, &binary.at, z)
        step = step_of(rule, C, m, v, &binary.row, NULL)
        if step.alpha == 0 and step.gain == 0:
            if not (isfinite(m) and isfinite(v)):
                return -1
        elif not is_sound(rule, m, v, step, largest_step):
            return -1
        n_moving += step.alpha != 0 or step.gain > 0
        binary.alphas[z] = binary.signs[z] * step.alpha
        binary.gains[z] = step.gain
    return n_moving


cdef void move_cells(floating* cells, const Binaries* binary, const Rule* rule) noexcept nogil:
    """Move all labels side by side.  A step of 0 changes nothing."""
    cdef floating* mean
    cdef floating* variance
    cdef double x
    cdef Gaussian weight
    cdef Py_ssize_t p, z
    cdef Py_ssize_t n = rule.blocks
    for p in range(binary.at.n):
        mean = cells + binary.at.cell[p]
        variance = mean + n
        x = binary.at.x[p]
        if rule.projection == L2:
            for z in range(n):
                weight = moved(
                    mean[z], variance[z], x, binary.alphas[z], binary.gains[z], binary.variances[z], rule.floor, L2,
                )
                mean[z] = <floating> weight.mean
                variance[z] = <floating> weight.variance
        elif floating is float:
            if rule.projection == FIXED:
                move_floats(mean, variance, x, binary.alphas, n)
            else:
                shrink_floats(mean, variance, x, binary.alphas, binary.gains, n, rule.floor)
        elif rule.projection == FIXED:
            move_doubles(mean, variance, x, binary.alphas, n)
        else:
            shrink_doubles(mean, variance, x, binary.alphas, binary.gains, n, rule.floor)


cdef void move_labels(
    floating* cells, double* average, const Binaries* binary, const Rule* rule, int64_t n_moving, double rounds,
) noexcept nogil:
    """Move and store the blocks of the labels that have a step."""
    cdef const Row* row = &binary.row
    cdef Py_ssize_t z
    cdef Py_ssize_t n_labels = rule.blocks
    if side_by_side(rule) and average == NULL and FEW_MOVE * n_moving > n_labels:
        move_cells(cells, binary, rule)
        return
    for z in range(n_labels):
        if binary.alphas[z] == 0 and binary.gains[z] == 0:
            continue
        load_variances(row, cells, &binary.at, z)
        finish_block(
            row, False, cells, average, &binary.at, rule, z,
            Move(binary.alphas[z], binary.gains[z], binary.variances[z]), binary.alphas[z], rounds,
        )


cdef double lag_of_label(
    const double* average, const Cells* at, double rounds, Py_ssize_t label,
) noexcept nogil:
    """As `lag_of`, for one label."""
    cdef double lag = 0
    cdef Py_ssize_t p
    for p in range(at.n):
        lag += average[(at.cell[p] >> 1) + label] * at.x[p]
    return lag / rounds


cdef void observe_binaries(
    Calibration* known, const double* average, const Binaries* binary, const Rule* rule, uint64_t rounds,
    bint chosen, double length, double weight,
) noexcept nogil:
    """Let the scores of all labels be tested by the row; `length` is its squared length if that is to be compared."""
    cdef Py_ssize_t z
    cdef double m
    for z in range(rule.blocks):
        if is_observed(&known[z], chosen, False, rule.settled):
            m = binary.signs[z] * binary.scores[z]
            if average != NULL and rounds > 0:
                m -= binary.signs[z] * lag_of_label(average, &binary.at, <double> rounds, z)
            observe_two(
                &known[z], m, binary.variances[z] if length < 0 else length, binary.signs[z], weight, rule.settled,
            )


cdef Outcome learn_set(
    floating* cells, double* average, Binaries* binary, const Sets* sets, uint64_t n_features, double target,
    const index_t* indices, const floating* values, Py_ssize_t nnz, const Rule* rule, double C, double shift,
    uint64_t rounds, double largest_step, Upcoming upcoming, Calibration* known, bint chosen, double length,
    double weight,
) noexcept nogil:
    """Learn from one row, whose set of labels has the number `target`.

    Nothing is changed before all steps are known to be finite.  `known` is NULL if the row is not new to the model.
    """
    cdef Outcome outcome = Outcome(False, 0, 0, False, 0, 0, Gaussian(0, 0))
    cdef Py_ssize_t z
    if not find_signs(binary, sets, target, rule.blocks):
        return outcome
    if not find_cells(&binary.at, n_features, indices, values, nnz, rule.bias, upcoming):
        return outcome
    binary.row.n = binary.at.n
    measure_labels(cells, binary, rule, shift)
    outcome.moved = find_label_steps(cells, binary, rule, C, largest_step)
    if outcome.moved < 0:
        return outcome
    for z in range(rule.blocks):
        outcome.mistake += binary.signs[z] * binary.scores[z] <= 0
    if known != NULL:
        observe_binaries(known, average, binary, rule, rounds, chosen, length, weight)
    if outcome.moved:
        move_labels(cells, average, binary, rule, outcome.moved, <double> rounds)
    outcome.sound = True
    return outcome
