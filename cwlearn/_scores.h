/* The scores of several labels for one row: for each label z, the sum over the features p of x[p] * cells[place[p] + z].

   Labels are taken 16, 8 or 4 at a time, whose sums stay in registers while the features go by; two sums for each, one of
   the even and one of the odd features, since additions wait for each other.  The sum of a label does not depend on which
   others are taken with it, nor on the processor.  Each step asks for the cells that a later row will need. */

#if defined(__GNUC__) || defined(__clang__)

#ifdef __AVX__
#include <immintrin.h>
#endif

typedef double cwlearn_four __attribute__((vector_size(32), aligned(8)));

static inline cwlearn_four cwlearn_load_double(const double *numbers) {
    return *(const cwlearn_four *)numbers;
}

static inline cwlearn_four cwlearn_load_float(const float *numbers) {
#ifdef __AVX__ /* one instruction; gcc makes seven of the list below */
    return (cwlearn_four)_mm256_cvtps_pd(_mm_loadu_ps(numbers));
#else
    return (cwlearn_four){numbers[0], numbers[1], numbers[2], numbers[3]};
#endif
}

#define CWLEARN_TILE(type, W) \
__attribute__((noinline)) static void cwlearn_tile_##type##_##W( \
        double *scores, const type *cells, const Py_ssize_t *place, const double *x, Py_ssize_t n, \
        const Py_ssize_t *ahead, Py_ssize_t lines) { \
    cwlearn_four even[W / 4], odd[W / 4]; \
    for (int w = 0; w < W / 4; w++) \
        even[w] = odd[w] = (cwlearn_four){0, 0, 0, 0}; \
    Py_ssize_t p = 0; \
    for (; p + 1 < n; p += 2) { \
        const type *a = cells + place[p], *b = cells + place[p + 1]; \
        for (Py_ssize_t line = 0; line < lines; line++) { \
            cwlearn_prefetch((const char *)(cells + ahead[p]) + 64 * line); \
            cwlearn_prefetch((const char *)(cells + ahead[p + 1]) + 64 * line); \
        } \
        for (int w = 0; w < W / 4; w++) { \
            even[w] += x[p] * cwlearn_load_##type(a + 4 * w); \
            odd[w] += x[p + 1] * cwlearn_load_##type(b + 4 * w); \
        } \
    } \
    if (p < n) \
        for (int w = 0; w < W / 4; w++) \
            even[w] += x[p] * cwlearn_load_##type(cells + place[p] + 4 * w); \
    for (int w = 0; w < W / 4; w++) \
        *(cwlearn_four *)(scores + 4 * w) = even[w] + odd[w]; \
}
CWLEARN_TILE(float, 4)
CWLEARN_TILE(float, 8)
CWLEARN_TILE(float, 16)
CWLEARN_TILE(double, 4)
CWLEARN_TILE(double, 8)
CWLEARN_TILE(double, 16)

#define CWLEARN_SCORES(type) \
static void cwlearn_scores_##type( \
        double *scores, const type *cells, const Py_ssize_t *place, const double *x, Py_ssize_t n, \
        const Py_ssize_t *ahead, Py_ssize_t n_labels) { \
    Py_ssize_t z = 0, lines = ahead ? (2 * n_labels * (Py_ssize_t)sizeof(type) + 63) / 64 : 0; \
    for (; z + 16 <= n_labels; z += 16, lines = 0) /* the first one asks for whole cells */ \
        cwlearn_tile_##type##_16(scores + z, cells + z, place, x, n, ahead, lines); \
    for (; z + 8 <= n_labels; z += 8, lines = 0) \
        cwlearn_tile_##type##_8(scores + z, cells + z, place, x, n, ahead, lines); \
    for (; z + 4 <= n_labels; z += 4, lines = 0) \
        cwlearn_tile_##type##_4(scores + z, cells + z, place, x, n, ahead, lines); \
    if (z < n_labels && n_labels > 4) { /* what is left: the last four, some of them once more */ \
        z = n_labels - 4; \
        cwlearn_tile_##type##_4(scores + z, cells + z, place, x, n, ahead, lines); \
    } else if (z < n_labels) { /* three labels: a fourth number, a variance, is of no use */ \
        double four[4]; \
        cwlearn_tile_##type##_4(four, cells, place, x, n, ahead, lines); \
        for (; z < n_labels; z++) \
            scores[z] = four[z]; \
    } \
}

#else

#define CWLEARN_SCORES(type) \
static void cwlearn_scores_##type( \
        double *scores, const type *cells, const Py_ssize_t *place, const double *x, Py_ssize_t n, \
        const Py_ssize_t *ahead, Py_ssize_t n_labels) { \
    for (Py_ssize_t z = 0; z < n_labels; z++) { \
        double even = 0, odd = 0; \
        for (Py_ssize_t p = 0; p < n; p += 2) \
            even += x[p] * cells[place[p] + z]; \
        for (Py_ssize_t p = 1; p < n; p += 2) \
            odd += x[p] * cells[place[p] + z]; \
        scores[z] = even + odd; \
    } \
}

#endif

CWLEARN_SCORES(float)
CWLEARN_SCORES(double)
