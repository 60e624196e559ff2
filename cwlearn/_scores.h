/* The scores of several labels for one row: for each label z, the sum over the features p of x[p] * mean[z].  `cell`
   is where the means of each feature are in the state.

   Up to 20 labels are summed together, four in a vector; their sums stay in registers during the loop over features.
   Each label has two sums, of the even and of the odd features, because an addition waits for the one before it.  The
   sum of a label depends neither on the labels summed with it nor on the processor.  Each step prefetches cells that a
   later row needs (`ahead`, or NULL).  `scores` has room for a multiple of four; the numbers beyond the labels are
   meaningless sums of variances. */

#include "_loops.h"
#include "_prefetch.h"

#if defined(__GNUC__) || defined(__clang__)

#ifdef __AVX__
#include <immintrin.h>
#endif

typedef double cwlearn_four __attribute__((vector_size(32), aligned(8)));

/* Macros and pointers, no functions that take or return vectors: without AVX, compilers disagree about how. */
#define cwlearn_load_double(numbers) (*(const cwlearn_four *)(numbers))
#ifdef __AVX__ /* one instruction; gcc makes seven of the list below */
#define cwlearn_load_float(numbers) ((cwlearn_four)_mm256_cvtps_pd(_mm_loadu_ps(numbers)))
#else
#define cwlearn_load_float(numbers) ((cwlearn_four){(numbers)[0], (numbers)[1], (numbers)[2], (numbers)[3]})
#endif

/* The part of a cell from the means of some labels on that is theirs: as long as their means and variances. */
#define CWLEARN_PREFETCH_PART(type, cell, n_labels) do { \
    const char *const part = (const char *)(cell); \
    CWLEARN_UNROLLED \
    for (int at = 0; at < (int)(2 * (n_labels) * sizeof(type)); at += 64) \
        cwlearn_prefetch(part + at); \
} while (0)

#define CWLEARN_TILE(type, W) \
__attribute__((noinline)) static void cwlearn_tile_##type##_##W( \
        double *scores, const type *cells, const int64_t *cell, const double *x, Py_ssize_t n, \
        const int64_t *ahead, Py_ssize_t first) { \
    cwlearn_four even[W], odd[W]; \
    for (int w = 0; w < W; w++) \
        even[w] = odd[w] = (cwlearn_four){0, 0, 0, 0}; \
    Py_ssize_t p = 0; \
    for (; p + 1 < n; p += 2) { \
        const type *a = cells + cell[p], *b = cells + cell[p + 1]; \
        if (ahead) { \
            CWLEARN_PREFETCH_PART(type, cells + first + ahead[p], 4 * W); \
            CWLEARN_PREFETCH_PART(type, cells + first + ahead[p + 1], 4 * W); \
        } \
        for (int w = 0; w < W; w++) { \
            even[w] += x[p] * cwlearn_load_##type(a + 4 * w); \
            odd[w] += x[p + 1] * cwlearn_load_##type(b + 4 * w); \
        } \
    } \
    if (p < n) \
        for (int w = 0; w < W; w++) \
            even[w] += x[p] * cwlearn_load_##type(cells + cell[p] + 4 * w); \
    for (int w = 0; w < W; w++) \
        *(cwlearn_four *)(scores + 4 * w) = even[w] + odd[w]; \
}

#define CWLEARN_SCORES(type) \
CWLEARN_TILE(type, 1) \
CWLEARN_TILE(type, 2) \
CWLEARN_TILE(type, 3) \
CWLEARN_TILE(type, 4) \
CWLEARN_TILE(type, 5) \
static void cwlearn_scores_##type( \
        double *scores, const type *cells, const int64_t *cell, const double *x, Py_ssize_t n, const int64_t *ahead, \
        Py_ssize_t n_labels) { \
    static void (*const tiles[])(double *, const type *, const int64_t *, const double *, Py_ssize_t, \
                                 const int64_t *, Py_ssize_t) = { \
        cwlearn_tile_##type##_1, cwlearn_tile_##type##_2, cwlearn_tile_##type##_3, cwlearn_tile_##type##_4, \
        cwlearn_tile_##type##_5, \
    }; \
    for (Py_ssize_t left = (n_labels + 3) / 4, z = 0; left > 0;) { \
        const Py_ssize_t parts = (left + 4) / 5, width = (left + parts - 1) / parts; \
        tiles[width - 1](scores + z, cells + z, cell, x, n, ahead, z); \
        z += 4 * width; \
        left -= width; \
    } \
}

#else

#define CWLEARN_SCORES(type) \
static void cwlearn_scores_##type( \
        double *scores, const type *cells, const int64_t *cell, const double *x, Py_ssize_t n, const int64_t *ahead, \
        Py_ssize_t n_labels) { \
    for (Py_ssize_t z = 0; z < n_labels; z++) { \
        double even = 0, odd = 0; \
        for (Py_ssize_t p = 0; p < n; p += 2) \
            even += x[p] * cells[cell[p] + z]; \
        for (Py_ssize_t p = 1; p < n; p += 2) \
            odd += x[p] * cells[cell[p] + z]; \
        scores[z] = even + odd; \
    } \
}

