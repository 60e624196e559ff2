/* Where the cells of a row begin in the state: column j at (j + 1) * size, behind the intercept.  Columns are read once,
   because other threads may change them.  Sizes have 32 bits. */

#include <stdint.h>
#include "_loops.h"

/* The cells of `n` columns; false if one is not below `n_features`, a product with `size` that fits 63 bits. */
#define CWLEARN_FIND_CELLS(index) \
static int cwlearn_find_cells_##index( \
        int64_t *cell, const index *columns, Py_ssize_t n, uint64_t n_features, int64_t size) { \
    Py_ssize_t k = 0; \
    int sound = 1; \
    CWLEARN_FIND_FOURS_##index \
    CWLEARN_NOT_UNROLLED \
    for (; k < n; k++) { \
        const uint64_t j = (uint64_t)(int64_t)columns[k]; \
        sound &= j < n_features; \
        cell[k] = (int64_t)((j + 1) * (uint64_t)size); \
    } \
    return sound; \
}

#if defined(__AVX2__) && (defined(__GNUC__) || defined(__clang__))
#include <immintrin.h>

/* The compiler would multiply 64 bits by 64 bits. */
#define CWLEARN_FIND_FOURS_int32_t \
    const uint64_t most = n_features < (uint64_t)1 << 31 ? n_features : (uint64_t)1 << 31; \
    const __m128i end = _mm_set1_epi32((int32_t)(uint32_t)most); \
    const __m256i sizes = _mm256_set1_epi64x(size); \
    __m128i outside = _mm_setzero_si128(); \
    CWLEARN_NOT_UNROLLED \
    for (; k + 4 <= n; k += 4) { \
        const __m128i j = _mm_loadu_si128((const __m128i *)(columns + k)); \
        outside = _mm_or_si128(outside, _mm_cmpeq_epi32(_mm_max_epu32(j, end), j)); \
        _mm256_storeu_si256((__m256i *)(cell + k), _mm256_add_epi64( \
            _mm256_mul_epu32(_mm256_cvtepu32_epi64(j), sizes), sizes)); \
    } \
    sound = _mm_testz_si128(outside, outside);
#define CWLEARN_FIND_FOURS_int64_t
#else
#define CWLEARN_FIND_FOURS_int32_t
#define CWLEARN_FIND_FOURS_int64_t
#endif

CWLEARN_FIND_CELLS(int32_t)
CWLEARN_FIND_CELLS(int64_t)
