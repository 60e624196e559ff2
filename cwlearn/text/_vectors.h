/* What _hashing.pyx does with many bytes or hashes at once, in forms that compilers make vectors of. */
#ifndef CWLEARN_VECTORS_H
#define CWLEARN_VECTORS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(_MSC_VER)
#include <intrin.h>
static inline int cwlearn_first_bit(uint64_t word) {          /* of a word that is not 0 */
    unsigned long n;
    _BitScanForward64(&n, word);
    return (int) n;
}
#else
#define cwlearn_first_bit(word) __builtin_ctzll(word)
#endif

/* Classify 64 bytes: write them in lower case, if asked for; return a bit for each ASCII character of a token, the first
   one lowest, and set one in `others` for each byte that is not ASCII.  A token is made of what is not white space, or of
   letters, digits and the underscore. */
#if defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
static inline uint64_t cwlearn_classify(const uint8_t *p, uint8_t *lowered, int lowercase, int by_space, uint64_t *others) {
#define CWLEARN_BETWEEN(c, low, high) \
    _mm_and_si128(_mm_cmpgt_epi8(c, _mm_set1_epi8((low) - 1)), _mm_cmpgt_epi8(_mm_set1_epi8((high) + 1), c))
    const __m128i bit = _mm_set1_epi8(lowercase ? 0x20 : 0);
    uint64_t letters = 0, high = 0;
    int k;
    for (k = 0; k < 4; k++) {
        const __m128i c = _mm_loadu_si128((const __m128i *) (p + 16 * k));
        const __m128i folded = _mm_or_si128(c, _mm_set1_epi8(0x20));
        const uint64_t not_ascii = (uint64_t) _mm_movemask_epi8(c);
        uint64_t found;
        _mm_storeu_si128(
            (__m128i *) (lowered + 16 * k), _mm_or_si128(c, _mm_and_si128(bit, CWLEARN_BETWEEN(c, 'A', 'Z'))));
        if (by_space) {
            const __m128i space = _mm_or_si128(
                _mm_cmpeq_epi8(c, _mm_set1_epi8(' ')),
                _mm_or_si128(CWLEARN_BETWEEN(c, 9, 13), CWLEARN_BETWEEN(c, 28, 31)));
            found = 0xFFFF & ~((uint64_t) _mm_movemask_epi8(space) | not_ascii);
        } else {
            const __m128i word = _mm_or_si128(
                CWLEARN_BETWEEN(folded, 'a', 'z'),
                _mm_or_si128(CWLEARN_BETWEEN(c, '0', '9'), _mm_cmpeq_epi8(c, _mm_set1_epi8('_'))));
            found = (uint64_t) _mm_movemask_epi8(word);
        }
        letters |= found << 16 * k;
        high |= not_ascii << 16 * k;
    }
    *others = high;
    return letters;
#undef CWLEARN_BETWEEN
}
#else
static inline uint64_t cwlearn_classify(const uint8_t *p, uint8_t *lowered, int lowercase, int by_space, uint64_t *others) {
    uint64_t letters = 0, high = 0;
    int k;
    for (k = 0; k < 64; k++) {
        const uint8_t c = p[k], folded = c | 0x20;
        const int letter = folded >= 'a' && folded <= 'z' && c < 0x80;
        const int space = c == ' ' || (c >= 9 && c <= 13) || (c >= 28 && c <= 31);
        lowered[k] = lowercase && letter ? folded : c;
        letters |= (uint64_t) (c < 0x80 && (by_space ? !space : letter || (c >= '0' && c <= '9') || c == '_')) << k;
        high |= (uint64_t) (c >> 7) << k;
    }
    *others = high;
    return letters;
}
#endif

/* By byte: the places of its bits that are set, the lowest first. */
static uint64_t cwlearn_places_of_bits[256];

static void cwlearn_prepare_vectors(void) {
    int byte, bit;
    for (byte = 0; byte < 256; byte++) {
        int count = 0;
        uint64_t places = 0;
        for (bit = 0; bit < 8; bit++)
            if (byte >> bit & 1) places |= (uint64_t) bit << 8 * count++;
        cwlearn_places_of_bits[byte] = places;
    }
}

