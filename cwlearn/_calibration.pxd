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

After the first rows, those of two labels wait until there are TOGETHER of them, and are observed at once: one step of
Fisher's scoring for all, instead of one for each.  That takes a fraction of the time, and is as good.

What a score is worth goes with its size: of two labels relative to the mean square, since the scores of a young model
grow and are worth no more for it.  A settled model and one of more labels keep the worth of a unit of the score instead
(measured: docs/results/calibration.md).
"""

from libc.math cimport copysign, exp, fabs, log, log1p, sqrt
from libc.stdint cimport uint64_t

from cwlearn._exponential cimport exponential
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
    TOGETHER = 16             # two labels: so many rows wait for each other
    MAP_DOUBLES = 18 + 64     # that say what a score is worth; the others say which rows wait
    CALIBRATION_DOUBLES = 18 + 64 + 1 + 3 * 16

cdef struct Calibration:      # only doubles: Python has it as an array of CALIBRATION_DOUBLES
    double observed           # rows
    double settled            # the model had made several passes over other rows when these were observed
    Calibrator margin
    Calibrator deviation
    double[ODDS] odds         # two labels: how the log odds of rows are distributed, each before it was observed
    double waiting            # two labels: so many rows
    double[TOGETHER] scores   # positive for the second label
    double[TOGETHER] spreads  # squared deviations
    double[TOGETHER] pulls    # the weight of the row, with the sign of its label

cdef struct Pace:             # how much the newest rows count
    double share              # their share in a mean of all rows
    double growth             # of the variances before they are observed
    double noise_share        # their share in the noise
    bint keeps_unit           # what is known stays the same per unit of the score, whatever the mean square

# A weak prior: a score of average size is worth a probability of 0.88, give or take everything.
cdef enum:
    PRIOR_SLOPE = 2
    PRIOR_SLOPE_VARIANCE = 100
    PRIOR_SHIFT_VARIANCE = 16
    HORIZON = 1 << 16
    ALL_ROWS = 4096           # so many are observed, and then fewer and fewer
    MANY_ROWS = 1024          # but so many each time the rows grow by e
    ALL_ROWS_OF_SEVERAL = 1024    # the same for more than two labels, which have no shift to be found
    MANY_ROWS_OF_SEVERAL = 512
    FIRST_ROWS = 64           # so many are observed one by one, since each tells much
    HEAVIEST = 1 << 20        # no row counts as more than so many
    NOISE_RECENCY = 4         # the mistakes of a young model are no noise: they are forgotten faster
    NOISE_RECENCY_OF_SEVERAL = 1  # among more labels, few mistakes look like noise
    NOISE_ROWS = 100          # the noise begins as if of so many rows
    RANDOM_ROWS = 4           # so many had had a random label
    FEWEST_OF_SIZE = 32       # fewer scores do not tell their size
    GROWN = 4                 # so many scores among TOGETHER that are so many times the usual ones: another model
    FARTHEST = 4              # the logit of a score four times the usual moves no farther by one step for many rows


cdef inline bint is_chosen(uint64_t row, bint several) noexcept nogil:
    """Whether a row is one of the fewer that are worth the time, however many were observed before it.

    Of all rows that were learned, row t is chosen with the chance (ALL_ROWS / t)^2 or MANY_ROWS / t, whichever is more;
    by sixteens, which branches foresee.  Fibonacci hashing decides, which follows no pattern of the labels.
    """
    cdef uint64_t sixteen = row >> 4
    cdef double chance = <double> (sixteen * <uint64_t> 0x9E3779B97F4A7C15 >> 40) / (1 << 24)
    cdef double t = 16 * sixteen
    cdef double all_rows = ALL_ROWS_OF_SEVERAL if several else ALL_ROWS
    return chance * t < (MANY_ROWS_OF_SEVERAL if several else MANY_ROWS) or chance * t * t < all_rows * all_rows


cdef inline bint is_observed(const Calibration* known, bint chosen, bint several, bint settled) noexcept nogil:
    """Whether a row is observed: all of the first ones are, and the first one that a settled model has scored."""
    return (chosen or known.observed < (ALL_ROWS_OF_SEVERAL if several else ALL_ROWS)
            or (settled and known.settled == 0))


cdef inline bint is_positive(double square) noexcept nogil:
    """Whether something can be divided by the root of it."""
    return square > 1e-200


cdef inline bint is_measurable(double score) noexcept nogil:
    """Whether sums of its square stay finite."""
    return score * score < 1e200


cdef inline void start(Calibrator* c, double noise) noexcept nogil:
    c[0] = Calibrator(0, PRIOR_SLOPE, 0, PRIOR_SLOPE_VARIANCE, 0, PRIOR_SHIFT_VARIANCE, 0, noise)


cdef inline bint begins_anew(const Calibration* known, bint settled) noexcept nogil:
    """Whether nothing is known before this row: the first one, and the first one that a settled model has scored."""
    return known.observed == 0 or (settled and known.settled == 0)


cdef inline void begin(Calibration* known, bint settled) noexcept nogil:
    """Begin anew, except that the noise is one of the labels, not of the scores."""
    cdef bint first = known.observed == 0
    cdef double noise = <double> RANDOM_ROWS / NOISE_ROWS
    cdef int k
    start(&known.margin, noise if first else known.margin.noise)
    start(&known.deviation, noise if first else known.deviation.noise)
    known.observed = 0
    known.settled = settled
    for k in range(ODDS):
        known.odds[k] = 0


cdef inline Pace pace_of(double observed, bint settled, bint several, int rows) noexcept nogil:
    """How much the newest rows count, the last of which is the `observed`th one."""
    cdef double recency = 0.5 if settled else 2
    cdef double of_noise = NOISE_RECENCY_OF_SEVERAL if several else NOISE_RECENCY
    return Pace(
        rows * larger((1 + recency) / (observed + recency), 1.0 / HORIZON),
        1 + rows * larger(recency / (observed - rows), 1.0 / HORIZON) if observed > rows else 1,
        rows * larger((1 + of_noise) / (observed + of_noise + NOISE_ROWS), 1.0 / HORIZON),
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


cdef inline void count_noise(Calibrator* c, double noise, double share) noexcept nogil:
    """Count a chance of noise.  No label is impossible, and some always tell of the score."""
    c.noise = larger(1e-9, smaller(c.noise + share * (noise - c.noise), 0.98))


cdef inline void observe_noise(Calibrator* c, double right, double p, Py_ssize_t n, double share) noexcept nogil:
    """A row whose one of n labels has the probability p, and `right` if there were no noise.

    The label is another one than the true one with the chance noise / n (1 - right) / p, and a random label is so with
    the chance (n - 1) / n.  (This is a step of online EM.)
    """
    count_noise(c, c.noise / (n - 1) * (1 - right) / p, share)


cdef inline void know(Calibrator* c, double slope_variance, double covariance, double shift_variance) noexcept nogil:
    """Take over a covariance; rounding must not make it less than one."""
    cdef double limit
    c.slope_variance = larger(slope_variance, 1e-15)
    c.shift_variance = larger(shift_variance, 1e-15)
    c.covariance = covariance
    limit = (1 - 1e-9) * c.slope_variance * c.shift_variance
    if covariance * covariance > limit:
        c.covariance = copysign(sqrt(limit), covariance)


cdef inline void observe_margin(Calibrator* c, double score, double sign, double weight, Pace pace) noexcept nogil:
    """A row of two labels: `sign` is that of the label, `score` positive for the second one.

    One step of Fisher's scoring for log p, p = noise / 2 + (1 - noise) sigmoid(m), m = sign (slope f + shift).
    """
    cdef double f, m, e, right, wrong, p, q, steepness, information, along_slope, along_shift, v, alpha, beta
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
    know(
        c,
        c.slope_variance - beta * along_slope * along_slope,
        c.covariance - beta * along_slope * along_shift,
        c.shift_variance - beta * along_shift * along_shift,
    )


cdef inline bint observe_margins(
    Calibrator* known, const double* scores, const double* pulls, Pace pace,
) noexcept nogil:
    """TOGETHER rows of two labels in one step; see `observe_margin`, and `Calibration` for `pulls`.

    False if the step is too long for its tangent: then nothing has changed.
    """
    cdef Calibrator c = known[0]
    cdef double[TOGETHER] f, p, information, pull, random
    cdef double m, e, high, low, right, wrong, q, ratio, steepness, unit, a, b, d, slope_step, shift_step, growth
    cdef double square = 0, chance = 1, noise = 0, along_slope = 0, along_shift = 0
    cdef double of_slope = 0, of_both = 0, of_shift = 0     # the information of all rows
    cdef int k
    for k in range(TOGETHER):
        square += scores[k] * scores[k]
    count_square(&c, square / TOGETHER, pace)
    forget(&c, pace.growth)
    unit = 1 / sqrt(c.mean_square) if is_positive(c.mean_square) else 0
    for k in range(TOGETHER):      # without a branch or a call: see `exponential`
        f[k] = scores[k] * unit
        m = copysign(1, pulls[k]) * (c.slope * f[k] + c.shift)
        e = exponential(-fabs(m))
        high = 1 / (1 + e)
        low = e * high
        right = high if m >= 0 else low
        wrong = low if m >= 0 else high
        p[k] = c.noise / 2 + (1 - c.noise) * right
        q = c.noise / 2 + (1 - c.noise) * wrong
        ratio = 1 / (p[k] * q)
        steepness = (1 - c.noise) * right * wrong
        information[k] = fabs(pulls[k]) * steepness * steepness * ratio
        pull[k] = pulls[k] * steepness * (ratio * q)
        random[k] = c.noise * wrong * (ratio * q)
    for k in range(TOGETHER):
        chance *= p[k]
        noise += random[k]
        along_slope += pull[k] * f[k]
        along_shift += pull[k]
        of_slope += information[k] * f[k] * f[k]
        of_both += information[k] * f[k]
        of_shift += information[k]
    # The covariance V becomes inv(inv(V) + information), here without a difference of large numbers.
    d = c.slope_variance * c.shift_variance - c.covariance * c.covariance
    growth = (1 + c.slope_variance * of_slope + 2 * c.covariance * of_both + c.shift_variance * of_shift
              + d * (of_slope * of_shift - of_both * of_both))
    a = (c.slope_variance + d * of_shift) / growth
    b = (c.covariance - d * of_both) / growth
    d = (c.shift_variance + d * of_slope) / growth
    slope_step = a * along_slope + b * along_shift
    shift_step = b * along_slope + d * along_shift
    if not 4 * fabs(slope_step) + fabs(shift_step) <= FARTHEST:
        return False
    know(&c, a, b, d)
    c.slope += slope_step
    c.shift += shift_step
    c.loss -= pace.share * (log(chance) / TOGETHER + c.loss)
    count_noise(&c, noise / TOGETHER, pace.noise_share)
    known[0] = c
    return True


cdef inline void observe_all_margins(
    Calibrator* c, const double* scores, const double* pulls, double before, bint settled,
) noexcept nogil:
    """TOGETHER rows in one step if that is not too far, else one by one; so many were observed before."""
    cdef double observed
    cdef int k
    if observe_margins(c, scores, pulls, pace_of(smaller(before + TOGETHER, HORIZON), settled, False, TOGETHER)):
        return
    for k in range(TOGETHER):
        observed = smaller(before + k + 1, HORIZON)
        observe_margin(
            c, scores[k], copysign(1, pulls[k]), fabs(pulls[k]), pace_of(observed, settled, False, 1),
        )


cdef inline void count_odds(
    Calibration* known, const double* scores, const double* ratios, const double* pulls, int rows, double share,
) noexcept nogil:
    """Count the log odds of rows, as far as they are known.

    From these follow the thresholds for measures other than the error.
    """
    cdef bint by_ratio = known.deviation.loss < known.margin.loss
    cdef const Calibrator* c = &known.deviation if by_ratio else &known.margin
    cdef const double* f = ratios if by_ratio else scores
    cdef double slope = c.slope / sqrt(c.mean_square) if is_positive(c.mean_square) else 0
    cdef double place
    cdef int k
    for k in range(ODDS):
        known.odds[k] *= 1 - share
    for k in range(rows):
        place = smaller(larger(4 * (slope * f[k] + c.shift) + ODDS / 2, 0), ODDS - 1)
        known.odds[<int> place] += share / rows * fabs(pulls[k])


cdef inline void observe_alone(
    Calibration* known, double score, double spread, double pull, bint settled,
) noexcept nogil:
    """A row of two labels by itself."""
    cdef double ratio = score / sqrt(spread) if is_positive(spread) else 0
    cdef double sign = copysign(1, pull)
    cdef Pace pace
    known.observed = smaller(known.observed + 1, HORIZON)
    pace = pace_of(known.observed, settled, False, 1)
    count_odds(known, &score, &ratio, &pull, 1, pace.share)
    observe_margin(&known.margin, score, sign, fabs(pull), pace)
    observe_margin(&known.deviation, ratio, sign, fabs(pull), pace)


cdef inline bint have_grown(const Calibration* known) noexcept nogil:
    """Whether many scores that wait are far beyond those before them."""
    cdef double usual = GROWN * sqrt(known.margin.mean_square)
    cdef int count = 0
    cdef int k
    for k in range(TOGETHER):
        count += fabs(known.scores[k]) > usual
    return count >= GROWN


cdef inline void observe_waiting(Calibration* known, bint settled) noexcept nogil:
    """All rows that have waited for each other.

    Scores that are suddenly many times as large are those of another model: CW makes such jumps where no weights
    separate the labels.  What was known before says nothing of them.
    """
    cdef double[TOGETHER] ratios
    cdef double before = known.observed
    cdef double share = pace_of(smaller(before + TOGETHER, HORIZON), settled, False, TOGETHER).share
    cdef int k
    if have_grown(known):
        begin(known, known.settled != 0)
        for k in range(TOGETHER):
            observe_alone(known, known.scores[k], known.spreads[k], known.pulls[k], settled)
        return
    for k in range(TOGETHER):
        ratios[k] = known.scores[k] / sqrt(known.spreads[k]) if is_positive(known.spreads[k]) else 0
    count_odds(known, known.scores, ratios, known.pulls, TOGETHER, share)
    observe_all_margins(&known.margin, known.scores, known.pulls, before, settled)
    observe_all_margins(&known.deviation, ratios, known.pulls, before, settled)
    known.observed = smaller(before + TOGETHER, HORIZON)


cdef inline void clear_waiting(Calibration* known) noexcept nogil:
    """No row waits, and none leaves a trace: equal calibrations have equal bytes."""
    cdef int k
    known.waiting = 0
    for k in range(TOGETHER):
        known.scores[k] = known.spreads[k] = known.pulls[k] = 0


cdef inline void observe_two(
    Calibration* known, double m, double spread, double sign, double weight, bint settled,
) noexcept nogil:
    """A row of two labels with margin m (times the sign of its label) and the squared deviation `spread`."""
    cdef double score = sign * m
    cdef double pull = sign * smaller(weight, HEAVIEST)
    cdef int k
    if not (is_measurable(score) and (score * score < 1e200 * spread or not is_positive(spread))):
        return
    if begins_anew(known, settled):
        begin(known, settled)
        clear_waiting(known)
    if known.observed < FIRST_ROWS:
        observe_alone(known, score, spread, pull, settled)
        return
    k = <int> known.waiting
    known.scores[k] = score
    known.spreads[k] = spread
    known.pulls[k] = pull
    known.waiting = k + 1
    if k + 1 == TOGETHER:
        observe_waiting(known, settled)
        clear_waiting(known)


cdef inline void observe_scores(
    Calibrator* c, const double* scores, Py_ssize_t n, Py_ssize_t label, double unit, double lead, double best,
    double weight, Pace pace,
) noexcept nogil:
    """A row of several labels, whose scores are divided by `unit`; `lead` is that of the best one over the average.

    A step of Newton's method towards the slope with the highest posterior, for a label that counts by the chance that
    it is no noise (online EM).
    """
    cdef double total = 0, mean = 0, square = 0
    cdef double scale, p, own, right
    cdef double[TOGETHER] f, powers
    cdef Py_ssize_t first = 0
    cdef Py_ssize_t z, count
    count_square(c, lead / unit * (lead / unit), pace)
    if not is_positive(c.mean_square):
        return
    forget(c, pace.growth)
    scale = 1 / (unit * sqrt(c.mean_square))
    while first < n:
        count = n - first if n - first < TOGETHER else TOGETHER
        for z in range(count):      # without a branch or a call: see `exponential`
            f[z] = (scores[first + z] - best) * scale
            powers[z] = exponential(c.slope * f[z])
        for z in range(count):
            total += powers[z]
            mean += powers[z] * f[z]
            square += powers[z] * f[z] * f[z]
        first += count
    mean /= total
    square = larger(square / total - mean * mean, 0)
    own = (scores[label] - best) * scale
    right = exponential(c.slope * own) / total
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
    if begins_anew(known, settled):
        begin(known, settled)
    known.observed = smaller(known.observed + 1, HORIZON)
    pace = pace_of(known.observed, settled, True, 1)
    observe_scores(&known.margin, scores, n, label, 1, lead, best, weight, pace)
    observe_scores(&known.deviation, scores, n, label, unit, lead, best, weight, pace)
