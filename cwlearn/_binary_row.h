/* A row of two labels: its cells are copied side by side as doubles, and a step moves them and puts them back.  A cell
   is mean and variance; if the rule sums gradients, total and root have their places.  Entry 0 of a row is the
   intercept, entry k + 1 its feature k.  With AVX, features go four at a time, all but the first n % 4, and the margin
   is summed meanwhile.  Those loops are not unrolled: the processor predicts the end of a short one better. */

#include "_prefetch.h"
#include "_row.h"
#include "_weighing.h"

#if defined(__AVX__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#define CWLEARN_SUMS_WHILE_LOADING 1
#ifdef __clang__
#define CWLEARN_NOT_UNROLLED _Pragma("clang loop unroll(disable)")
#else
#define CWLEARN_NOT_UNROLLED _Pragma("GCC unroll 1")
#endif

/* Four cells as means and variances, and back. */
#define CWLEARN_TWO_CELLS(a, b) \
    _mm_loadh_pi(_mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(a))), (const __m64 *)(b))
#define CWLEARN_APART_float(cells, a, b, c, d, mean, variance) do { \
    const __m128 ab = CWLEARN_TWO_CELLS((cells) + 2 * (a), (cells) + 2 * (b)); \
    const __m128 cd = CWLEARN_TWO_CELLS((cells) + 2 * (c), (cells) + 2 * (d)); \
    mean = _mm256_cvtps_pd(_mm_shuffle_ps(ab, cd, 0x88)); \
    variance = _mm256_cvtps_pd(_mm_shuffle_ps(ab, cd, 0xdd)); \
} while (0)
#define CWLEARN_TOGETHER_float(cells, a, b, c, d, mean, variance) do { \
    const __m128 means = _mm256_cvtpd_ps(mean), variances = _mm256_cvtpd_ps(variance); \
    const __m128 ab = _mm_unpacklo_ps(means, variances), cd = _mm_unpackhi_ps(means, variances); \
    _mm_storel_pi((__m64 *)((cells) + 2 * (a)), ab); \
    _mm_storeh_pi((__m64 *)((cells) + 2 * (b)), ab); \
    _mm_storel_pi((__m64 *)((cells) + 2 * (c)), cd); \
    _mm_storeh_pi((__m64 *)((cells) + 2 * (d)), cd); \
} while (0)
#define CWLEARN_APART_double(cells, a, b, c, d, mean, variance) do { \
    const __m256d ac = _mm256_insertf128_pd( \
        _mm256_castpd128_pd256(_mm_loadu_pd((cells) + 2 * (a))), _mm_loadu_pd((cells) + 2 * (c)), 1); \
    const __m256d bd = _mm256_insertf128_pd( \
        _mm256_castpd128_pd256(_mm_loadu_pd((cells) + 2 * (b))), _mm_loadu_pd((cells) + 2 * (d)), 1); \
    mean = _mm256_unpacklo_pd(ac, bd); \
    variance = _mm256_unpackhi_pd(ac, bd); \
} while (0)
#define CWLEARN_TOGETHER_double(cells, a, b, c, d, mean, variance) do { \
    const __m256d ac = _mm256_unpacklo_pd(mean, variance), bd = _mm256_unpackhi_pd(mean, variance); \
    _mm_storeu_pd((cells) + 2 * (a), _mm256_castpd256_pd128(ac)); \
    _mm_storeu_pd((cells) + 2 * (b), _mm256_castpd256_pd128(bd)); \
    _mm_storeu_pd((cells) + 2 * (c), _mm256_extractf128_pd(ac, 1)); \
    _mm_storeu_pd((cells) + 2 * (d), _mm256_extractf128_pd(bd, 1)); \
} while (0)
#define CWLEARN_FOUR_float(values) _mm256_cvtps_pd(_mm_loadu_ps(values))
#define CWLEARN_FOUR_double(values) _mm256_loadu_pd(values)

/* Make the weights of gradients of some cells, and keep them; a weight counts as a mean with a variance of 1. */
#define CWLEARN_WEIGH_ONE(total, root, weight) do { \
    *(weight) = total = _mm256_cvtsd_f64(cwlearn_weights(_mm256_set1_pd(total), _mm256_set1_pd(root), &weighing)); \
    root = 1; \
} while (0)
#define CWLEARN_WEIGH_FOUR(totals, roots, weights) do { \
    totals = cwlearn_weights(totals, roots, &weighing); \
    _mm256_storeu_pd(weights, totals); \
    roots = _mm256_set1_pd(1); \
} while (0)

/* `load_row` of _binary_row.pxd; `sums` are those of its entries, mean and variance, each of every second one.  Two
   functions have the same lines; one weighs.  Only the other is inlined, for both together make it 4 % slower. */
