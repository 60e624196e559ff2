"""One row: its cells are loaded from the state side by side, measured, moved and stored back.

A model is one flat array of cells by feature.  The cell of a feature holds the means of its blocks, one block for each
label, and then their variances, so that labels are neighbours and all numbers of a feature are close; with two labels
there is a single block, whose sign tells them apart.  Cell 0 is the intercept, a feature that is always on with the
value `rule.bias` (1, or 0 without an intercept), and feature j is cell j + 1.  State and values are float32 or float64;
sums, and all arithmetic, are in double.

A column index is compared with the size of the state when it is read, and kept for the rest of the row, because the
caller's array may change while the GIL is released.
"""

from libc.math cimport fabs, isfinite, sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t

from cwlearn._rules cimport (
    DUAL, EXACT, FIXED, INCLUSIVE, KL, L2, PROXIMAL, Projection, Kind, Step, capped, exact_step, larger, rule_step,
    smaller,
)

cdef extern from "_prefetch.h":
    void prefetch "cwlearn_prefetch" (const void* address) noexcept nogil

cdef extern from "_row.h":
    ctypedef struct Row "cwlearn_row":    # the weights of a row side by side, to be worked on four at a time
        double* mean
        double* variance
        double* x
        double* shares        # scratch of the exact projection; the weights, if cells hold sums of gradients
        int64_t* columns      # two labels: those of the features, checked, in an array that only this call can change
        Py_ssize_t n

cdef extern from "_weighing.h":
    ctypedef struct Weighing "cwlearn_weighing":    # what `weight_of` needs besides a cell
        double threshold
        double rate
        double damping

ctypedef fused floating:
    float
    double

ctypedef fused index_t:
    int32_t
    int64_t

cdef struct Rule:
    int kind                  # of KINDS
    int projection            # of PROJECTIONS: what a step does to the covariance
    double phi                # the required confidence, as a quantile of the normal distribution
    double gain_factor        # AROW: the weight of its confidence relative to its loss
    double C                  # the weight of the loss
    bint relative             # measure C by initial_variance * (mean squared length of the rows seen)
    bint follows_rows         # SOP: the prior precision is the mean squared length of the rows seen
    double rate               # FTRL and AdaGrad: the learning rate
    double damping            # FTRL and AdaGrad: what is added to the root of the sum of squared gradients
    double threshold          # FTRL and AdaGrad: the weight of L1; AdaGrad multiplies it by the rows seen
    double forgetting         # the half-life of what is known of a weight, in rows; 0: nothing is forgotten
    double bias
    double initial_variance   # an upper bound of every variance, since they only fall
    double floor              # a lower bound of every variance
    int blocks                # of a cell: 1 for two labels, else one for each label
    int constraints           # with more than two labels: how many rivals of the true label count, at most
    int update                # of UPDATES: how several constraints become one update
    double tolerance          # of the exact update: relative error of its step
    int sweeps                # of the exact update: the most iterations
    bint settled              # the model has made several passes over other rows than the fresh ones: see _calibration

cdef struct Gaussian:
    double mean
    double variance

cdef struct Outcome:          # of learning from a row
    bint sound                # all numbers are finite; if not, nothing has been changed
    int64_t mistake           # 1 if the margin was not positive; of several labels a row, how many were not
    int64_t moved             # 1 if the row has changed the model; of several labels, how many have moved
    bint unsolved             # an exact update did not reach its tolerance
    double loss               # regression: the squared error, before learning from the row
    double surprise           # regression: the same over its variance, r + v
    Gaussian margin           # two labels: that of the weights that predict, before learning from the row

cdef struct Upcoming:         # a row whose cells will be needed soon
    const void* indices
    Py_ssize_t nnz


cdef inline double change_of_mean(
    const Row* row, Py_ssize_t p, floating before, double alpha, bint fixed,
) noexcept nogil:
    """How far the mean of an entry moves when the row is stored.

    With a fixed covariance it is the step alpha itself, free of the rounding of the mean.
    """
    cdef floating stored = row.mean[p]
    cdef double after = stored
    return alpha * (row.variance[p] * row.x[p]) if fixed else after - before


cdef inline double entry(double mean, double variance, double x, bint inclusive, double shift) noexcept nogil:
    """What a feature adds to the mean of the margin.

    `inclusive` counts the row itself into the precision: the diagonal SOP's sum_p x_p z_p / (A_p + x_p^2), with
    mu_p = z_p / A_p and s_p = 1 / A_p, is sum_p x_p mu_p / (1 + s_p x_p^2).  `shift` is added to every A_p.
    """
    return mean * x / (1 + variance * (x * x + shift)) if inclusive else mean * x


