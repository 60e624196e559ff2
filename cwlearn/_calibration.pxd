"""Honest probabilities: what the scores of rows were worth before they were learned.

A row is scored before it is learned from, so its label tests the score.  Two calibrators watch these scores, one the
margin itself, the other the margin over its deviation; the one with the lower log loss gives the probabilities.
Each is a logistic regression of the label on one number, learned row by row as a Gaussian over slope and shift, and
a part of the labels is random, whatever the score: p = noise / 2 + (1 - noise) sigmoid(slope f + shift) with
f = score / (root mean square of scores).  Without the noise, labels that are wrong by chance would flatten the slope.
More than two labels have noise / n + (1 - noise) softmax(slope f) and no shift (Guo et al., ICML 2017, temperature
scaling).

The scores of a young model say little about those of an older one.  So later rows count more: an observation's weight
grows with the power `recency` of the number of rows before it, and no more than the last HORIZON rows count.

What a score is worth goes with its size: of two labels relative to the mean square, since the scores of a young model
grow and are worth no more for it.  A settled model and one of more labels keep the worth of a unit of the score instead
(measured: docs/results/calibration.md).
"""

from libc.math cimport copysign, exp, fabs, log, log1p, sqrt
from libc.stdint cimport uint64_t

from cwlearn._rules cimport larger, smaller

cdef struct Calibrator:
    double mean_square        # of the scores, or with more than two labels of the lead of the best one over the average
    double slope
    double shift
    double slope_variance
    double covariance         # of slope and shift
    double shift_variance
    double loss               # the mean log loss of rows, each before it was observed
    double noise              # the part of labels that are random, whatever the score

cdef enum:
    ODDS = 64                 # intervals of log odds, 1/4 wide, around 0; the outer ones are open
    CALIBRATION_DOUBLES = 18 + 64

cdef struct Calibration:      # only doubles: Python has it as an array of CALIBRATION_DOUBLES
    double observed           # rows
    double settled            # the model had made several passes over other rows when these were observed
    Calibrator margin
    Calibrator deviation
    double[ODDS] odds         # two labels: how the log odds of rows are distributed, each before it was observed

cdef struct Pace:             # how much the newest row counts
    double share              # its share in a mean of all rows
    double growth             # of the variances before it is observed
    double noise_share        # its share in the noise
    bint keeps_unit           # what is known stays the same per unit of the score, whatever the mean square

# A weak prior: a score of average size is worth a probability of 0.88, give or take everything.
cdef enum:
    PRIOR_SLOPE = 2
    PRIOR_SLOPE_VARIANCE = 100
    PRIOR_SHIFT_VARIANCE = 16
    HORIZON = 1 << 16
    ALL_ROWS = 1024           # so many are observed one by one, and then as many each time the rows grow by e: one
    #                           observation takes as long as learning some forty features
    ALL_ROWS_OF_SEVERAL = 512     # the same for more than two labels, which have no shift to be found
    HEAVIEST = 1 << 20        # no row counts as more than so many
    NOISE_RECENCY = 4         # the mistakes of a young model are no noise: they are forgotten faster
    NOISE_ROWS = 100          # the noise begins as if of so many rows
    RANDOM_ROWS = 4           # so many had had a random label
    FAR = 36                  # exp(-FAR) is no part of 1
    FEWEST_OF_SIZE = 32       # fewer scores do not tell their size


cdef inline bint is_observed(const Calibration* known, uint64_t row, bint several) noexcept nogil:
    """Whether a row is worth the time; `row` counts all rows that were learned.

    Row t is observed with the chance ALL_ROWS / t.  Fibonacci hashing decides, which follows no pattern of the labels.
    """
    cdef double chance = <double> (row * <uint64_t> 0x9E3779B97F4A7C15 >> 40) / (1 << 24)
    cdef double rows = ALL_ROWS_OF_SEVERAL if several else ALL_ROWS
    return known.observed < rows or chance * row < rows


cdef inline bint is_positive(double square) noexcept nogil:
    """Whether something can be divided by the root of it."""
    return square > 1e-200


