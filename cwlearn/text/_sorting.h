/* Sorting of keys, eight at a time (AVX2): no branch depends on a key, as no processor would foresee it. */
#ifndef CWLEARN_SORTING_H
#define CWLEARN_SORTING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CWLEARN_MOST_SORTED 2048        /* keys at once */

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define CWLEARN_AVX2_INLINE static inline __attribute__((always_inline, target("avx2")))
typedef __m256i cwlearn_eight;

/* A sorting network (Batcher, "Sorting networks and their applications", AFIPS 1968).  The keys stand in rows of eight, whose
   columns are sorted first, all at once.  Then columns are merged: two of them, two pairs, two fours, so that in the end the
   keys rise within each column, and from column to column.  The number of rows is a power of two, at least eight. */
#define CWLEARN_EXCHANGE(a, b) \
    do { \
        const cwlearn_eight least = _mm256_min_epu32(a, b); \
        b = _mm256_max_epu32(a, b); \
        a = least; \
    } while (0)
#define CWLEARN_LOAD(row) _mm256_load_si256(row)
#define CWLEARN_STORE(row, eight) _mm256_store_si256(row, eight)
#define CWLEARN_LOAD_ROWS \
    cwlearn_eight a = CWLEARN_LOAD(row), b = CWLEARN_LOAD(row + 1), c = CWLEARN_LOAD(row + 2), d = CWLEARN_LOAD(row + 3), \
                  e = CWLEARN_LOAD(row + 4), f = CWLEARN_LOAD(row + 5), g = CWLEARN_LOAD(row + 6), h = CWLEARN_LOAD(row + 7)
#define CWLEARN_STORE_ROWS \
    CWLEARN_STORE(row, a), CWLEARN_STORE(row + 1, b), CWLEARN_STORE(row + 2, c), CWLEARN_STORE(row + 3, d), \
    CWLEARN_STORE(row + 4, e), CWLEARN_STORE(row + 5, f), CWLEARN_STORE(row + 6, g), CWLEARN_STORE(row + 7, h)

CWLEARN_AVX2_INLINE void cwlearn_exchange_rows(cwlearn_eight *one, cwlearn_eight *other) {
    cwlearn_eight a = CWLEARN_LOAD(one), b = CWLEARN_LOAD(other);
    CWLEARN_EXCHANGE(a, b);
    CWLEARN_STORE(one, a);
    CWLEARN_STORE(other, b);
}

/* Sort the columns of eight rows. */
CWLEARN_AVX2_INLINE void cwlearn_sort_rows(cwlearn_eight *row) {
    CWLEARN_LOAD_ROWS;
    CWLEARN_EXCHANGE(a, c); CWLEARN_EXCHANGE(b, d); CWLEARN_EXCHANGE(e, g); CWLEARN_EXCHANGE(f, h);
    CWLEARN_EXCHANGE(a, e); CWLEARN_EXCHANGE(b, f); CWLEARN_EXCHANGE(c, g); CWLEARN_EXCHANGE(d, h);
    CWLEARN_EXCHANGE(a, b); CWLEARN_EXCHANGE(c, d); CWLEARN_EXCHANGE(e, f); CWLEARN_EXCHANGE(g, h);
    CWLEARN_EXCHANGE(c, e); CWLEARN_EXCHANGE(d, f);
    CWLEARN_EXCHANGE(b, e); CWLEARN_EXCHANGE(d, g);
    CWLEARN_EXCHANGE(b, c); CWLEARN_EXCHANGE(d, e); CWLEARN_EXCHANGE(f, g);
    CWLEARN_STORE_ROWS;
}