#define CWLEARN_LOAD(type, index) \
CWLEARN_LOAD_BY(type, index, gaussians, 0) \
__attribute__((noinline)) CWLEARN_LOAD_BY(type, index, gradients, 1) \
static int cwlearn_load_##type##_##index( \
        const cwlearn_row *row, double *sums, const type *cells, uint64_t n_features, const index *indices, \
        const type *values, const index *later, Py_ssize_t n_later, const cwlearn_weighing *by) { \
    if (by) \
        return cwlearn_gradients_##type##_##index(row, sums, cells, n_features, indices, values, later, n_later, by); \
    return cwlearn_gaussians_##type##_##index(row, sums, cells, n_features, indices, values, later, n_later, NULL); \
}
#define CWLEARN_LOAD_BY(type, index, cell, weighs) \
static int cwlearn_##cell##_##type##_##index( \
        const cwlearn_row *row, double *sums, const type *cells, uint64_t n_features, const index *indices, \
        const type *values, const index *later, Py_ssize_t n_later, const cwlearn_weighing *by) { \
    const cwlearn_weighing weighing = weighs ? *by : (cwlearn_weighing){0, 0, 0}; \
    const Py_ssize_t n = row->n - 1; \
    double *mean = row->mean + 1, *variance = row->variance + 1, *x = row->x + 1; \
    double m = row->mean[0], s = row->variance[0]; \
    if (weighs) \
        CWLEARN_WEIGH_ONE(m, s, row->shares); \
    double even_mean = m * row->x[0], even_variance = s * (row->x[0] * row->x[0]); \
    double odd_mean = 0, odd_variance = 0; \
    int64_t *columns = row->columns; \
    Py_ssize_t k; \
    cells += 2; \
    CWLEARN_NOT_UNROLLED \
    for (k = 0; k < n % 4; k++) { \
        const uint64_t j = (uint64_t)indices[k]; \
        const double mean_before = even_mean, variance_before = even_variance; \
        if (j >= n_features) \
            return 0; \
        if (k < n_later) \
            cwlearn_prefetch(cells + 2 * (Py_ssize_t)later[k]); \
        columns[k] = (int64_t)j; \
        mean[k] = m = cells[2 * j]; \
        variance[k] = s = cells[2 * j + 1]; \
        x[k] = values[k]; \
        if (weighs) \
            CWLEARN_WEIGH_ONE(m, s, row->shares + k + 1); \
        even_mean = odd_mean + m * x[k]; /* and what was even is odd now, as the next entry */ \
        even_variance = odd_variance + s * (x[k] * x[k]); \
        odd_mean = mean_before; \
        odd_variance = variance_before; \
    } \
    __m256d total = _mm256_set_pd(even_variance, odd_variance, even_mean, odd_mean); \
    CWLEARN_NOT_UNROLLED \
    for (; k < n; k += 4) { \
        const uint64_t a = (uint64_t)indices[k], b = (uint64_t)indices[k + 1]; \
        const uint64_t c = (uint64_t)indices[k + 2], d = (uint64_t)indices[k + 3]; \
        const __m256d v = CWLEARN_FOUR_##type(values + k); \
        __m256d m, s; \
        if (a >= n_features || b >= n_features || c >= n_features || d >= n_features) \
            return 0; \
        if (k + 4 <= n_later) { \
            cwlearn_prefetch(cells + 2 * (Py_ssize_t)later[k]); \
            cwlearn_prefetch(cells + 2 * (Py_ssize_t)later[k + 1]); \
            cwlearn_prefetch(cells + 2 * (Py_ssize_t)later[k + 2]); \
            cwlearn_prefetch(cells + 2 * (Py_ssize_t)later[k + 3]); \
        } \
        CWLEARN_APART_##type(cells, a, b, c, d, m, s); \
        columns[k] = (int64_t)a; \
        columns[k + 1] = (int64_t)b; \
        columns[k + 2] = (int64_t)c; \
        columns[k + 3] = (int64_t)d; \
        _mm256_storeu_pd(mean + k, m); \
        _mm256_storeu_pd(variance + k, s); \
        _mm256_storeu_pd(x + k, v); \
        if (weighs) \
            CWLEARN_WEIGH_FOUR(m, s, row->shares + k + 1); \
        m = m * v; \
        s = s * (v * v); \
        total = total + _mm256_permute2f128_pd(m, s, 0x20); \
        total = total + _mm256_permute2f128_pd(m, s, 0x31); \
    } \
    _mm256_storeu_pd(sums, total); \
    return 1; \
}

/* `moved` and `add_gradients` of _cells.pxd, for the four entries from p on. */
#define CWLEARN_MOVE_GAUSSIANS(p, variances) \
    const __m256d x = _mm256_loadu_pd(row->x + (p)), s = _mm256_loadu_pd(row->variance + (p)), q = s * (x * x); \
    const __m256d mean = _mm256_loadu_pd(row->mean + (p)) + alphas * (s * x), variance = variances; \
    (void)q
