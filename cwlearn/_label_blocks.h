/* The weights of one label, from the cells of a row and back.  `means` is where the label's mean is in the first cell of
   the state, `cell` where the row's cells begin.  With AVX, entries go four at a time: the compiler would copy one by
   one. */

#include "_loops.h"
#include "_row.h"

#if defined(__AVX2__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#define CWLEARN_GATHER_float(numbers, cell) \
    _mm256_cvtps_pd(_mm_setr_ps((numbers)[(cell)[0]], (numbers)[(cell)[1]], (numbers)[(cell)[2]], (numbers)[(cell)[3]]))
#define CWLEARN_GATHER_double(numbers, cell) \
    _mm256_setr_pd((numbers)[(cell)[0]], (numbers)[(cell)[1]], (numbers)[(cell)[2]], (numbers)[(cell)[3]])
#define CWLEARN_SCATTER_float(numbers, cell, four) do { \
    const __m128 all = _mm256_cvtpd_ps(four); \
    _mm_store_ss((numbers) + (cell)[0], all); \
    _mm_store_ss((numbers) + (cell)[1], _mm_shuffle_ps(all, all, 1)); \
    _mm_store_ss((numbers) + (cell)[2], _mm_shuffle_ps(all, all, 2)); \
    _mm_store_ss((numbers) + (cell)[3], _mm_shuffle_ps(all, all, 3)); \
} while (0)
#define CWLEARN_SCATTER_double(numbers, cell, four) do { \
    const __m128d low = _mm256_castpd256_pd128(four), high = _mm256_extractf128_pd(four, 1); \
    _mm_storel_pd((numbers) + (cell)[0], low); \
    _mm_storeh_pd((numbers) + (cell)[1], low); \
    _mm_storel_pd((numbers) + (cell)[2], high); \
    _mm_storeh_pd((numbers) + (cell)[3], high); \
} while (0)

#define CWLEARN_SUM_FOURS(type) \
    __m256d total = _mm256_setzero_pd(); \
    CWLEARN_NOT_UNROLLED \
    for (; p + 4 <= row->n; p += 4) { \
        const __m256d x = _mm256_loadu_pd(row->x + p), s = CWLEARN_GATHER_##type(variances, cell + p); \
        _mm256_storeu_pd(row->variance + p, s); \
        total = _mm256_add_pd(total, _mm256_mul_pd(s, _mm256_mul_pd(x, x))); \
    } \
    _mm256_storeu_pd(sums, total);
#define CWLEARN_LOAD_FOURS(type) \
    CWLEARN_NOT_UNROLLED \
    for (; p + 4 <= row->n; p += 4) \
        _mm256_storeu_pd(row->mean + p, CWLEARN_GATHER_##type(means, cell + p));
#define CWLEARN_STORE_FOURS(type) \
    CWLEARN_NOT_UNROLLED \
    for (; p + 4 <= row->n; p += 4) { \
        CWLEARN_SCATTER_##type(means, cell + p, _mm256_loadu_pd(row->mean + p)); \
        CWLEARN_SCATTER_##type(variances, cell + p, _mm256_loadu_pd(row->variance + p)); \
    }

/* `moved` of _cells.pxd, for four entries: the variance after a step. */
#define CWLEARN_SHRUNK_KL _mm256_max_pd(s / (ones + gains * q), floors)
#define CWLEARN_SHRUNK_L2 \
    _mm256_max_pd(s * ((ones + gains * _mm256_max_pd(v - q, _mm256_setzero_pd())) / (ones + gains * v)), floors)
#define CWLEARN_SHRUNK_FIXED s

/* A step of a block whose variances are loaded, and its means only if `loaded`; and store it.  Always true. */
#define CWLEARN_MOVE_BLOCK(type, projection, is_fixed) \
static int cwlearn_move_block_##projection##_##type( \
        const cwlearn_row *row, int loaded, type *means, Py_ssize_t n_labels, const int64_t *cell, double alpha, \
        double gain, double margin_variance, double floor) { \
    const __m256d alphas = _mm256_set1_pd(alpha), gains = _mm256_set1_pd(gain), ones = _mm256_set1_pd(1); \
    const __m256d v = _mm256_set1_pd(margin_variance), floors = _mm256_set1_pd(floor); \
    type *const variances = means + n_labels; \
    (void)gains, (void)ones, (void)v, (void)floors; \
    CWLEARN_NOT_UNROLLED \
    for (Py_ssize_t p = 0; p < row->n; p += 4) { \
        const Py_ssize_t left = row->n - p; \
        __m256d x, s, m; \
        if (left >= 4) { \
            x = _mm256_loadu_pd(row->x + p); \
            s = _mm256_loadu_pd(row->variance + p); \
            m = loaded ? _mm256_loadu_pd(row->mean + p) : CWLEARN_GATHER_##type(means, cell + p); \
        } else { \
            const __m256i some = _mm256_cmpgt_epi64(_mm256_set1_epi64x(left), _mm256_setr_epi64x(0, 1, 2, 3)); \
            const Py_ssize_t b = left > 1, c = left > 2 ? 2 : 0; \
            const int64_t places[4] = {cell[p], cell[p + b], cell[p + c], cell[p]}; \
            x = _mm256_maskload_pd(row->x + p, some); \
            s = _mm256_maskload_pd(row->variance + p, some); \
            m = loaded ? _mm256_maskload_pd(row->mean + p, some) : CWLEARN_GATHER_##type(means, places); \
        } \
        const __m256d q = s * (x * x), mean = m + alphas * (s * x), variance = CWLEARN_SHRUNK_##projection; \
        (void)q; \
        if (left >= 4) { \
            CWLEARN_SCATTER_##type(means, cell + p, mean); \
            if (!is_fixed) \
                CWLEARN_SCATTER_##type(variances, cell + p, variance); \
        } else { \
            double after[4], spread[4]; \
            _mm256_storeu_pd(after, mean); \
            _mm256_storeu_pd(spread, variance); \
            CWLEARN_NOT_UNROLLED \
            for (Py_ssize_t k = 0; k < left; k++) { \
                means[cell[p + k]] = (type)after[k]; \
                variances[cell[p + k]] = (type)spread[k]; \
            } \
        } \
    } \
    return 1; \
}