/* Sort columns that are bitonic. */
CWLEARN_AVX2_INLINE void cwlearn_clean(cwlearn_eight *rows, int n) {
    int step, first, i;
    for (step = n / 2; step >= 16; step /= 4)        /* two steps at once: `step`, and half of it */
        for (first = 0; first < n; first += 2 * step)
            for (i = first; i < first + step / 2; i++) {
                cwlearn_eight a = CWLEARN_LOAD(rows + i), b = CWLEARN_LOAD(rows + i + step / 2);
                cwlearn_eight c = CWLEARN_LOAD(rows + i + step), d = CWLEARN_LOAD(rows + i + step + step / 2);
                CWLEARN_EXCHANGE(a, c); CWLEARN_EXCHANGE(b, d);
                CWLEARN_EXCHANGE(a, b); CWLEARN_EXCHANGE(c, d);
                CWLEARN_STORE(rows + i, a), CWLEARN_STORE(rows + i + step / 2, b);
                CWLEARN_STORE(rows + i + step, c), CWLEARN_STORE(rows + i + step + step / 2, d);
            }
    if (step == 8)
        for (first = 0; first < n; first += 16)
            for (i = first; i < first + 8; i++) cwlearn_exchange_rows(rows + i, rows + i + 8);
    for (first = 0; first < n; first += 8) {
        cwlearn_eight *row = rows + first;
        CWLEARN_LOAD_ROWS;
        CWLEARN_EXCHANGE(a, e); CWLEARN_EXCHANGE(b, f); CWLEARN_EXCHANGE(c, g); CWLEARN_EXCHANGE(d, h);
        CWLEARN_EXCHANGE(a, c); CWLEARN_EXCHANGE(b, d); CWLEARN_EXCHANGE(e, g); CWLEARN_EXCHANGE(f, h);
        CWLEARN_EXCHANGE(a, b); CWLEARN_EXCHANGE(c, d); CWLEARN_EXCHANGE(e, f); CWLEARN_EXCHANGE(g, h);
        CWLEARN_STORE_ROWS;
    }
}

/* Columns in another order: neighbours, pairs, or all of four or eight turned round. */
#define CWLEARN_NEIGHBOURS(x) _mm256_shuffle_epi32(x, 0xB1)
#define CWLEARN_PAIRS(x) _mm256_shuffle_epi32(x, 0x4E)
#define CWLEARN_FOUR_BACK(x) _mm256_shuffle_epi32(x, 0x1B)
#define CWLEARN_EIGHT_BACK(x) _mm256_permute4x64_epi64(_mm256_shuffle_epi32(x, 0x1B), 0x4E)
/* The lesser keys of two rows, or the greater ones in the columns of `upper`. */
#define CWLEARN_CHOOSE_KEYS(a, b, upper) _mm256_blend_epi32(_mm256_min_epu32(a, b), _mm256_max_epu32(a, b), upper)
/* The first step of a merge: the first row against the last one, and so on. */
#define CWLEARN_FOLD(order, upper) \
    for (i = 0; i < n / 2; i++) { \
        const cwlearn_eight a = CWLEARN_LOAD(rows + i), b = CWLEARN_LOAD(rows + n - 1 - i); \
        CWLEARN_STORE(rows + i, CWLEARN_CHOOSE_KEYS(a, order(b), upper)); \
        CWLEARN_STORE(rows + n - 1 - i, CWLEARN_CHOOSE_KEYS(b, order(a), upper)); \
    }

CWLEARN_AVX2_INLINE void cwlearn_sort_network(cwlearn_eight *rows, int n) {
    int size, first, i;
    for (first = 0; first < n; first += 8) cwlearn_sort_rows(rows + first);
    for (size = 16; size <= n; size *= 2)            /* two sorted columns become one, in which the second one stands below */
        for (first = 0; first < n; first += size) {
            for (i = 0; i < size / 2; i++) cwlearn_exchange_rows(rows + first + i, rows + first + size - 1 - i);
            cwlearn_clean(rows + first, size / 2);
            cwlearn_clean(rows + first + size / 2, size / 2);
        }
    CWLEARN_FOLD(CWLEARN_NEIGHBOURS, 0xAA);
    cwlearn_clean(rows, n);
    CWLEARN_FOLD(CWLEARN_FOUR_BACK, 0xCC);
    for (i = 0; i < n; i++) {
        const cwlearn_eight a = CWLEARN_LOAD(rows + i);
        CWLEARN_STORE(rows + i, CWLEARN_CHOOSE_KEYS(a, CWLEARN_NEIGHBOURS(a), 0xAA));
    }
    cwlearn_clean(rows, n);
    CWLEARN_FOLD(CWLEARN_EIGHT_BACK, 0xF0);
    for (i = 0; i < n; i++) {
        cwlearn_eight a = CWLEARN_LOAD(rows + i);
        a = CWLEARN_CHOOSE_KEYS(a, CWLEARN_PAIRS(a), 0xCC);
        CWLEARN_STORE(rows + i, CWLEARN_CHOOSE_KEYS(a, CWLEARN_NEIGHBOURS(a), 0xAA));
    }
    cwlearn_clean(rows, n);
}

