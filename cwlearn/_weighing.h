/* What makes weights of cells that hold sums of gradients: `weight_of` of _cells.pxd, for four weights at once. */

#ifndef CWLEARN_WEIGHING
#define CWLEARN_WEIGHING

typedef struct {
    double threshold, rate, damping;
} cwlearn_weighing;

#if defined(__AVX__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

static inline __m256d cwlearn_weights(__m256d totals, __m256d roots, const cwlearn_weighing *by) {
    const __m256d high = _mm256_set1_pd(by->threshold), low = _mm256_set1_pd(-by->threshold);
    const __m256d kept = _mm256_max_pd(_mm256_min_pd(totals, high), low);
    return _mm256_set1_pd(by->rate) * (totals - kept) / (_mm256_set1_pd(by->damping) + roots);
}
#endif

#endif