#endif

CWLEARN_SCORES(float)
CWLEARN_SCORES(double)

#if defined(__AVX2__) && defined(__x86_64__)
/* With AVX-512 eight labels fill a vector, and up to 64 are summed together.  `last` are those of the last one.  Every x
   must be a float: then a product is exact in double, and adding it without rounding it first changes no bit. */
#define CWLEARN_WIDE_TILE(W) \
__attribute__((noinline, target("avx512f,avx512vl"))) static void cwlearn_wide_tile_##W( \
        double *scores, const float *cells, const int64_t *cell, const double *x, Py_ssize_t n, const int64_t *ahead, \
        Py_ssize_t first, __mmask8 last) { \
    __m512d even[W], odd[W]; \
    CWLEARN_UNROLLED \
    for (int w = 0; w < W; w++) \
        even[w] = odd[w] = _mm512_setzero_pd(); \
    Py_ssize_t p = 0; \
    CWLEARN_NOT_UNROLLED \
    for (; p + 1 < n; p += 2) { \
        const float *a = cells + cell[p], *b = cells + cell[p + 1]; \
        const __m512d xa = _mm512_set1_pd(x[p]), xb = _mm512_set1_pd(x[p + 1]); \
        if (ahead) { \
            CWLEARN_PREFETCH_PART(float, cells + first + ahead[p], 8 * W); \
            CWLEARN_PREFETCH_PART(float, cells + first + ahead[p + 1], 8 * W); \
        } \
        CWLEARN_UNROLLED \
        for (int w = 0; w < W; w++) { \
            even[w] = _mm512_fmadd_pd(xa, CWLEARN_EIGHT(a, w, W), even[w]); \
            odd[w] = _mm512_fmadd_pd(xb, CWLEARN_EIGHT(b, w, W), odd[w]); \
        } \
    } \
    if (p < n) { \
        const float *a = cells + cell[p]; \
        const __m512d xa = _mm512_set1_pd(x[p]); \
        CWLEARN_UNROLLED \
        for (int w = 0; w < W; w++) \
            even[w] = _mm512_fmadd_pd(xa, CWLEARN_EIGHT(a, w, W), even[w]); \
    } \
    CWLEARN_UNROLLED \
    for (int w = 0; w < W - 1; w++) \
        _mm512_storeu_pd(scores + 8 * w, _mm512_add_pd(even[w], odd[w])); \
    _mm512_mask_storeu_pd(scores + 8 * (W - 1), last, _mm512_add_pd(even[W - 1], odd[W - 1])); \
}
#define CWLEARN_EIGHT(numbers, w, W) \
    _mm512_cvtps_pd((w) < W - 1 ? _mm256_loadu_ps((numbers) + 8 * (w)) : _mm256_maskz_loadu_ps(last, (numbers) + 8 * (w)))

CWLEARN_WIDE_TILE(1)
CWLEARN_WIDE_TILE(2)
CWLEARN_WIDE_TILE(3)
CWLEARN_WIDE_TILE(4)
CWLEARN_WIDE_TILE(5)
CWLEARN_WIDE_TILE(6)
CWLEARN_WIDE_TILE(7)
CWLEARN_WIDE_TILE(8)

static void cwlearn_wide_scores(
        double *scores, const float *cells, const int64_t *cell, const double *x, Py_ssize_t n, const int64_t *ahead,
        Py_ssize_t n_labels) {
    static void (*const tiles[])(double *, const float *, const int64_t *, const double *, Py_ssize_t, const int64_t *,
                                 Py_ssize_t, __mmask8) = {
        cwlearn_wide_tile_1, cwlearn_wide_tile_2, cwlearn_wide_tile_3, cwlearn_wide_tile_4,
        cwlearn_wide_tile_5, cwlearn_wide_tile_6, cwlearn_wide_tile_7, cwlearn_wide_tile_8,
    };
    for (Py_ssize_t left = (n_labels + 7) / 8, z = 0; left > 0;) {
        const Py_ssize_t parts = (left + 7) / 8, width = (left + parts - 1) / parts;
        const __mmask8 last = left == width && n_labels % 8 ? (__mmask8)((1 << n_labels % 8) - 1) : 255;
        tiles[width - 1](scores + z, cells + z, cell, x, n, ahead, z, last);
        z += 8 * width;
        left -= width;
    }
}
#define cwlearn_has_wide_scores() (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"))
#else
#define cwlearn_wide_scores cwlearn_scores_float
#define cwlearn_has_wide_scores() 0
#endif


