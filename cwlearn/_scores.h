/* The scores of several labels for one row: for each label z, the sum over the features p of x[p] * mean[z].  The means
   are the first numbers of a cell of `stride` numbers.

   Up to 20 labels are summed together, four in a vector; their sums stay in registers during the loop over features.
   Each label has two sums, of the even and of the odd features, because an addition waits for the one before it.  The
   sum of a label depends neither on the labels summed with it nor on the processor.  Each step prefetches cells that a
   later row needs (`ahead`, or NULL).  `scores` has room for a multiple of four; the numbers beyond the labels are
   meaningless sums of variances. */

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

#define CWLEARN_TILE(type, W) \
__attribute__((noinline)) static void cwlearn_tile_##type##_##W( \
        double *scores, const type *cells, Py_ssize_t stride, const int64_t *cell, const double *x, Py_ssize_t n, \
        const int64_t *ahead, Py_ssize_t lines) { \
    cwlearn_four even[W], odd[W]; \
    for (int w = 0; w < W; w++) \
        even[w] = odd[w] = (cwlearn_four){0, 0, 0, 0}; \
    Py_ssize_t p = 0; \
    for (; p + 1 < n; p += 2) { \
        const type *a = cells + stride * cell[p], *b = cells + stride * cell[p + 1]; \
        for (Py_ssize_t line = 0; line < lines; line++) { \
            cwlearn_prefetch((const char *)(cells + stride * ahead[p]) + 64 * line); \
            cwlearn_prefetch((const char *)(cells + stride * ahead[p + 1]) + 64 * line); \
        } \
        for (int w = 0; w < W; w++) { \
            even[w] += x[p] * cwlearn_load_##type(a + 4 * w); \
            odd[w] += x[p + 1] * cwlearn_load_##type(b + 4 * w); \
        } \
    } \
    if (p < n) \
        for (int w = 0; w < W; w++) \
            even[w] += x[p] * cwlearn_load_##type(cells + stride * cell[p] + 4 * w); \
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
        double *scores, const type *cells, Py_ssize_t stride, const int64_t *cell, const double *x, Py_ssize_t n, \
        const int64_t *ahead, Py_ssize_t n_labels) { \
    static void (*const tiles[])(double *, const type *, Py_ssize_t, const int64_t *, const double *, Py_ssize_t, \
                                 const int64_t *, Py_ssize_t) = { \
        cwlearn_tile_##type##_1, cwlearn_tile_##type##_2, cwlearn_tile_##type##_3, cwlearn_tile_##type##_4, \
        cwlearn_tile_##type##_5, \
    }; \
    Py_ssize_t lines = ahead ? (stride * (Py_ssize_t)sizeof(type) + 63) / 64 : 0; /* of a whole cell */ \
    for (Py_ssize_t left = (n_labels + 3) / 4; left > 0; lines = 0) { \
        const Py_ssize_t parts = (left + 4) / 5, width = (left + parts - 1) / parts; \
        tiles[width - 1](scores, cells, stride, cell, x, n, ahead, lines); \
        scores += 4 * width; \
        cells += 4 * width; \
        left -= width; \
    } \
}

#else

#define CWLEARN_SCORES(type) \
static void cwlearn_scores_##type( \
        double *scores, const type *cells, Py_ssize_t stride, const int64_t *cell, const double *x, Py_ssize_t n, \
        const int64_t *ahead, Py_ssize_t n_labels) { \
    for (Py_ssize_t z = 0; z < n_labels; z++) { \
        double even = 0, odd = 0; \
        for (Py_ssize_t p = 0; p < n; p += 2) \
            even += x[p] * cells[stride * cell[p] + z]; \
        for (Py_ssize_t p = 1; p < n; p += 2) \
            odd += x[p] * cells[stride * cell[p] + z]; \
        scores[z] = even + odd; \
    } \
}

#endif

CWLEARN_SCORES(float)
CWLEARN_SCORES(double)
