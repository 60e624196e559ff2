/* Where tokens begin and end: what _tokens.pxi does with 64 bytes at once. */
#ifndef CWLEARN_EDGES_H
#define CWLEARN_EDGES_H

#include "_vectors.h"

/* Lower case and edges of up to `size` bytes, as far as they are ASCII: return how far that is.  Edges are the places at
   which tokens begin and end, in turn; one that is open at the end ends there.  `n_edges` says how many there are.  More than
   that are written: there is room for size + 80 of them, and for as many bytes in lower case. */
#define CWLEARN_EDGES(suffix, attributes, classify, write_places) \
attributes static ptrdiff_t cwlearn_edges##suffix( \
    uint32_t *edges, uint8_t *lowered, const uint8_t *p, ptrdiff_t size, int lowercase, int by_space, \
    ptrdiff_t *n_edges) { \
    uint64_t before = 0;                    /* 1: the byte before belongs to a token */ \
    ptrdiff_t at, n = 0; \
    for (at = 0; at < size; at += 64) { \
        uint64_t letters, others, changes; \
        if (size - at < 64) { \
            uint8_t rest[64] = {0}; \
            memcpy(rest, p + at, size - at); \
            letters = classify(rest, lowered + at, lowercase, by_space, &others); \
            letters &= ((uint64_t) 1 << (size - at)) - 1; \
        } else { \
            letters = classify(p + at, lowered + at, lowercase, by_space, &others); \
        } \
        if (others) { \
            letters &= ((uint64_t) 1 << cwlearn_first_bit(others)) - 1; \
            size = at + cwlearn_first_bit(others); \
        } \
        changes = letters ^ (letters << 1 | before); \
        before = letters >> 63; \
        n += write_places(edges + n, changes, (uint32_t) at); \
    } \
    if (before) edges[n++] = (uint32_t) size; \
    *n_edges = n; \
    return size; \
}
/* Write `first` + the place of each bit that is set; return how many there are. */
static inline ptrdiff_t cwlearn_write_places(uint32_t *places, uint64_t bits, uint32_t first) {
    ptrdiff_t n = 0;
    while (bits) {
        places[n++] = first + (uint32_t) cwlearn_first_bit(bits);
        bits &= bits - 1;
    }
    return n;
}
CWLEARN_EDGES(_anywhere, , cwlearn_classify, cwlearn_write_places)

#if defined(__GNUC__) && defined(__x86_64__)
/* As cwlearn_classify. */
__attribute__((target("avx2"))) static inline uint64_t cwlearn_classify_avx2(
    const uint8_t *p, uint8_t *lowered, int lowercase, int by_space, uint64_t *others) {
#define CWLEARN_BETWEEN(c, low, high) _mm256_and_si256( \
    _mm256_cmpgt_epi8(c, _mm256_set1_epi8((low) - 1)), _mm256_cmpgt_epi8(_mm256_set1_epi8((high) + 1), c))
    const __m256i bit = _mm256_set1_epi8(lowercase ? 0x20 : 0), fold = _mm256_set1_epi8(0x20);
    uint64_t letters = 0, high = 0;
    int k;
    for (k = 0; k < 2; k++) {
        const __m256i c = _mm256_loadu_si256((const __m256i *) (p + 32 * k));
        const uint32_t not_ascii = (uint32_t) _mm256_movemask_epi8(c);
        uint32_t found;
        _mm256_storeu_si256(
            (__m256i *) (lowered + 32 * k), _mm256_or_si256(c, _mm256_and_si256(bit, CWLEARN_BETWEEN(c, 'A', 'Z'))));
        if (by_space) {
            const __m256i space = _mm256_or_si256(
                _mm256_cmpeq_epi8(c, fold), _mm256_or_si256(CWLEARN_BETWEEN(c, 9, 13), CWLEARN_BETWEEN(c, 28, 31)));
            found = ~((uint32_t) _mm256_movemask_epi8(space) | not_ascii);
        } else {
            const __m256i word = _mm256_or_si256(
                CWLEARN_BETWEEN(_mm256_or_si256(c, fold), 'a', 'z'),
                _mm256_or_si256(CWLEARN_BETWEEN(c, '0', '9'), _mm256_cmpeq_epi8(c, _mm256_set1_epi8('_'))));
            found = (uint32_t) _mm256_movemask_epi8(word);
        }
        letters |= (uint64_t) found << 32 * k;
        high |= (uint64_t) not_ascii << 32 * k;
    }
    *others = high;
    return letters;
#undef CWLEARN_BETWEEN
}

__attribute__((target("avx2,popcnt"))) static inline ptrdiff_t cwlearn_write_places_avx2(
    uint32_t *places, uint64_t bits, uint32_t first) {
    ptrdiff_t n = 0;
    int k;
    for (k = 0; k < 8; k++) {               /* by byte; no branch depends on the bits */
        const unsigned byte = bits >> 8 * k & 255;
        const __m128i found = _mm_loadl_epi64((const __m128i *) &cwlearn_places_of_bits[byte]);
        _mm256_storeu_si256(
            (__m256i *) (places + n),
            _mm256_add_epi32(_mm256_cvtepu8_epi32(found), _mm256_set1_epi32((int) (first + 8 * k))));
        n += _mm_popcnt_u32(byte);
    }
    return n;
}
CWLEARN_EDGES(_avx2, __attribute__((target("avx2,popcnt"))), cwlearn_classify_avx2, cwlearn_write_places_avx2)
#endif
#define cwlearn_edges(...) CWLEARN_CHOOSE(cwlearn_edges, __VA_ARGS__)

#endif