cdef inline bint is_measurable(double score) noexcept nogil:
    """Whether sums of its square stay finite."""
    return score * score < 1e200


cdef inline void start(Calibrator* c) noexcept nogil:
    cdef double noise = <double> RANDOM_ROWS / NOISE_ROWS
    c[0] = Calibrator(0, PRIOR_SLOPE, 0, PRIOR_SLOPE_VARIANCE, 0, PRIOR_SHIFT_VARIANCE, 0, noise)


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


cdef inline Pace pace_of(double observed, bint settled, bint several) noexcept nogil:
    """How much the newest row counts, the `observed`th one."""
    cdef double recency = 0.5 if settled else 2
    return Pace(
        larger((1 + recency) / (observed + recency), 1.0 / HORIZON),
        larger((observed - 1 + recency) / (observed - 1), 1 + 1.0 / HORIZON) if observed > 1 else 1,
        larger((1.0 + NOISE_RECENCY) / (observed + NOISE_RECENCY + NOISE_ROWS), 1.0 / HORIZON),
        (settled or several) and observed > FEWEST_OF_SIZE,
    )


cdef inline void count_square(Calibrator* c, double square, Pace pace) noexcept nogil:
    """Count the square of a score."""
    cdef double before = c.mean_square
    cdef double ratio
    c.mean_square += pace.share * (square - before)
    if pace.keeps_unit and is_positive(before):
        ratio = sqrt(c.mean_square / before)
        if fabs(c.slope) * ratio < 1e12:    # else the scores are out of all proportion
            c.slope *= ratio
            c.slope_variance *= ratio * ratio
            c.covariance *= ratio


cdef inline void forget(Calibrator* c, double growth) noexcept nogil:
    """Let what is known grow old: variances grow, at most to those of the prior."""
    cdef double slope_variance = growth * c.slope_variance
    cdef double shift_variance = growth * c.shift_variance
    if slope_variance > PRIOR_SLOPE_VARIANCE or shift_variance > PRIOR_SHIFT_VARIANCE:
        slope_variance = smaller(slope_variance, PRIOR_SLOPE_VARIANCE)
        shift_variance = smaller(shift_variance, PRIOR_SHIFT_VARIANCE)
        growth = sqrt(slope_variance / c.slope_variance * (shift_variance / c.shift_variance))
    c.slope_variance = slope_variance
    c.shift_variance = shift_variance
    c.covariance *= growth


cdef inline void observe_noise(Calibrator* c, double right, double p, Py_ssize_t n, double share) noexcept nogil:
    """A row whose one of n labels has the probability p, and `right` if there were no noise.

    The label is another one than the true one with the chance noise / n (1 - right) / p, and a random label is so with
    the chance (n - 1) / n.  (This is a step of online EM.)  No label is impossible, and some always tell of the score.
    """
    cdef double noise = c.noise / (n - 1) * (1 - right) / p
    c.noise = larger(1e-9, smaller(c.noise + share * (noise - c.noise), 0.98))