/* Write the columns of eight rows, one after the other, `n` apart. */
CWLEARN_AVX2_INLINE void cwlearn_transpose(uint32_t *out, const cwlearn_eight *row, int n) {
#define CWLEARN_WRITE(column, low, high, halves) \
    _mm256_storeu_si256((cwlearn_eight *) (out + (column) * n), _mm256_permute2x128_si256(low, high, halves))
    CWLEARN_LOAD_ROWS;
    const cwlearn_eight ab = _mm256_unpacklo_epi32(a, b), ab2 = _mm256_unpackhi_epi32(a, b);
    const cwlearn_eight cd = _mm256_unpacklo_epi32(c, d), cd2 = _mm256_unpackhi_epi32(c, d);
    const cwlearn_eight ef = _mm256_unpacklo_epi32(e, f), ef2 = _mm256_unpackhi_epi32(e, f);
    const cwlearn_eight gh = _mm256_unpacklo_epi32(g, h), gh2 = _mm256_unpackhi_epi32(g, h);
    a = _mm256_unpacklo_epi64(ab, cd), b = _mm256_unpackhi_epi64(ab, cd);
    c = _mm256_unpacklo_epi64(ab2, cd2), d = _mm256_unpackhi_epi64(ab2, cd2);
    e = _mm256_unpacklo_epi64(ef, gh), f = _mm256_unpackhi_epi64(ef, gh);
    g = _mm256_unpacklo_epi64(ef2, gh2), h = _mm256_unpackhi_epi64(ef2, gh2);
    CWLEARN_WRITE(0, a, e, 0x20), CWLEARN_WRITE(1, b, f, 0x20), CWLEARN_WRITE(2, c, g, 0x20);
    CWLEARN_WRITE(3, d, h, 0x20), CWLEARN_WRITE(4, a, e, 0x31), CWLEARN_WRITE(5, b, f, 0x31);
    CWLEARN_WRITE(6, c, g, 0x31), CWLEARN_WRITE(7, d, h, 0x31);
#undef CWLEARN_WRITE
}

/* Write up to CWLEARN_MOST_SORTED keys in rising order, and the largest numbers behind them: there is room for 2 * n + 64. */
__attribute__((target("avx2"))) static inline void cwlearn_sort_avx2(uint32_t *out, const uint32_t *keys, ptrdiff_t n) {
    cwlearn_eight rows[CWLEARN_MOST_SORTED / 8];
    int i, n_rows = 8;
    while (8 * n_rows < n) n_rows *= 2;
    memcpy(rows, keys, n * sizeof *keys);
    memset((uint32_t *) rows + n, 255, (8 * n_rows - n) * sizeof *keys);        /* the largest keys */
    switch (n_rows) {                    /* constant arguments: the compiler makes loops for each */
        case 8: cwlearn_sort_network(rows, 8); break;
        case 16: cwlearn_sort_network(rows, 16); break;
        case 32: cwlearn_sort_network(rows, 32); break;
        case 64: cwlearn_sort_network(rows, 64); break;
        default: cwlearn_sort_network(rows, n_rows);
    }
    for (i = 0; i < n_rows; i += 8) cwlearn_transpose(out + i, rows + i, n_rows);
}
#define cwlearn_sort(out, keys, n) cwlearn_sort_avx2(out, keys, n)
#else
/* Never called. */
#define cwlearn_sort(out, keys, n) ((void) 0)
#endif

#endif
