"""The update rules: scalar functions that turn (margin, variance) into a Step.

Letters as in the papers: margin m = y mu.x, variance v = x'Sx > 0, confidence phi = Phi^-1(eta) >= 0,
zeta = 1 + phi^2, psi = 1 + phi^2/2.  Every rule answers with

    alpha   step on the mean             mu += y alpha S x
    gain    growth of the precision      S^-1 += gain x x'

and {0, 0} if the row needs no change.  Regression (RLS) has a target t instead of a label: there m = mu.x - t is the
error, y is 1, and alpha may be negative.  J12 is JMLR 2012, N8 NIPS 2008 and A9 NIPS 2009 (AROW).  The roots are
written without cancellation, unlike the printed ones.  If a square overflows all the same, the step is not finite, and
the kernel refuses the row.
"""

from libc.math cimport erfc, exp, fabs, hypot, log1p, sqrt

cdef enum Kind:
    PERCEPTRON
    PA
    PA_I
    PA_II
    CW_VARIANCE
    CW_STDEV
    SCW_I
    SCW_II
    AROW
    NHERD
    SOP
    BAYESIAN_LOGISTIC
    LOGISTIC_SGD
    HINGE_SGD
    PROBIT
    RLS

cdef enum Projection:     # what a step does to the diagonal S = (s_p)
    FIXED                 # nothing: the first-order rules, S = a I
    KL                    # keep the diagonal of the precision:  1/s_p += gain x_p^2       (J12 6.1, misprint corrected)
    L2                    # keep the diagonal of the covariance: s_p -= beta (s_p x_p)^2   (J12 6.1)
    EXACT                 # solve for the diagonal problem, then as KL                     (J12 6.2)
    INCLUSIVE             # as KL, and the row's own precision shrinks its score too: diagonal SOP
    PROXIMAL              # there is none: a cell holds sums of gradients.  FTRL-Proximal; see `weight_of`
    DUAL                  # the same for AdaGrad

cdef struct Step:
    double alpha
    double gain


# libm's fmax and fmin are function calls, because of NaN; these are one instruction.
cdef inline double larger(double a, double b) noexcept nogil:
    return a if a > b else b


cdef inline double smaller(double a, double b) noexcept nogil:
    return a if a < b else b


cdef inline double larger_root(double a, double b, double c) noexcept nogil:
    """The larger root of a t^2 + b t - c = 0 for a > 0, without cancellation; it is real except for rounding."""
    cdef double root = sqrt(larger(b * b + 4 * a * c, 0))
    return 2 * c / (b + root) if b > 0 else (root - b) / (2 * a)


cdef inline double sigmoid(double z) noexcept nogil:
    cdef double e
    if z >= 0:
        return 1 / (1 + exp(-z))
    e = exp(z)
    return e / (1 + e)


cdef inline Step cw_variance(double m, double v, double phi) noexcept nogil:
    """Constraint m >= phi v (J12 eq. 17-18): the larger root of 2 phi v alpha^2 + (1 + 2 phi m) alpha = phi - m/v."""
    cdef double b = 1 + 2 * phi * m
    cdef double root, alpha
    if m >= phi * v:
        return Step(0, 0)
    if phi == 0:
        return Step(-m / v, 0)
    root = hypot(1 - 2 * phi * m, phi * sqrt(8 * v))        # the printed radicand, as a sum of squares
    alpha = 2 * (phi - m / v) / (b + root) if b > 0 else (root - b) / (4 * phi * v)
    return Step(alpha, 2 * alpha * phi)


cdef inline double stdev_gain(double alpha, double v, double phi) noexcept nogil:
    """alpha phi / sqrt(v+) (J12 eq. 23-28), with sqrt(v+) = 2 v / (alpha v phi + sqrt(alpha^2 v^2 phi^2 + 4 v))."""
    cdef double k = alpha * phi * sqrt(v)
    return k * (k + sqrt(k * k + 4)) / (2 * v)


cdef inline Step cw_stdev(double m, double v, double phi) noexcept nogil:
    """Constraint m >= phi sqrt(v) (N8 eq. 14, J12 eq. 31), in the scale-free z = m / sqrt(v)."""
    cdef double sd = sqrt(v)
    cdef double z = m / sd
    cdef double zeta = 1 + phi * phi
    cdef double psi = 1 + phi * phi / 2
    cdef double root, alpha
    if z >= phi:
        return Step(0, 0)
    root = phi * sqrt(z * z * phi * phi / 4 + zeta)
    if z > 0:
        alpha = (phi - z) * (phi + z) / (sd * (z * psi + root))
    else:
        alpha = (root - z * psi) / (sd * zeta)
    return Step(alpha, stdev_gain(alpha, v, phi))


