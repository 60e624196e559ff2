/* The check of a row, in one pass over its columns and values: whether the columns rise strictly, and the sum of the
   squares of the values, with the bits of `squared_length` in _squares.pxd (four sums, in the same order).  With AVX2,
   entries go eight at a time; the loop is not unrolled, because the processor predicts the end of a short one better. */

#include <stdint.h>

#include "_prefetch.h"

#if defined(__AVX2__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

#define CWLEARN_CHECKS_AT_ONCE 1
#define CWLEARN_CHECKS_AHEAD 2048 /* bytes */
#ifdef __clang__
#define CWLEARN_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define CWLEARN_ROLLED _Pragma("GCC unroll 1")
#endif

/* All bits set where one of some columns does not exceed the one before it. */
#define CWLEARN_FALLS_int32_t(c) _mm256_xor_si256(_mm256_set1_epi32(-1), \
    _mm256_cmpgt_epi32(_mm256_loadu_si256((const __m256i *)(c)), _mm256_loadu_si256((const __m256i *)((c) - 1))))
#define CWLEARN_FOUR_FALL(c) \
    _mm256_cmpgt_epi64(_mm256_loadu_si256((const __m256i *)(c)), _mm256_loadu_si256((const __m256i *)((c) - 1)))
#define CWLEARN_FALLS_int64_t(c) \
    _mm256_xor_si256(_mm256_set1_epi32(-1), _mm256_and_si256(CWLEARN_FOUR_FALL(c), CWLEARN_FOUR_FALL((c) + 4)))
#define CWLEARN_WIDE_float(v) _mm256_cvtps_pd(_mm_loadu_ps(v))
#define CWLEARN_WIDE_double(v) _mm256_loadu_pd(v)

/* The first column has none before it, so columns are compared from the second one on, and the last ones once more. */
#define CWLEARN_CHECK(type, index) \
static int cwlearn_check_##type##_##index( \
        const index *columns, const type *values, Py_ssize_t n, double *square) { \
    __m256i falls = _mm256_setzero_si256(); \
    __m256d sums = _mm256_setzero_pd(); \
    double four[4]; \
    int disordered = 0; \
    Py_ssize_t k; \
    CWLEARN_ROLLED \
    for (k = 0; k + 9 <= n; k += 8) { \
        const __m256d a = CWLEARN_WIDE_##type(values + k), b = CWLEARN_WIDE_##type(values + k + 4); \
        cwlearn_prefetch((const char *)(columns + k) + CWLEARN_CHECKS_AHEAD); \
        cwlearn_prefetch((const char *)(values + k) + CWLEARN_CHECKS_AHEAD); \
        falls = _mm256_or_si256(falls, CWLEARN_FALLS_##index(columns + k + 1)); \
        sums = sums + a * a; \
        sums = sums + b * b; \
    } \
    if (n >= 9) \
        falls = _mm256_or_si256(falls, CWLEARN_FALLS_##index(columns + n - 8)); \
    else \
        for (Py_ssize_t p = 1; p < n; p++) \
            disordered |= columns[p] <= columns[p - 1]; \
    for (; k + 4 <= n; k += 4) { \
        const __m256d a = CWLEARN_WIDE_##type(values + k); \
        sums = sums + a * a; \
    } \
    _mm256_storeu_pd(four, sums); \
    for (; k < n; k++) \
        four[0] += (double)values[k] * values[k]; \
    *square = (four[0] + four[1]) + (four[2] + four[3]); \
    return !disordered && _mm256_testz_si256(falls, falls); \
}
#else
#define CWLEARN_CHECKS_AT_ONCE 0
#define CWLEARN_CHECK(type, index) \
static int cwlearn_check_##type##_##index( \
        const index *columns, const type *values, Py_ssize_t n, double *square) { \
    return 0; \
}
#endif

CWLEARN_CHECK(float, int32_t)
CWLEARN_CHECK(float, int64_t)
CWLEARN_CHECK(double, int32_t)
CWLEARN_CHECK(double, int64_t)