#define CWLEARN_KL(p) CWLEARN_MOVE_GAUSSIANS(p, _mm256_max_pd(s / (ones + gains * q), floors))
#define CWLEARN_L2(p) \
    CWLEARN_MOVE_GAUSSIANS(p, _mm256_max_pd( \
        s * ((ones + gains * _mm256_max_pd(v - q, _mm256_setzero_pd())) / (ones + gains * v)), floors))
#define CWLEARN_FIXED(p) CWLEARN_MOVE_GAUSSIANS(p, s)
#define CWLEARN_GRADIENTS(p) /* the gain is `centre_of` */ \
    const __m256d step = alphas * _mm256_loadu_pd(row->x + (p)), root = _mm256_loadu_pd(row->variance + (p)); \
    const __m256d variance = _mm256_sqrt_pd(root * root + step * step); \
    const __m256d mean = _mm256_loadu_pd(row->mean + (p)) \
        + (step + (variance - root) * _mm256_loadu_pd(row->shares + (p)) * gains)

/* `move_and_store` of _binary_row.pxd; false, and nothing done, for a row of fewer than four entries. */
#define CWLEARN_MOVE(type, projection) \
static int cwlearn_move_##projection##_##type( \
        const cwlearn_row *row, type *cells, double alpha, double gain, double margin_variance, double floor) { \
    const __m256d alphas = _mm256_set1_pd(alpha), gains = _mm256_set1_pd(gain), ones = _mm256_set1_pd(1); \
    const __m256d v = _mm256_set1_pd(margin_variance), floors = _mm256_set1_pd(floor); \
    const Py_ssize_t n = row->n - 1; \
    const int64_t *columns = row->columns; \
    double means[4], variances[4]; \
    Py_ssize_t k; \
    (void)gains, (void)ones, (void)v, (void)floors; \
    if (n < 3) \
        return 0; \
    { \
        CWLEARN_##projection(0); \
        _mm256_storeu_pd(means, mean); \
        _mm256_storeu_pd(variances, variance); \
    } \
    cells[0] = (type)means[0]; \
    cells[1] = (type)variances[0]; \
    cells += 2; \
    CWLEARN_NOT_UNROLLED \
    for (k = 0; k < n % 4; k++) { \
        cells[2 * columns[k]] = (type)means[k + 1]; \
        cells[2 * columns[k] + 1] = (type)variances[k + 1]; \
    } \
    CWLEARN_NOT_UNROLLED \
    for (; k < n; k += 4) { \
        CWLEARN_##projection(k + 1); \
        CWLEARN_TOGETHER_##type(cells, columns[k], columns[k + 1], columns[k + 2], columns[k + 3], mean, variance); \
    } \
    return 1; \
}

#else

#define CWLEARN_SUMS_WHILE_LOADING 0
#define CWLEARN_LOAD(type, index) \
static int cwlearn_load_##type##_##index( \
        const cwlearn_row *row, double *sums, const type *cells, uint64_t n_features, const index *indices, \
        const type *values, const index *later, Py_ssize_t n_later, const cwlearn_weighing *by) { \
    const Py_ssize_t n = row->n - 1; \
    double *mean = row->mean + 1, *variance = row->variance + 1, *x = row->x + 1; \
    int64_t *columns = row->columns; \
    cells += 2; \
    for (Py_ssize_t k = 0; k < n; k++) { \
        const uint64_t j = (uint64_t)indices[k]; \
        if (j >= n_features) \
            return 0; \
        if (k < n_later) \
            cwlearn_prefetch(cells + 2 * (Py_ssize_t)later[k]); \
        columns[k] = (int64_t)j; \
        mean[k] = cells[2 * j]; \
        variance[k] = cells[2 * j + 1]; \
        x[k] = values[k]; \
    } \
    sums[0] = sums[1] = sums[2] = sums[3] = 0; \
    return 1; \
}
#define CWLEARN_MOVE(type, projection) \
static int cwlearn_move_##projection##_##type( \
        const cwlearn_row *row, type *cells, double alpha, double gain, double margin_variance, double floor) { \
    return 0; \
}

#endif

CWLEARN_LOAD(float, int32_t)
CWLEARN_LOAD(float, int64_t)
CWLEARN_LOAD(double, int32_t)
CWLEARN_LOAD(double, int64_t)
CWLEARN_MOVE(float, KL)
CWLEARN_MOVE(float, L2)
CWLEARN_MOVE(float, FIXED)
CWLEARN_MOVE(float, GRADIENTS)
CWLEARN_MOVE(double, KL)
CWLEARN_MOVE(double, L2)
CWLEARN_MOVE(double, FIXED)
CWLEARN_MOVE(double, GRADIENTS)