cdef inline Gaussian margin_of(const Row* row, bint inclusive, double shift) noexcept nogil:
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
    return Gaussian(m0 + m1, v0 + v1)


cdef inline double variance_of(const Row* row) noexcept nogil:
    """The variance of mu.x alone, in four sums."""
    cdef const double* variance = row.variance
    cdef const double* x = row.x
    cdef double v0 = 0, v1 = 0, v2 = 0, v3 = 0
    cdef Py_ssize_t p
    cdef Py_ssize_t whole = row.n - row.n % 4
    for p in range(0, whole, 4):
        v0 += variance[p] * (x[p] * x[p])
        v1 += variance[p + 1] * (x[p + 1] * x[p + 1])
        v2 += variance[p + 2] * (x[p + 2] * x[p + 2])
        v3 += variance[p + 3] * (x[p + 3] * x[p + 3])
    for p in range(whole, row.n):
        v0 += variance[p] * (x[p] * x[p])
    return (v0 + v1) + (v2 + v3)


cdef inline Gaussian measure(const Row* row, const Rule* rule, double shift) noexcept nogil:
    if sums_gradients(rule):
        fill_weights(row, rule)
        return margin_of_weights(row, rule)
    # Constant arguments: the compiler makes a loop for each.
    return margin_of(row, True, shift) if rule.projection == INCLUSIVE else margin_of(row, False, 0)


cdef inline bint sums_gradients(const Rule* rule) noexcept nogil:
    """Whether a cell holds no Gaussian, but minus the sum of gradients and the root of the sum of their squares."""
    return rule.projection == PROXIMAL or rule.projection == DUAL


cdef inline double weight_of(double total, double root, double threshold, double rate, double damping) noexcept nogil:
    """A weight from its cell: rate (total - threshold, or 0) / (damping + root), with the sign of the total.

    FTRL-Proximal (McMahan et al. 2013, Algorithm 1): damping = beta + alpha lambda_2, total = -z and root = sqrt(n).
    AdaGrad by dual averaging (Duchi, Hazan, Singer 2011, section 5.1): threshold = lambda t after t rows.
    """
    return rate * (total - larger(smaller(total, threshold), -threshold)) / (damping + root)


cdef inline Weighing weighing_of(const Rule* rule) noexcept nogil:
    """Values count sqrt(initial_variance) times."""
    return Weighing(rule.threshold, rule.rate * sqrt(rule.initial_variance), rule.damping)


cdef inline void fill_weights(const Row* row, const Rule* rule) noexcept nogil:
    """The weights of a row whose cells hold sums of gradients."""
    cdef Weighing by = weighing_of(rule)
    cdef Py_ssize_t p
    for p in range(row.n):
        row.shares[p] = weight_of(row.mean[p], row.variance[p], by.threshold, by.rate, by.damping)


cdef inline double length_of(const Row* row, const Rule* rule) noexcept nogil:
    """What the variance of the margin would be if all weights had the initial one."""
    cdef const double* x = row.x
    cdef double v0 = 0, v1 = 0
    cdef Py_ssize_t p
    cdef Py_ssize_t even = row.n - row.n % 2
    for p in range(0, even, 2):
        v0 += x[p] * x[p]
        v1 += x[p + 1] * x[p + 1]
    if even < row.n:
        v0 += x[even] * x[even]
    return rule.initial_variance * (v0 + v1)


cdef inline Gaussian margin_of_weights(const Row* row, const Rule* rule) noexcept nogil:
    """As `margin_of`, for the weights that `fill_weights` has found; see `length_of` for the variance."""
    cdef const double* weight = row.shares
    cdef const double* x = row.x
    cdef double m0 = 0, m1 = 0, v0 = 0, v1 = 0
    cdef Py_ssize_t p
    cdef Py_ssize_t even = row.n - row.n % 2
    for p in range(0, even, 2):
        m0 += weight[p] * x[p]
        m1 += weight[p + 1] * x[p + 1]
        v0 += x[p] * x[p]
        v1 += x[p + 1] * x[p + 1]
    if even < row.n:
        m0 += weight[even] * x[even]
        v0 += x[even] * x[even]
    return Gaussian(m0 + m1, rule.initial_variance * (v0 + v1))


cdef inline double centre_of(const Rule* rule) noexcept nogil:
    """FTRL-Proximal centres the regularisation of the row at the weight: its sigma_t w_t, with
    sigma_t = (sqrt(n_t) - sqrt(n_t-1)) / alpha.  This is its 1 / alpha; 0 for AdaGrad.
    """
    return 1 / (rule.rate * sqrt(rule.initial_variance)) if rule.projection == PROXIMAL else 0


