"""Honest probabilities: what the scores of rows were worth before they were learned.

A row is scored before it is learned from, so its label tests the score.  Two calibrators watch these scores, one the
margin itself, the other the margin over its deviation; the one with the lower log loss gives the probabilities.
Each is a logistic regression of the label on one number, learned row by row with this package's own rule (Bayesian
logistic, a Gaussian over slope and shift): p = sigmoid(slope f + shift) with f = score / (root mean square of scores).
More than two labels have softmax(slope f_z) and no shift (Guo et al., ICML 2017, temperature scaling).

The scores of a young model say little about those of an older one.  So later rows count more: an observation's weight
grows with the power `recency` of the number of rows before it, and no more than the last HORIZON rows count.
"""

from libc.math cimport copysign, exp, log, log1p, sqrt
from libc.stdint cimport uint64_t

from cwlearn._rules cimport Step, bayesian_logistic, larger, smaller

cdef struct Calibrator:
    double mean_square        # of the scores, or with more than two labels of the lead of the best one over the average
    double slope
    double shift
    double slope_variance
    double covariance         # of slope and shift
    double shift_variance
    double loss               # the mean log loss of rows, each before it was observed

cdef enum:
    ODDS = 64                 # intervals of log odds, 1/4 wide, around 0; the outer ones are open
    CALIBRATION_DOUBLES = 16 + 64

cdef struct Calibration:      # only doubles: Python has it as an array of CALIBRATION_DOUBLES
    double observed           # rows
    double settled            # the model had made several passes over other rows when these were observed
    Calibrator margin
    Calibrator deviation
    double[ODDS] odds         # two labels: how the log odds of rows are distributed, each before it was observed

# A weak prior: a score of average size is worth a probability of 0.88, give or take everything.
cdef enum:
    PRIOR_SLOPE = 2
    PRIOR_SLOPE_VARIANCE = 100
    PRIOR_SHIFT_VARIANCE = 16
    HORIZON = 1 << 16
    ALL_ROWS = 1024           # so many are observed one by one, and then as many each time the rows grow by e: one
    #                           observation takes as long as learning some fifty features
    HEAVIEST = 1 << 20        # no row counts as more than so many


cdef inline bint is_observed(const Calibration* known, uint64_t row) noexcept nogil:
    """Whether a row is worth the time; `row` counts all rows that were learned.

    Row t is observed with the chance ALL_ROWS / t.  Fibonacci hashing decides, which follows no pattern of the labels.
    """
    cdef double chance = <double> (row * <uint64_t> 0x9E3779B97F4A7C15 >> 40) / (1 << 24)
    return known.observed < ALL_ROWS or chance * row < ALL_ROWS


cdef inline bint is_positive(double square) noexcept nogil:
    """Whether something can be divided by the root of it."""
    return square > 1e-200


cdef inline bint is_measurable(double score) noexcept nogil:
    """Whether sums of its square stay finite."""
    return score * score < 1e200


cdef inline void start(Calibrator* c) noexcept nogil:
    c[0] = Calibrator(0, PRIOR_SLOPE, 0, PRIOR_SLOPE_VARIANCE, 0, PRIOR_SHIFT_VARIANCE, 0)


cdef inline void begin(Calibration* known, bint settled) noexcept nogil:
    """Begin anew with the first row, and with the first one that a settled model has scored."""
    cdef int k
    if known.observed == 0 or (settled and known.settled == 0):
        known.observed = 0
        known.settled = settled
        start(&known.margin)
        start(&known.deviation)
        for k in range(ODDS):
            known.odds[k] = 0
    known.observed = smaller(known.observed + 1, HORIZON)


cdef inline void forget(Calibrator* c, double observed, double recency) noexcept nogil:
    """Let what is known grow old: variances grow, at most to those of the prior."""
    cdef double growth = larger((observed - 1 + recency) / (observed - 1), 1 + 1.0 / HORIZON) if observed > 1 else 1
    cdef double slope_limit = smaller(growth, PRIOR_SLOPE_VARIANCE / c.slope_variance)
    cdef double shift_limit = smaller(growth, PRIOR_SHIFT_VARIANCE / c.shift_variance)
    c.slope_variance *= slope_limit
    c.shift_variance *= shift_limit
    c.covariance *= sqrt(slope_limit * shift_limit)


cdef inline double share_of(double observed, double recency) noexcept nogil:
    """The share of the newest row in a mean of all."""
    return larger((1 + recency) / (observed + recency), 1.0 / HORIZON)