/* Parts of MurmurHash3 for many hashes at once.  There are 32-bit products in each, for which AVX2 has an instruction. */
#if defined(__GNUC__)
#define CWLEARN_INLINE static inline __attribute__((always_inline))
#else
#define CWLEARN_INLINE static inline
#endif
#define CWLEARN_ROTATED(x, bits) ((x) << (bits) | (x) >> (32 - (bits)))

CWLEARN_INLINE uint32_t cwlearn_mixed(uint32_t k) {
    k *= 0xcc9e2d51u;
    return CWLEARN_ROTATED(k, 15) * 0x1b873593u;
}

/* The four bytes at each place; reads three bytes behind the last place. */
CWLEARN_INLINE void cwlearn_quads_in(uint32_t *quads, const uint8_t *text, ptrdiff_t n) {
    ptrdiff_t i;
    for (i = 0; i < n; i++)
        quads[i] = (uint32_t) text[i] | (uint32_t) text[i + 1] << 8 | (uint32_t) text[i + 2] << 16
                   | (uint32_t) text[i + 3] << 24;
}

/* The states of hashes after one block more. */
CWLEARN_INLINE void cwlearn_advance_in(uint32_t *states, const uint32_t *quads, ptrdiff_t n) {
    ptrdiff_t i;
    for (i = 0; i < n; i++) {
        const uint32_t h = states[i] ^ cwlearn_mixed(quads[i]);
        states[i] = CWLEARN_ROTATED(h, 13) * 5 + 0xe6546b64u;
    }
}

/* Hashes up to their last mixing: after the bytes behind the last block, of which `mask` keeps some, and the length. */
CWLEARN_INLINE void cwlearn_tails_in(
    uint32_t *out, const uint32_t *states, const uint32_t *quads, uint32_t mask, uint32_t size, ptrdiff_t n) {
    ptrdiff_t i;
    for (i = 0; i < n; i++) out[i] = states[i] ^ cwlearn_mixed(quads[i] & mask) ^ size;
}

/* The last mixing, and keys: 2 * column + (1 if the hash is negative and signs count).  The column is |hash| modulo the
   number of columns; `columns` is that number - 1 if it is a power of two. */
CWLEARN_INLINE void cwlearn_keys_in(uint32_t *keys, uint32_t columns, uint32_t signs, ptrdiff_t n) {
    ptrdiff_t i;
    for (i = 0; i < n; i++) {
        uint32_t h = keys[i], negative;
        h ^= h >> 16;
        h *= 0x85ebca6bu;
        h ^= h >> 13;
        h *= 0xc2b2ae35u;
        h ^= h >> 16;
        negative = h >> 31;
        h = (h ^ (0 - negative)) + negative;
        keys[i] = (h & columns) << 1 | (negative & signs);
    }
}

#define CWLEARN_VARIANT(suffix, attributes) \
attributes static void cwlearn_quads##suffix(uint32_t *quads, const uint8_t *text, ptrdiff_t n) { \
    cwlearn_quads_in(quads, text, n); \
} \
attributes static void cwlearn_advance##suffix(uint32_t *states, const uint32_t *quads, ptrdiff_t n) { \
    cwlearn_advance_in(states, quads, n); \
} \
attributes static void cwlearn_tails##suffix( \
    uint32_t *out, const uint32_t *states, const uint32_t *quads, uint32_t mask, uint32_t size, ptrdiff_t n) { \
    cwlearn_tails_in(out, states, quads, mask, size, n); \
} \
attributes static void cwlearn_keys##suffix(uint32_t *keys, uint32_t columns, uint32_t signs, ptrdiff_t n) { \
    cwlearn_keys_in(keys, columns, signs, n); \
}

static int cwlearn_wide = 0;            /* 1: AVX2 is used; 2: AVX-512, too */
CWLEARN_VARIANT(_anywhere, )
#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
CWLEARN_VARIANT(_avx2, __attribute__((target("avx2"))))