cdef inline Step scw_1(double m, double v, double phi, double C) noexcept nogil:
    """SCW-I (Wang, Zhao, Hoi 2012, prop. 1): CW's alpha, at most C."""
    cdef double alpha = smaller(C, cw_stdev(m, v, phi).alpha)
    return Step(alpha, stdev_gain(alpha, v, phi))


cdef inline Step scw_2(double m, double v, double phi, double C) noexcept nogil:
    """SCW-II (Wang, Zhao, Hoi 2012, prop. 2): squared slack, with n = 1 + 1/(2Cv) for the paper's n / v and
    z = m / sqrt(v); both sides of its fraction are divided by n once more, which may be huge."""
    cdef double sd = sqrt(v)
    cdef double z = m / sd
    cdef double n = 1 + 1 / (2 * C * v)
    cdef double b = z * (2 + phi * phi / n)
    cdef double root, alpha
    if z >= phi:
        return Step(0, 0)
    root = phi * sqrt(phi * z / n * (phi * z / n) + 4 * (1 + phi * phi / n))
    if b > 0:
        alpha = 2 * (phi - z) * (phi + z) / (sd * n * (b + root))
    else:
        alpha = (root - b) / (2 * sd * (n + phi * phi))
    return Step(alpha, stdev_gain(alpha, v, phi))


cdef inline Step bayesian_logistic(double m, double v, double C) noexcept nogil:
    """One row of online Laplace: z = m + C v sigmoid(-z), alpha = C sigmoid(-z), gain = C sigmoid(z) sigmoid(-z).

    The root lies in [m, m + C v] and below max(m, 0) + log(1 + C v); Newton's method is kept inside by bisection.
    """
    cdef double scale = C * v
    cdef double low = m
    cdef double high = smaller(m + scale, larger(m, 0) + log1p(scale))
    cdef double z = smaller(high, larger(low, m + scale * sigmoid(-m) / (1 + scale * sigmoid(m) * sigmoid(-m))))
    cdef double s, residual, step
    cdef int _
    for _ in range(200):
        s = sigmoid(-z)
        residual = z - m - scale * s
        if residual > 0:
            high = z
        else:
            low = z
        step = residual / (1 + scale * s * (1 - s))
        if fabs(step) <= 1e-15 * (1 + fabs(z)):
            break
        z -= step
        if not low <= z <= high:
            z = low + (high - low) / 2
    return Step(C * sigmoid(-z), C * sigmoid(z) * sigmoid(-z))


cdef inline Step probit(double m, double v, double C) noexcept nogil:
    """Moment matching with the likelihood Phi(m / beta), beta^2 = 1 / C (Graepel et al. 2010, eq. 9-12).

    With sigma^2 = beta^2 + v, t = m / sigma, V = phi(t) / Phi(t) and W = V (V + t), the mean moves by V / sigma along
    Sx, and S loses W / sigma^2 (Sx)(Sx)' = gain / (1 + gain v) (Sx)(Sx)', so that gain = W / (beta^2 + v (1 - W)).
    Below t = -5 the differences V + t and 1 - W cancel.  There, V + t = K_1 in Laplace's continued fraction
    K_j = j / (K_j+1 - t), and 1 - W = K_1 (K_2 - K_1).
    """
    cdef double sigma = sqrt(1 / C + v)
    cdef double t = m / sigma
    cdef double hazard, curvature, rest, first = 0, second = 0
    cdef int j
    if t >= -5:
        hazard = 0.7978845608028654 * exp(-t * t / 2) / erfc(-0.7071067811865476 * t)       # sqrt(2 / pi), sqrt(1 / 2)
        curvature = hazard * (hazard + t)
        rest = 1 - curvature
    else:
        for j in range(50, 0, -1):
            second = first
            first = j / (second - t)
        hazard = first - t
        curvature = hazard * first
        rest = first * (second - first)
    return Step(hazard / sigma, curvature / (1 / C + v * rest))


