"""The exact update of several labels: steps that meet all constraints at once.  Included by `_label_row.pxi`."""

cdef struct Sensitive:        # a number, and its derivative
    double value
    double slope


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
    """The step of a rival's block, as a binary example of margin m and variance v; the slope is how it falls with m."""
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
    """Steps that meet all constraints at once, with alpha_j > 0 only for tight ones; False if not as exact as wanted.

    The problem's conditions (E9 section 5.2, as corrected; S is the covariance before the row):

        mu = mu_0 + sum_j alpha_j S g_j,    1/s_p = 1/s_p0 + 2 phi sum_j alpha_j (g_j)_p^2,    g_j: difference vectors

    Block y moves by A = sum_j alpha_j whoever the rivals are, and block r_j by alpha_j alone.  So, for a given A, every
    alpha_j is the step of a binary row in its own block, and one equation is left:

        sum_j alpha_j(A) = A.

    The paper's cycle over the constraints (Hildreth) would approach the same point slowly, because all of them share
    block y.  Each alpha_j(A) is convex and falling, except for the cap of PA-I.  So Newton's method from A = 0 rises to
    the root and cannot pass it; for PA-I bisection bounds it.  With a fixed covariance this is k-best PA (MIRA).
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
            m = chosen[j].margin + ours.value
            if rule.phi > 0 and m < rule.phi * chosen[j].own_variance:
                load_variances(rival, cells, at, chosen[j].label)
            theirs = rival_side(rival, rule, C, m, chosen[j].own_variance)
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
        if not low < A < high or (sweep >= 20 and high < INFINITY):     # Newton's method cycles, or is lost to rounding
            A = low + (high - low) / 2
    total[0] = 0
    if excess + reached > 0:
        total[0] = A
        for j in range(n):                           # in the proportion of the last sweep, so that A is their sum
            chosen[j].step.alpha *= A / (excess + reached)
    return False
