/* Tokens of ASCII, 64 bytes at once (AVX-512): what _tokens.pxi does in two steps with other processors. */
#ifndef CWLEARN_TOKENS_H
#define CWLEARN_TOKENS_H

#include "_vectors.h"

#if defined(__GNUC__) && defined(__x86_64__)
#define CWLEARN_AVX512 "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vbmi2,bmi,bmi2,popcnt"

/* Write tokens of `p`, with a space behind each, and where each begins: to text[*filled] and to bounds[*n_bounds].  Return how
   many bytes that takes, which end before the first one that is not ASCII.  `letter` and `lower` are tables of ASCII: whether a
   character belongs to a token, and what it becomes.  A token is open at the end if the last byte is a letter: it is
   the last one, may be too short, and has no space.  `is_open`: the first byte goes on with the token that is the last one.
   At most 64 bytes and 16 places more than there are tokens are written. */
__attribute__((target(CWLEARN_AVX512))) static ptrdiff_t cwlearn_tokens(
    uint8_t *text, ptrdiff_t *filled, uint32_t *bounds, ptrdiff_t *n_bounds, const uint8_t *p, ptrdiff_t size,
    const uint8_t *letter, const uint8_t *lower, int least, int is_open) {
    const __m512i letters_low = _mm512_loadu_si512(letter), letters_high = _mm512_loadu_si512(letter + 64);
    const __m512i lower_low = _mm512_loadu_si512(lower), lower_high = _mm512_loadu_si512(lower + 64);
    const __m512i space = _mm512_set1_epi8(' ');
    const __m512i places = _mm512_set_epi8(
        63, 62, 61, 60, 59, 58, 57, 56, 55, 54, 53, 52, 51, 50, 49, 48, 47, 46, 45, 44, 43, 42, 41, 40, 39, 38, 37, 36, 35, 34,
        33, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2,
        1, 0);
    uint64_t before = is_open, kept_before = is_open;      /* 1: the byte before is a letter, and of a token that is kept */
    ptrdiff_t at, n = *n_bounds, out = *filled;
    for (at = 0; at < size; at += 64) {
        const uint64_t here = size - at < 64 ? ((uint64_t) 1 << (size - at)) - 1 : ~(uint64_t) 0;
        const __m512i c = _mm512_maskz_loadu_epi8(here, p + at);
        const __m512i kinds = _mm512_permutex2var_epi8(letters_low, c, letters_high);
        const uint64_t others = _mm512_movepi8_mask(c);
        const uint64_t ascii = others ? (others & (0 - others)) - 1 : here;     /* those before the first other one */
        const uint64_t letters = _mm512_mask_test_epi8_mask(ascii, kinds, kinds);
        /* Whether a letter comes behind the last one: perhaps, if that is not known yet. */
        const int is_last = ascii != ~(uint64_t) 0 || size - at == 64;
        const uint64_t behind = is_last ? ~(ascii >> 1) : (uint64_t) (p[at + 64] >= 128 || letter[p[at + 64]]) << 63;
        const uint64_t begins = letters & ~(letters << 1 | before);
        const uint64_t single = least > 1 ? begins & ~(letters >> 1 | behind) : 0;
        const uint64_t kept = letters & ~single;
        const uint64_t ends = (kept << 1 | kept_before) & ~letters & ascii;     /* the bytes behind tokens */
        const __m512i lowered = _mm512_permutex2var_epi8(lower_low, c, lower_high);
        const uint64_t starts = _pext_u64(begins & ~single, kept | ends);
        const __m512i found = _mm512_maskz_compress_epi8(starts, places);
        const __m512i base = _mm512_set1_epi32((int) out);
        const int count = (int) _mm_popcnt_u64(starts);
        _mm512_storeu_si512(
            text + out, _mm512_maskz_compress_epi8(kept | ends, _mm512_mask_mov_epi8(lowered, ends, space)));
        _mm512_storeu_si512(bounds + n, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(found))));
        if (count > 16)
            _mm512_storeu_si512(
                bounds + n + 16, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32(found, 1))));
        n += count;
        out += _mm_popcnt_u64(kept | ends);
        before = letters >> 63, kept_before = kept >> 63;
        if (others) {
            at += cwlearn_first_bit(others);
            *n_bounds = n, *filled = out;
            return at;
        }
    }
    *n_bounds = n, *filled = out;
    return size;
}
#define cwlearn_has_avx512() \
    (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") \
     && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2") \
     && __builtin_cpu_supports("bmi2"))
#else
#define cwlearn_tokens(...) 0           /* never called */
#define cwlearn_has_avx512() 0
#endif

#endif
