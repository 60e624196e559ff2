/* The labels in the order of their scores, of equal ones the lower one first. */

#include <math.h>
#include "_loops.h"

/* Whether all numbers are finite; without a branch, so that the compiler takes several at a time. */
static int cwlearn_all_finite(const double *numbers, Py_ssize_t n) {
    int finite = 1;
    for (Py_ssize_t k = 0; k < n; k++)
        finite &= isfinite(numbers[k]) != 0;
    return finite;
}

/* The label that comes next after `before`, whose score is `limit` (at first: -1 and infinity), without the label
   `out`.  Scores are finite; there is room for a multiple of four, and what is behind the last one is set. */
#if defined(__AVX2__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

static Py_ssize_t cwlearn_next_label(
        double *scores, Py_ssize_t n, Py_ssize_t out, Py_ssize_t before, double limit) {
    const __m256d limits = _mm256_set1_pd(limit), nothing = _mm256_set1_pd(-INFINITY), four = _mm256_set1_pd(4);
    const __m256d excluded = _mm256_set1_pd((double)out), last = _mm256_set1_pd((double)before);
    __m256d label = _mm256_setr_pd(0, 1, 2, 3), best = nothing, best_label = label;
    for (Py_ssize_t z = n; z % 4; z++)
        scores[z] = -INFINITY;
    CWLEARN_NOT_UNROLLED
    for (Py_ssize_t z = 0; z < n; z += 4) {
        const __m256d score = _mm256_loadu_pd(scores + z);
        const __m256d tied = _mm256_and_pd(
            _mm256_cmp_pd(score, limits, _CMP_EQ_OQ), _mm256_cmp_pd(label, last, _CMP_GT_OQ));
        const __m256d behind = _mm256_or_pd(_mm256_cmp_pd(score, limits, _CMP_LT_OQ), tied);
        const __m256d left = _mm256_andnot_pd(_mm256_cmp_pd(label, excluded, _CMP_EQ_OQ), behind);
        const __m256d higher = _mm256_and_pd(left, _mm256_cmp_pd(score, best, _CMP_GT_OQ));
        best = _mm256_blendv_pd(best, score, higher);
        best_label = _mm256_blendv_pd(best_label, label, higher);
        label = _mm256_add_pd(label, four);
    }
    {   /* the highest of four scores, and the lowest of the labels that have it */
        __m256d top = _mm256_max_pd(best, _mm256_permute2f128_pd(best, best, 1));
        top = _mm256_max_pd(top, _mm256_permute_pd(top, 5));
        best_label = _mm256_blendv_pd(_mm256_set1_pd(INFINITY), best_label, _mm256_cmp_pd(best, top, _CMP_EQ_OQ));
        best_label = _mm256_min_pd(best_label, _mm256_permute2f128_pd(best_label, best_label, 1));
        best_label = _mm256_min_pd(best_label, _mm256_permute_pd(best_label, 5));
    }
    return (Py_ssize_t)_mm256_cvtsd_f64(best_label);
}

#else

static Py_ssize_t cwlearn_next_label(
        double *scores, Py_ssize_t n, Py_ssize_t out, Py_ssize_t before, double limit) {
    Py_ssize_t best = -1;
    for (Py_ssize_t z = 0; z < n; z++)
        if (z != out && (scores[z] < limit || (scores[z] == limit && z > before)))
            if (best < 0 || scores[z] > scores[best])
                best = z;
    return best;
}

#endif