cdef inline Step rule_step(
    Kind kind, double phi, double gain_factor, double C, double m, double v,
) noexcept nogil:
    """The switch.  C already carries the row's weight; AROW's r is 1/C, the step of SGD is C."""
    if kind == AROW:                                        # A9 Figure 1; gain_factor is lambda2 / lambda1 of its eq. 1
        return Step((1 - m) / (v + 1 / C), gain_factor * C) if m < 1 else Step(0, 0)
    if kind == CW_STDEV:
        return cw_stdev(m, v, phi)
    if kind == CW_VARIANCE:
        return cw_variance(m, v, phi)
    if kind == PERCEPTRON:                                  # the loss is max(0, -m), and C the row's weight
        return Step(C, 0) if m <= 0 else Step(0, 0)
    if kind == PA:                                          # J12 section 3
        return Step((1 - m) / v, 0) if m < 1 else Step(0, 0)
    if kind == PA_I:
        return Step(smaller(C, (1 - m) / v), 0) if m < 1 else Step(0, 0)
    if kind == PA_II:
        return Step((1 - m) / (v + 1 / (2 * C)), 0) if m < 1 else Step(0, 0)
    if kind == SCW_I:
        return scw_1(m, v, phi, C)
    if kind == SCW_II:
        return scw_2(m, v, phi, C)
    if kind == NHERD:                                       # Crammer, Lee 2010, eq. 9-10
        return Step((1 - m) / (v + 1 / C), C * (2 + C * v)) if m < 1 else Step(0, 0)
    if kind == SOP:                                         # Cesa-Bianchi, Conconi, Gentile 2005; see INCLUSIVE
        return Step(1, 1) if m <= 0 else Step(0, 0)
    if kind == BAYESIAN_LOGISTIC:
        return bayesian_logistic(m, v, C)
    if kind == PROBIT:
        return probit(m, v, C)
    if kind == HINGE_SGD:
        return Step(C, 0) if m < 1 else Step(0, 0)
    if kind == RLS:                                         # recursive least squares: A9 section 3, footnote 1
        return Step(-m / (v + 1 / C), C)
    return Step(C * sigmoid(-m), 0)                         # LOGISTIC_SGD


cdef inline double relative(Kind kind, double C, double scale) noexcept nogil:
    """C in the unit of a variance of the margin `scale`: 1/C stands beside v, but for SCW-I, whose C caps alpha, and
    CW-stdev's alpha goes by 1 / sqrt(v)."""
    return C / sqrt(scale) if kind == SCW_I else C / scale


cdef inline double capped(double gain, double v) noexcept nogil:
    """No row may shrink the variance along itself by more than 1e300: infinity, and infinity * 0, stay out."""
    return smaller(gain, 1e300 / v)


cdef inline Step exact_step(
    Kind kind, double phi, double m, double v, const double* share, Py_ssize_t n,
) noexcept nogil:
    """CW with the exact diagonal covariance (J12 6.2), for a row whose constraint is violated and phi > 0.

    share[p] = s_p x_p^2 / v sums to 1.  The unknown is k = v * gain, and the variance left after the update is
    v u(k) with u(k) = sum_p share_p / (1 + k share_p).  The constraint becomes one equation in k:

        variance   m + k / (2 phi) - phi v u(k) = 0                     (eq. 33)
        stdev      z + sqrt(u(k)) (k / phi - phi) = 0,  z = m / sqrt(v) (eq. 34)

    1/u is a harmonic mean of increasing lines, hence concave: its tangent lies above it.  With the tangent in place of
    1/u both equations are quadratics, whose root is always on the same side of the true one: above it for the stdev
    form with z < 0 (where k > phi^2), else below it.  So Newton's method on 1/u, begun at k = 0, needs no bracket: from
    its first step on it is monotone, and it converges quadratically, in about three sweeps; when all shares are equal
    it is exact at once.
    """
    cdef double k = 0, u = 1, slope = 0, target = m if kind == CW_VARIANCE else m / sqrt(v)
    cdef double linear, t0, t1, u0, u1, e0, e1, pull, growth, residual, delta
    cdef Py_ssize_t p
    cdef int _
    for p in range(n):
        slope += share[p] * share[p]
    for _ in range(100):
        # The tangent at k: u(k + delta) is about u / (1 + slope delta).  Solve for delta.
        if kind == CW_VARIANCE:
            pull = target + k / (2 * phi)
            residual = phi * v * u - pull
            delta = larger_root(slope / (2 * phi), slope * pull + 1 / (2 * phi), residual)
        else:
            linear = sqrt(u) / (phi * slope)
            residual = sqrt(u) * (phi - k / phi) - target
            growth = larger_root(linear, target + 2 * linear, residual)
            delta = growth * (2 + growth) / slope
        k += delta
        u /= 1 + slope * delta
        if not fabs(delta) > 1e-9 * k:                            # what is left is of the order of delta^2
            break
        u0 = u1 = e0 = e1 = 0
        for p in range(0, n - 1, 2):
            t0 = share[p] / (1 + k * share[p])
            t1 = share[p + 1] / (1 + k * share[p + 1])
            u0 += t0
            u1 += t1
            e0 += t0 * t0
            e1 += t1 * t1
        if n % 2:
            t0 = share[n - 1] / (1 + k * share[n - 1])
            u0 += t0
            e0 += t0 * t0
        u = u0 + u1
        slope = (e0 + e1) / u
    if kind == CW_VARIANCE:
        return Step(k / (2 * phi * v), k / v)
    return Step(k * sqrt(u) / (phi * sqrt(v)), k / v)
