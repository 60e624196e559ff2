/* Hashes of n-grams of words, eight words at once (AVX2): what _ngrams.pxi does one by one elsewhere. */
#ifndef CWLEARN_WORD_HASHES_H
#define CWLEARN_WORD_HASHES_H

#include "_vectors.h"

#define CWLEARN_MOST_SIZES 8            /* numbers of words in an n-gram */
#define CWLEARN_LONGEST 64              /* bytes of an n-gram */

#if defined(__GNUC__) && defined(__x86_64__)
#define CWLEARN_ROTATED8(x, bits) _mm256_or_si256(_mm256_slli_epi32(x, bits), _mm256_srli_epi32(x, 32 - (bits)))
#define CWLEARN_MIXED8(k) _mm256_mullo_epi32( \
    CWLEARN_ROTATED8(_mm256_mullo_epi32(k, _mm256_set1_epi32((int) 0xcc9e2d51u)), 15), _mm256_set1_epi32(0x1b873593))

/* The next 16 bytes of eight words, as four times the next four bytes of each. */
static inline __attribute__((always_inline, target("avx2"))) void cwlearn_read_words(
    __m256i *fours, const uint8_t *text, const uint32_t *begin) {
#define CWLEARN_TWO_WORDS(one, other) _mm256_inserti128_si256( \
    _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *) (text + begin[one]))), \
    _mm_loadu_si128((const __m128i *) (text + begin[other])), 1)
    const __m256i a = CWLEARN_TWO_WORDS(0, 4), b = CWLEARN_TWO_WORDS(1, 5);
    const __m256i c = CWLEARN_TWO_WORDS(2, 6), d = CWLEARN_TWO_WORDS(3, 7);
    const __m256i ab = _mm256_unpacklo_epi32(a, b), ab2 = _mm256_unpackhi_epi32(a, b);
    const __m256i cd = _mm256_unpacklo_epi32(c, d), cd2 = _mm256_unpackhi_epi32(c, d);
    fours[0] = _mm256_unpacklo_epi64(ab, cd), fours[1] = _mm256_unpackhi_epi64(ab, cd);
    fours[2] = _mm256_unpacklo_epi64(ab2, cd2), fours[3] = _mm256_unpackhi_epi64(ab2, cd2);
#undef CWLEARN_TWO_WORDS
}

static inline __attribute__((always_inline, target("avx2"))) ptrdiff_t cwlearn_words_in(
    uint32_t *hashes, ptrdiff_t stride, const uint8_t *text, const uint32_t *bounds, ptrdiff_t words, int low, int sizes) {
    const __m256i one = _mm256_set1_epi32(1), plus = _mm256_set1_epi32((int) 0xe6546b64u);
    const __m256i longest = _mm256_set1_epi32(CWLEARN_LONGEST);
    ptrdiff_t first;
    int n, k, block;
    for (first = 0; first + 6 + low + sizes <= words; first += 8) {
        const __m256i begin = _mm256_loadu_si256((const __m256i *) (bounds + first));
        __m256i size[CWLEARN_MOST_SIZES], blocks[CWLEARN_MOST_SIZES], found[CWLEARN_MOST_SIZES];
        __m256i rest[CWLEARN_MOST_SIZES], fours[4], state = _mm256_setzero_si256();
        uint32_t *out = hashes + first;
        for (n = 0; n < sizes; n++) {       /* one character stands behind every word */
            const __m256i end = _mm256_loadu_si256((const __m256i *) (bounds + first + low + n));
            size[n] = _mm256_sub_epi32(_mm256_sub_epi32(end, begin), one);
            blocks[n] = _mm256_srli_epi32(size[n], 2);
            found[n] = rest[n] = state;
        }
        if (_mm256_movemask_epi8(_mm256_cmpgt_epi32(size[sizes - 1], longest))) break;
        for (block = 0;; block += 4) {      /* of four bytes */
            cwlearn_read_words(fours, text + 4 * block, bounds + first);
            for (k = 0; k < 4; k++) {
                __m256i next = CWLEARN_ROTATED8(_mm256_xor_si256(state, CWLEARN_MIXED8(fours[k])), 13);
                for (n = 0; n < sizes; n++) {           /* the state of those that end within this block */
                    const __m256i ends = _mm256_cmpeq_epi32(blocks[n], _mm256_set1_epi32(block + k));
                    found[n] = _mm256_blendv_epi8(found[n], state, ends);
                    rest[n] = _mm256_blendv_epi8(rest[n], fours[k], ends);
                }
                state = _mm256_add_epi32(_mm256_add_epi32(next, _mm256_slli_epi32(next, 2)), plus);
            }
            if (!_mm256_movemask_epi8(_mm256_cmpgt_epi32(blocks[sizes - 1], _mm256_set1_epi32(block + 3)))) break;
        }
        for (n = 0; n < sizes; n++) {
            const __m256i bits = _mm256_slli_epi32(_mm256_and_si256(size[n], _mm256_set1_epi32(3)), 3);
            const __m256i mask = _mm256_sub_epi32(_mm256_sllv_epi32(one, bits), one);
            const __m256i last = _mm256_and_si256(rest[n], mask);
            _mm256_storeu_si256(
                (__m256i *) out, _mm256_xor_si256(_mm256_xor_si256(found[n], CWLEARN_MIXED8(last)), size[n]));
            out += stride - n;
        }
    }
    return first;
}

/* Hashes, up to their last mixing, of the n-grams of `low` to `high` words that begin at the first words of a text; return at
   how many words.  Those of `low` words stand first, `stride` of them for all words of the text, then those of one
   more word, one fewer, and so on.  `bounds` says where each word begins, and where the text ends.  The n-grams of a word share
   the state of the hash.  It ends before eight words with a long n-gram, so that no more than CWLEARN_LONGEST + 16 bytes behind the begin
   of a word are read. */
__attribute__((target("avx2"))) static ptrdiff_t cwlearn_words_avx2(
    uint32_t *hashes, ptrdiff_t stride, const uint8_t *text, const uint32_t *bounds, ptrdiff_t words, int low, int high) {
    if (high - low == 0) return cwlearn_words_in(hashes, stride, text, bounds, words, low, 1);   /* constant arguments: */
    if (high - low == 1) return cwlearn_words_in(hashes, stride, text, bounds, words, low, 2);   /* so many registers */
    if (high - low >= CWLEARN_MOST_SIZES) return 0;
    return cwlearn_words_in(hashes, stride, text, bounds, words, low, high - low + 1);
}
#define cwlearn_words(...) (cwlearn_wide ? cwlearn_words_avx2(__VA_ARGS__) : 0)
#else
#define cwlearn_words(...) 0
#endif

#endif