cdef inline void observe_margin(
    Calibrator* c, double score, double sign, double weight, double observed, double recency,
) noexcept nogil:
    """A row of two labels: `sign` is that of the label, `score` positive for the second one."""
    cdef double share = share_of(observed, recency)
    cdef double f, m, along_slope, along_shift, v, beta, limit
    cdef Step step
    c.mean_square += share * (score * score - c.mean_square)
    f = score / sqrt(c.mean_square) if is_positive(c.mean_square) else 0
    forget(c, observed, recency)
    m = sign * (c.slope * f + c.shift)
    c.loss += share * ((log1p(exp(-m)) if m > -30 else -m) - c.loss)
    along_slope = c.slope_variance * f + c.covariance
    along_shift = c.covariance * f + c.shift_variance
    v = along_slope * f + along_shift
    step = bayesian_logistic(m, v, weight)
    beta = step.gain / (1 + step.gain * v)
    c.slope += sign * step.alpha * along_slope
    c.shift += sign * step.alpha * along_shift
    c.covariance -= beta * along_slope * along_shift
    # Rounding must not make it less than a covariance matrix.
    c.slope_variance = larger(c.slope_variance - beta * along_slope * along_slope, 1e-15)
    c.shift_variance = larger(c.shift_variance - beta * along_shift * along_shift, 1e-15)
    limit = (1 - 1e-9) * c.slope_variance * c.shift_variance
    if c.covariance * c.covariance > limit:
        c.covariance = copysign(sqrt(limit), c.covariance)


cdef inline double odds_of(const Calibrator* c, double score) noexcept nogil:
    """The log odds of a score, as far as they are known."""
    return (c.slope * score / sqrt(c.mean_square) if is_positive(c.mean_square) else 0) + c.shift


cdef inline void count_odds(
    Calibration* known, double score, double ratio, double weight, double recency,
) noexcept nogil:
    """Count the log odds of a row.  From these follow the thresholds for measures other than the error."""
    cdef double share = share_of(known.observed, recency)
    cdef double odds = (odds_of(&known.deviation, ratio) if known.deviation.loss < known.margin.loss
                        else odds_of(&known.margin, score))
    cdef double place = smaller(larger(4 * odds + ODDS / 2, 0), ODDS - 1)
    cdef int k
    for k in range(ODDS):
        known.odds[k] *= 1 - share
    known.odds[<int> place] += share * weight


cdef inline void observe_two(
    Calibration* known, double m, double spread, double sign, double weight, bint settled,
) noexcept nogil:
    """A row of two labels with margin m (times the sign of its label) and the squared deviation `spread`."""
    cdef double recency = 0.5 if settled else 2
    cdef double score = sign * m
    cdef double ratio = score / sqrt(spread) if is_positive(spread) else 0
    if not (is_measurable(score) and is_measurable(ratio)):
        return
    weight = smaller(weight, HEAVIEST)
    begin(known, settled)
    count_odds(known, score, ratio, weight, recency)
    observe_margin(&known.margin, score, sign, weight, known.observed, recency)
    observe_margin(&known.deviation, ratio, sign, weight, known.observed, recency)


cdef inline void observe_scores(
    Calibrator* c, const double* scores, Py_ssize_t n, Py_ssize_t label, double unit, double lead, double best,
    double weight, double observed, double recency,
) noexcept nogil:
    """A row of several labels, whose scores are divided by `unit`; `lead` is that of the best one over the average."""
    cdef double share = share_of(observed, recency)
    cdef double scale, slope, total, mean, square, f, p, pull, push, own
    cdef Py_ssize_t z
    cdef int sweep
    c.mean_square += share * (lead / unit * (lead / unit) - c.mean_square)
    if not is_positive(c.mean_square):
        return
    forget(c, observed, recency)
    scale = 1 / (unit * sqrt(c.mean_square))
    own = (scores[label] - best) * scale
    slope = c.slope
    for sweep in range(3):      # two Newton steps towards the posterior mode, and the precision there
        total = mean = square = 0
        for z in range(n):
            f = (scores[z] - best) * scale
            p = exp(slope * f)
            total += p
            mean += p * f
            square += p * f * f
        mean /= total
        square = larger(square / total - mean * mean, 0)
        if sweep == 0:
            c.loss += share * (log(total) - slope * own - c.loss)
        if sweep == 2:
            break
        pull = weight * (own - mean) - (slope - c.slope) / c.slope_variance
        push = weight * square + 1 / c.slope_variance
        # No step more than halves or doubles a slope: far away the tangent says little.
        slope = smaller(larger(slope + pull / push, slope / 2), 2 * slope)
    c.slope = larger(slope, 1e-9)
    c.slope_variance /= 1 + weight * square * c.slope_variance


cdef inline void observe_labels(
    Calibration* known, const double* scores, Py_ssize_t n, Py_ssize_t label, double spread, double weight,
    bint settled,
) noexcept nogil:
    """A row of several labels with these scores; `spread` is the squared length of the row."""
    cdef double recency = 0.5 if settled else 2
    cdef double unit = sqrt(spread) if is_positive(spread) else 1
    cdef double best = scores[0]
    cdef double mean = 0
    cdef double lead
    cdef Py_ssize_t z
    for z in range(n):
        best = larger(best, scores[z])
        mean += scores[z] / n
    lead = best - mean
    if not (is_measurable(lead) and is_measurable(lead / unit)):
        return
    weight = smaller(weight, HEAVIEST)
    begin(known, settled)
    observe_scores(&known.margin, scores, n, label, 1, lead, best, weight, known.observed, recency)
    observe_scores(&known.deviation, scores, n, label, unit, lead, best, weight, known.observed, recency)