cdef inline void add_gradients(const Row* row, const Rule* rule, double alpha) noexcept nogil:
    """Add minus the gradient, alpha x, to the cells of a row whose weights `fill_weights` has found."""
    cdef double centre = centre_of(rule)
    cdef double* total = row.mean
    cdef double* root = row.variance
    cdef const double* weight = row.shares
    cdef const double* x = row.x
    cdef double step, after
    cdef Py_ssize_t p
    alpha *= sqrt(rule.initial_variance)
    for p in range(row.n):
        step = alpha * x[p]
        after = sqrt(root[p] * root[p] + step * step)
        total[p] += step + (after - root[p]) * weight[p] * centre
        root[p] = after


cdef inline double shift_of(const Rule* rule, double scale) noexcept nogil:
    """What SOP adds to every precision if its prior follows the mean squared length of the rows seen."""
    return larger(scale - 1 / rule.initial_variance, 0) if rule.follows_rows else 0


cdef inline void fill_shares(const Row* row, double v) noexcept nogil:
    """The share of each entry in the variance v of the row."""
    cdef Py_ssize_t p
    for p in range(row.n):
        row.shares[p] = row.variance[p] * (row.x[p] * row.x[p]) / v


cdef inline Step step_of(
    const Rule* rule, double C, double m, double v, const Row* row, const Row* other,
) noexcept nogil:
    """The step of the rule for a row of margin m and variance v; `other` is its second half, or NULL."""
    cdef Step step = Step(0, 0)
    if v > 0:
        step = rule_step(<Kind> rule.kind, rule.phi, rule.gain_factor, C, m, v)
        if rule.projection == EXACT and step.gain > 0:
            fill_shares(row, v)
            if other == NULL:
                step = exact_step(<Kind> rule.kind, rule.phi, m, v, row.shares, row.n)
            else:                           # its shares follow those of the first half
                fill_shares(other, v)
                step = exact_step(<Kind> rule.kind, rule.phi, m, v, row.shares, row.n + other.n)
        step.gain = capped(step.gain, v)
    return step


cdef inline bint is_sound(const Rule* rule, double m, double v, Step step, double largest_step) noexcept nogil:
    """Whether the numbers are finite, and will be after the step.

    A mean moves by at most alpha sqrt(a v) (Cauchy-Schwarz, a the initial variance).  (SOP divides by 1 + q as well,
    which bounds its step by sqrt(a) / 2.)  Sums of gradients change by at most the step times 1 + the updates so far,
    because no update of FTRL-Proximal moves a weight by more than its learning rate; and their squares must be finite.
    """
    cdef double reach = sqrt(rule.initial_variance)
    if sums_gradients(rule):
        return isfinite(m) and fabs(step.alpha) * sqrt(v) < smaller(largest_step * 2.0 ** -54, 2.0 ** 450)
    if rule.projection != INCLUSIVE:
        reach *= fabs(step.alpha) * sqrt(v)
    return isfinite(m) and isfinite(v) and isfinite(step.gain) and reach < largest_step


cdef inline Gaussian moved(
    double mean, double s, double x, double alpha, double gain, double v, double floor, Projection projection,
) noexcept nogil:
    """A weight after a step of a row whose variance is v."""
    cdef double q = s * (x * x)
    mean += alpha * (s * x)
    if projection == FIXED:
        return Gaussian(mean, s)
    if projection == L2:
        # s - beta (s x)^2 as a product, which no rounding makes negative.
        return Gaussian(mean, larger(s * ((1 + gain * larger(v - q, 0)) / (1 + gain * v)), floor))
    if projection == INCLUSIVE:
        mean /= 1 + gain * q
    return Gaussian(mean, larger(s / (1 + gain * q), floor))


cdef inline void move_by(
    const Row* row, double alpha, double gain, double v, double floor, Projection projection,
) noexcept nogil:
    cdef double* mean = row.mean
    cdef double* variance = row.variance
    cdef const double* x = row.x
    cdef Gaussian weight
    cdef Py_ssize_t p
    for p in range(row.n):
        weight = moved(mean[p], variance[p], x[p], alpha, gain, v, floor, projection)
        mean[p] = weight.mean
        if projection != FIXED:
            variance[p] = weight.variance


cdef inline void move_row(const Row* row, const Rule* rule, double alpha, double gain, double v) noexcept nogil:
    """Apply a step (alpha with the sign of the label) to the cells of a row whose variance is v."""
    if sums_gradients(rule):
        add_gradients(row, rule, alpha)
    elif rule.projection == FIXED:
        move_by(row, alpha, 0, v, rule.floor, FIXED)
    elif rule.projection == L2:
        move_by(row, alpha, gain, v, rule.floor, L2)
    elif rule.projection == INCLUSIVE:
        move_by(row, alpha, gain, v, rule.floor, INCLUSIVE)
    else:
        move_by(row, alpha, gain, v, rule.floor, KL)
