/* What _svmlight.pyx needs of C: bits, digits and decimal points, each in the form that suits compiler and processor. */
#ifndef CWLEARN_SVMLIGHT_H
#define CWLEARN_SVMLIGHT_H

#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#if defined(_MSC_VER)
#include <intrin.h>
static int cwlearn_zeros_below(unsigned long long w) {
    unsigned long n;
    _BitScanForward64(&n, w | 1ULL << 63);
    return n;
}
static int cwlearn_zeros_above(unsigned long long w) { unsigned long n; _BitScanReverse64(&n, w); return 63 - n; }
#define cwlearn_ones(word) ((int) __popcnt64(word))
#else
#define cwlearn_ones(word) __builtin_popcountll(word)
#if defined(__BMI__)
#define cwlearn_zeros_below(word) ((int) __builtin_ia32_tzcnt_u64(word))   /* 64 of 0 */
#else
#define cwlearn_zeros_below(word) __builtin_ctzll((word) | 1ULL << 63)
#endif
#define cwlearn_zeros_above(word) __builtin_clzll(word)
#endif
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define cwlearn_little_endian(word) __builtin_bswap64(word)
#else
#define cwlearn_little_endian(word) (word)
#endif

/* In a branch: keeps the compiler from making a sum of it.  A right guess is faster than waiting for the sum. */
#if defined(__GNUC__)
#define cwlearn_stay_a_branch(variable) __asm__ ("" : "+r"(variable))
#else
#define cwlearn_stay_a_branch(variable) ((void) 0)
#endif

/* One bit for each of 64 bytes, the first one lowest: set where it is not a digit. */
#if defined(__AVX2__)
#include <immintrin.h>
static inline unsigned long long cwlearn_not_digits(const unsigned char *p) {
    const __m256i zero = _mm256_set1_epi8('0'), nine = _mm256_set1_epi8(9);
    __m256i a = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *) p), zero);
    __m256i b = _mm256_sub_epi8(_mm256_loadu_si256((const __m256i *) (p + 32)), zero);
    unsigned int low = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(a, nine), a));
    unsigned int high = _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(b, nine), b));
    return ~(low | (unsigned long long) high << 32);
}
#elif defined(__SSE2__) || defined(_M_X64)
#include <emmintrin.h>
static inline unsigned long long cwlearn_not_digits(const unsigned char *p) {
    const __m128i zero = _mm_set1_epi8('0'), nine = _mm_set1_epi8(9);
    unsigned long long digits = 0;
    int k;
    for (k = 0; k < 4; k++) {
        __m128i a = _mm_sub_epi8(_mm_loadu_si128((const __m128i *) (p + 16 * k)), zero);
        digits |= (unsigned long long) _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_min_epu8(a, nine), a)) << 16 * k;
    }
    return ~digits;
}
#else
static inline unsigned long long cwlearn_not_digits(const unsigned char *p) {
    unsigned long long others = 0;
    int k;
    for (k = 0; k < 64; k++) others |= (unsigned long long) ((unsigned char) (p[k] - '0') > 9) << k;
    return others;
}
#endif

/* Offsets of the marks (all bytes but digits) in `size` bytes; returns how many there are.  Up to 64 more are written, and
   the bytes up to the next multiple of 64 are read. */
static int cwlearn_find_marks_anywhere(int16_t *out, const unsigned char *start, int size) {
    int at, k, n = 0;
    for (at = 0; at < size; at += 64) {
        unsigned long long others = cwlearn_not_digits(start + at);
        const int count = cwlearn_ones(others);
        int done = 0;
        do {                    /* more than there are, perhaps, which is faster than stopping in time */
            for (k = 0; k < 8; k++) {
                out[n + done + k] = (int16_t) (at + cwlearn_zeros_below(others));   /* of none: any place near by */
                others &= others - 1;
            }
            done += 8;
        } while (done < count);
        n += count;
    }
    return n;
}