/* Columns of sorted keys, and what stands before the first key of each: the sum of all keys before it, each 1, or -1 if it is
   odd and `signs` is set.  Return how many columns there are; behind the last one stands the sum of all keys, and seven more
   numbers are written.  Seven keys behind the last one are read. */
__attribute__((target("avx2,popcnt"))) static ptrdiff_t cwlearn_sums_avx2(
    uint32_t *columns, uint32_t *before, const uint32_t *keys, ptrdiff_t n, uint32_t signs) {
    const __m256i one = _mm256_set1_epi32(1), zero = _mm256_setzero_si256();
    const __m256i last = _mm256_set1_epi32(7), sign = _mm256_set1_epi32(signs ? 1 : 0);
    const __m256i before_it = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
    __m256i total = zero, turned = _mm256_set1_epi32(n ? (int) (keys[0] ^ 2) : 0);  /* another column */
    ptrdiff_t i, count = 0;
    for (i = 0; i < n; i += 8) {
        const __m256i key = _mm256_loadu_si256((const __m256i *) (keys + i));
        const __m256i next_turned = _mm256_permutevar8x32_epi32(key, before_it);
        const __m256i other = _mm256_blend_epi32(next_turned, turned, 1);       /* the key before each */
        const __m256i same = _mm256_cmpeq_epi32(_mm256_srli_epi32(_mm256_xor_si256(key, other), 1), zero);
        unsigned is_new = 255 ^ (unsigned) _mm256_movemask_ps(_mm256_castsi256_ps(same));
        const __m256i negative = _mm256_and_si256(key, sign);
        const __m256i step = _mm256_sub_epi32(one, _mm256_add_epi32(negative, negative));
        __m256i sum = _mm256_add_epi32(step, _mm256_slli_si256(step, 4)), order;
        sum = _mm256_add_epi32(sum, _mm256_slli_si256(sum, 8));        /* of up to four keys */
        sum = _mm256_add_epi32(                                     /* and of the first four, in the second half */
            sum, _mm256_shuffle_epi32(_mm256_permute2x128_si256(sum, sum, 0x08), 0xFF));
        if (n - i < 8) is_new &= (1u << (n - i)) - 1;
        order = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *) &cwlearn_places_of_bits[is_new]));
        _mm256_storeu_si256(
            (__m256i *) (columns + count), _mm256_srli_epi32(_mm256_permutevar8x32_epi32(key, order), 1));
        _mm256_storeu_si256(
            (__m256i *) (before + count),
            _mm256_permutevar8x32_epi32(_mm256_add_epi32(total, _mm256_sub_epi32(sum, step)), order));
        count += _mm_popcnt_u32(is_new);
        if (n - i <= 8) {
            uint32_t sums[8];
            _mm256_storeu_si256((__m256i *) sums, _mm256_add_epi32(total, sum));
            before[count] = sums[n - i - 1];
        }
        total = _mm256_add_epi32(total, _mm256_permutevar8x32_epi32(sum, last));
        turned = next_turned;
    }
    return count;
}
#define cwlearn_sums(...) cwlearn_sums_avx2(__VA_ARGS__)
#define cwlearn_has_avx2() (__builtin_cpu_supports("avx2") != 0)
#define CWLEARN_CHOOSE(name, ...) (cwlearn_wide ? name##_avx2(__VA_ARGS__) : name##_anywhere(__VA_ARGS__))
#else
#define cwlearn_sums(...) 0             /* never called */
#define cwlearn_has_avx2() 0
#define CWLEARN_CHOOSE(name, ...) name##_anywhere(__VA_ARGS__)
#endif
#define cwlearn_quads(...) CWLEARN_CHOOSE(cwlearn_quads, __VA_ARGS__)
#define cwlearn_advance(...) CWLEARN_CHOOSE(cwlearn_advance, __VA_ARGS__)
#define cwlearn_tails(...) CWLEARN_CHOOSE(cwlearn_tails, __VA_ARGS__)
#define cwlearn_keys(...) CWLEARN_CHOOSE(cwlearn_keys, __VA_ARGS__)

#endif
