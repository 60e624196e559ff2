/* As _scores.h, for cells that hold sums of gradients and then the roots of the sums of their squares: a weight is
   `weight_of` of _cells.pxd, found for four labels at once.  The functions return how many labels they have summed: the
   roots of a fourth label beyond the last one would be read beyond the last cell, so those behind the last four are
   left to the caller. */

#include "_weighing.h"

#if defined(__GNUC__) || defined(__clang__)

typedef int64_t cwlearn_mask __attribute__((vector_size(32), aligned(8)));

/* Make weights of totals. */
static inline void cwlearn_weigh(cwlearn_four *totals, const cwlearn_four *roots, const cwlearn_weighing *by) {
#ifdef __AVX__
    *totals = (cwlearn_four)cwlearn_weights((__m256d)*totals, (__m256d)*roots, by);
#else
    const double t = by->threshold;
    const cwlearn_four total = *totals, high = {t, t, t, t};
    const cwlearn_mask below = total < high, above = total > -high;
    const cwlearn_four kept = (cwlearn_four)((below & above & (cwlearn_mask)total) | (~below & (cwlearn_mask)high)
                                             | (~above & (cwlearn_mask)-high));
    *totals = by->rate * (total - kept) / (by->damping + *roots);
#endif
}

#define CWLEARN_GRADIENT_TILE(type, W) \
__attribute__((noinline)) static void cwlearn_gradient_tile_##type##_##W( \
        double *scores, const type *cells, Py_ssize_t n_labels, const int64_t *cell, const double *x, Py_ssize_t n, \
        const int64_t *ahead, Py_ssize_t lines, cwlearn_weighing by) { \
    cwlearn_four sums[2][W]; \
    for (int w = 0; w < W; w++) \
        sums[0][w] = sums[1][w] = (cwlearn_four){0, 0, 0, 0}; \
    for (Py_ssize_t p = 0; p < n; p += 2) \
        for (Py_ssize_t q = 0; q < 2 && p + q < n; q++) { \
            const type *total = cells + cell[p + q], *root = total + n_labels; \
            for (Py_ssize_t line = 0; line < lines; line++) \
                cwlearn_prefetch((const char *)(cells + ahead[p + q]) + 64 * line); \
            for (int w = 0; w < W; w++) { \
                cwlearn_four weights = cwlearn_load_##type(total + 4 * w), roots = cwlearn_load_##type(root + 4 * w); \
                cwlearn_weigh(&weights, &roots, &by); \
                sums[q][w] += x[p + q] * weights; \
            } \
        } \
    for (int w = 0; w < W; w++) \
        *(cwlearn_four *)(scores + 4 * w) = sums[0][w] + sums[1][w]; \
}

#define CWLEARN_GRADIENT_SCORES(type) \
CWLEARN_GRADIENT_TILE(type, 1) \
CWLEARN_GRADIENT_TILE(type, 5) \
static Py_ssize_t cwlearn_gradient_scores_##type( \
        double *scores, const type *cells, Py_ssize_t n_labels, const int64_t *cell, const double *x, Py_ssize_t n, \
        const int64_t *ahead, cwlearn_weighing by) { \
    Py_ssize_t z = 0, lines = ahead ? (2 * n_labels * (Py_ssize_t)sizeof(type) + 63) / 64 : 0; /* of a whole cell */ \
    for (; z + 20 <= n_labels; z += 20, lines = 0) \
        cwlearn_gradient_tile_##type##_5(scores + z, cells + z, n_labels, cell, x, n, ahead, lines, by); \
    for (; z + 4 <= n_labels; z += 4, lines = 0) \
        cwlearn_gradient_tile_##type##_1(scores + z, cells + z, n_labels, cell, x, n, ahead, lines, by); \
    return z; \
}

#else

#define CWLEARN_GRADIENT_SCORES(type) \
static Py_ssize_t cwlearn_gradient_scores_##type( \
        double *scores, const type *cells, Py_ssize_t n_labels, const int64_t *cell, const double *x, Py_ssize_t n, \
        const int64_t *ahead, cwlearn_weighing by) { \
    return 0; \
}

#endif

CWLEARN_GRADIENT_SCORES(float)
CWLEARN_GRADIENT_SCORES(double)