cdef inline void observe_margin(Calibrator* c, double score, double sign, double weight, Pace pace) noexcept nogil:
    """A row of two labels: `sign` is that of the label, `score` positive for the second one.

    One step of Fisher's scoring for log p, p = noise / 2 + (1 - noise) sigmoid(m), m = sign (slope f + shift).
    """
    cdef double f, m, e, right, wrong, p, q, steepness, information, along_slope, along_shift, v, alpha, beta, limit
    count_square(c, score * score, pace)
    f = score / sqrt(c.mean_square) if is_positive(c.mean_square) else 0
    forget(c, pace.growth)
    along_slope = c.slope_variance * f + c.covariance
    along_shift = c.covariance * f + c.shift_variance
    v = along_slope * f + along_shift
    m = sign * (c.slope * f + c.shift)
    e = exp(-fabs(m))
    right = 1 / (1 + e)                                     # sigmoid(|m|)
    wrong = e * right
    if m < 0:
        right, wrong = wrong, right
    p = c.noise / 2 + (1 - c.noise) * right
    q = c.noise / 2 + (1 - c.noise) * wrong                 # 1 - p
    steepness = (1 - c.noise) * right * wrong / p           # d log p / dm
    information = weight * steepness * steepness * (p / q)
    beta = 1 / (1 + information * v)
    alpha = weight * steepness * beta
    if weight * v > 0.5:        # far away the tangent says little; see `bayesian_logistic` for this limit
        alpha = smaller(alpha, (larger(m, 0) - m + log1p(weight * v)) / v)
    beta *= information
    c.loss -= pace.share * (log(p) + c.loss)
    observe_noise(c, right, p, 2, pace.noise_share)
    c.slope += sign * alpha * along_slope
    c.shift += sign * alpha * along_shift
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
    Calibration* known, double score, double ratio, double weight, double share,
) noexcept nogil:
    """Count the log odds of a row.  From these follow the thresholds for measures other than the error."""
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
    cdef double score = sign * m
    cdef double ratio = score / sqrt(spread) if is_positive(spread) else 0
    cdef Pace pace
    if not (is_measurable(score) and is_measurable(ratio)):
        return
    weight = smaller(weight, HEAVIEST)
    begin(known, settled)
    pace = pace_of(known.observed, settled, False)
    count_odds(known, score, ratio, weight, pace.share)
    observe_margin(&known.margin, score, sign, weight, pace)
    observe_margin(&known.deviation, ratio, sign, weight, pace)


cdef inline void observe_scores(
    Calibrator* c, const double* scores, Py_ssize_t n, Py_ssize_t label, double unit, double lead, double best,
    double weight, Pace pace,
) noexcept nogil:
    """A row of several labels, whose scores are divided by `unit`; `lead` is that of the best one over the average.

    A step of Newton's method towards the slope with the highest posterior, for a label that counts by the chance that
    it is no noise (online EM).
    """
    cdef double total = 0, mean = 0, square = 0
    cdef double scale, f, exponent, p, own, right
    cdef Py_ssize_t z
    count_square(c, lead / unit * (lead / unit), pace)
    if not is_positive(c.mean_square):
        return
    forget(c, pace.growth)
    scale = 1 / (unit * sqrt(c.mean_square))
    for z in range(n):
        f = (scores[z] - best) * scale
        exponent = c.slope * f
        if exponent > -FAR:
            p = exp(exponent)
            total += p
            mean += p * f
            square += p * f * f
    mean /= total
    square = larger(square / total - mean * mean, 0)
    own = (scores[label] - best) * scale
    right = exp(c.slope * own) / total
    p = c.noise / n + (1 - c.noise) * right
    weight *= (1 - c.noise) * right / p
    c.loss -= pace.share * (log(p) + c.loss)
    observe_noise(c, right, p, n, pace.noise_share)
    square *= weight
    # No step more than halves or doubles a slope: far away the tangent says little.
    c.slope = larger(
        1e-9,
        smaller(2, larger(0.5, 1 + weight * (own - mean) / (square + 1 / c.slope_variance) / c.slope)) * c.slope,
    )
    c.slope_variance /= 1 + square * c.slope_variance


cdef inline void observe_labels(
    Calibration* known, const double* scores, Py_ssize_t n, Py_ssize_t label, double spread, double weight,
    bint settled,
) noexcept nogil:
    """A row of several labels with these scores; `spread` is the squared length of the row."""
    cdef double unit = sqrt(spread) if is_positive(spread) else 1
    cdef double best = scores[0]
    cdef double mean = 0
    cdef double lead
    cdef Py_ssize_t z
    cdef Pace pace
    for z in range(n):
        best = larger(best, scores[z])
        mean += scores[z] / n
    lead = best - mean
    if not (is_measurable(lead) and is_measurable(lead / unit)):
        return
    weight = smaller(weight, HEAVIEST)
    begin(known, settled)
    pace = pace_of(known.observed, settled, True)
    observe_scores(&known.margin, scores, n, label, 1, lead, best, weight, pace)
    observe_scores(&known.deviation, scores, n, label, unit, lead, best, weight, pace)