/* In the build for AVX2: all offsets of 64 bytes at once, if the processor can (AVX-512 VBMI2). */
#if defined(__AVX2__) && defined(__GNUC__) && defined(__x86_64__)
__attribute__((target("avx512f,avx512bw,avx512vbmi2")))
static int cwlearn_find_marks_at_once(int16_t *out, const unsigned char *start, int size) {
    static const unsigned char numbers[64] = {
        0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30,
        31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58,
        59, 60, 61, 62, 63};
    const __m512i places = _mm512_loadu_si512(numbers), zero = _mm512_set1_epi8('0'), nine = _mm512_set1_epi8(9);
    int at, n = 0;
    for (at = 0; at < size; at += 64) {
        const __m512i bytes = _mm512_sub_epi8(_mm512_loadu_si512(start + at), zero);
        const __mmask64 others = _mm512_cmpgt_epu8_mask(bytes, nine);
        const __m512i found = _mm512_maskz_compress_epi8(others, places);
        const __m512i from = _mm512_set1_epi16((short) at);
        _mm512_storeu_si512(out + n, _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(found)), from));
        if (cwlearn_ones(others) > 32)
            _mm512_storeu_si512(
                out + n + 32, _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(found, 1)), from));
        n += cwlearn_ones(others);
    }
    return n;
}
#define cwlearn_has_vbmi2() (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vbmi2"))
#else
#define cwlearn_find_marks_at_once cwlearn_find_marks_anywhere
#define cwlearn_has_vbmi2() 0
#endif

/* The number that the `count` digits before `end` make: one to eight of them.  Pairs are added up, then fours, then all
   eight; what stands before them is shifted out. */
static inline uint64_t cwlearn_number_before(const unsigned char *end, int64_t count) {
    const int others = (int) (64 - 8 * count);
    uint64_t word;
    memcpy(&word, end - 8, 8);
    word = (cwlearn_little_endian(word) ^ 0x3030303030303030u) >> others << others;
    word = word * 10 + (word >> 8);
    return (uint32_t) (((word & 0x000000FF000000FFu) * 0x000F424000000064u
                        + ((word >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >> 32);
}

/* The numbers that stand before four marks, each behind the mark before it; if more than eight digits do, anything.
   `marks` are offsets, and marks[-1] is one too. */
#if defined(__AVX2__)
static inline void cwlearn_four_numbers(uint32_t *out, const unsigned char *base, const int16_t *marks) {
    const __m128i low = _mm_castps_si128(_mm_loadh_pi(
        _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *) (base + marks[0] - 8))),
        (const __m64 *) (base + marks[1] - 8)));
    const __m128i high = _mm_castps_si128(_mm_loadh_pi(
        _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *) (base + marks[2] - 8))),
        (const __m64 *) (base + marks[3] - 8)));
    const __m256i digits = _mm256_sub_epi8(_mm256_set_m128i(high, low), _mm256_set1_epi8('0'));
    const __m256i lengths = _mm256_sub_epi64(                   /* and one more */
        _mm256_cvtepi16_epi64(_mm_loadl_epi64((const __m128i *) marks)),
        _mm256_cvtepi16_epi64(_mm_loadl_epi64((const __m128i *) (marks - 1))));
    const __m256i others = _mm256_sub_epi64(_mm256_set1_epi64x(72), _mm256_slli_epi64(lengths, 3));
    const __m256i eights = _mm256_sllv_epi64(_mm256_srlv_epi64(digits, others), others);
    const __m256i pairs = _mm256_maddubs_epi16(eights, _mm256_set1_epi16(0x010A));
    const __m256i fours = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x00010064));
    const __m256i numbers = _mm256_madd_epi16(_mm256_packus_epi32(fours, fours), _mm256_set1_epi32(0x00012710));
    _mm_storel_epi64((__m128i *) out, _mm256_castsi256_si128(numbers));
    _mm_storel_epi64((__m128i *) (out + 2), _mm256_extracti128_si256(numbers, 1));
}
#else
static inline void cwlearn_four_numbers(uint32_t *out, const unsigned char *base, const int16_t *marks) {
    int k;
    for (k = 0; k < 4; k++) {
        const int count = marks[k] - marks[k - 1] - 1;
        out[k] = count < 1 || count > 8 ? 0 : (uint32_t) cwlearn_number_before(base + marks[k], count);
    }
}
#endif

/* strtod with a decimal point, wherever the program runs */
#if defined(_WIN32)
static _locale_t cwlearn_plain;
static void cwlearn_make_locale(void) { cwlearn_plain = _create_locale(LC_ALL, "C"); }
static double cwlearn_strtod(const char *text) { return _strtod_l(text, NULL, cwlearn_plain); }
#else
static locale_t cwlearn_plain;
static void cwlearn_make_locale(void) { cwlearn_plain = newlocale(LC_ALL_MASK, "C", (locale_t) 0); }
static double cwlearn_strtod(const char *text) {
    locale_t users = uselocale(cwlearn_plain);
    double value = strtod(text, NULL);
    uselocale(users);
    return value;
}
#endif

#endif