#else

#define CWLEARN_SUM_FOURS(type) \
    for (; p + 4 <= row->n; p += 4) \
        for (Py_ssize_t q = p; q < p + 4; q++) { \
            row->variance[q] = variances[cell[q]]; \
            sums[q - p] += row->variance[q] * (row->x[q] * row->x[q]); \
        }
#define CWLEARN_LOAD_FOURS(type)
#define CWLEARN_STORE_FOURS(type)
#define CWLEARN_MOVE_BLOCK(type, projection, is_fixed) \
static int cwlearn_move_block_##projection##_##type( \
        const cwlearn_row *row, int loaded, type *means, Py_ssize_t n_labels, const int64_t *cell, double alpha, \
        double gain, double margin_variance, double floor) { \
    return 0; /* nothing is done */ \
}

#endif

/* The variances of a block; the result is `variance_of` of _cells.pxd. */
#define CWLEARN_LABEL_BLOCKS(type) \
static double cwlearn_load_variances_##type( \
        const cwlearn_row *row, const type *means, Py_ssize_t n_labels, const int64_t *cell) { \
    const type *variances = means + n_labels; \
    double sums[4] = {0, 0, 0, 0}; \
    Py_ssize_t p = 0; \
    CWLEARN_SUM_FOURS(type) \
    CWLEARN_NOT_UNROLLED \
    for (; p < row->n; p++) { \
        row->variance[p] = variances[cell[p]]; \
        sums[0] += row->variance[p] * (row->x[p] * row->x[p]); \
    } \
    return (sums[0] + sums[1]) + (sums[2] + sums[3]); \
} \
static void cwlearn_load_means_##type(const cwlearn_row *row, const type *means, const int64_t *cell) { \
    Py_ssize_t p = 0; \
    CWLEARN_LOAD_FOURS(type) \
    CWLEARN_NOT_UNROLLED \
    for (; p < row->n; p++) \
        row->mean[p] = means[cell[p]]; \
} \
static void cwlearn_store_block_##type( \
        const cwlearn_row *row, type *means, Py_ssize_t n_labels, const int64_t *cell) { \
    type *variances = means + n_labels; \
    Py_ssize_t p = 0; \
    CWLEARN_STORE_FOURS(type) \
    CWLEARN_NOT_UNROLLED \
    for (; p < row->n; p++) { \
        means[cell[p]] = (type)row->mean[p]; \
        variances[cell[p]] = (type)row->variance[p]; \
    } \
} \
CWLEARN_MOVE_BLOCK(type, KL, 0) \
CWLEARN_MOVE_BLOCK(type, L2, 0) \
CWLEARN_MOVE_BLOCK(type, FIXED, 1)

CWLEARN_LABEL_BLOCKS(float)
CWLEARN_LABEL_BLOCKS(double)
