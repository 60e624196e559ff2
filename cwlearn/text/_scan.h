/* Finding bytes in text, 16 at a time.  All functions may read 15 bytes beyond the one they find, or beyond the end. */
#ifndef CWLEARN_SCAN_H
#define CWLEARN_SCAN_H

#include <stdint.h>
#include <string.h>
#if defined(_MSC_VER)
#include <intrin.h>
static __inline int cwlearn_lowest_bit(unsigned mask) { unsigned long n; _BitScanForward(&n, mask); return (int) n; }
#define cwlearn_bits_in(mask) ((int) __popcnt(mask))
#else
#define cwlearn_lowest_bit(mask) __builtin_ctz(mask)
#define cwlearn_bits_in(mask) __builtin_popcount(mask)
#endif

/* A block of 16 bytes.  A mask has one bit for each of them, the first one lowest. */
#if (defined(__SSE2__) || defined(_M_X64)) && !defined(CWLEARN_NO_VECTORS)
#include <emmintrin.h>
typedef __m128i cwlearn_block;
static inline cwlearn_block cwlearn_load(const uint8_t *p) { return _mm_loadu_si128((const __m128i *) p); }
static inline void cwlearn_store(uint8_t *p, cwlearn_block block) { _mm_storeu_si128((__m128i *) p, block); }
static inline unsigned cwlearn_equal(cwlearn_block block, uint8_t byte) {
    return (unsigned) _mm_movemask_epi8(_mm_cmpeq_epi8(block, _mm_set1_epi8((char) byte)));
}
static inline unsigned cwlearn_one_of(cwlearn_block block, uint8_t a, uint8_t b, uint8_t c) {
    const __m128i two = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8((char) a)),
                                     _mm_cmpeq_epi8(block, _mm_set1_epi8((char) b)));
    return (unsigned) _mm_movemask_epi8(_mm_or_si128(two, _mm_cmpeq_epi8(block, _mm_set1_epi8((char) c))));
}
static inline unsigned cwlearn_string_marks(cwlearn_block block) {
    const __m128i special = _mm_or_si128(_mm_cmpeq_epi8(block, _mm_set1_epi8('"')),
                                         _mm_cmpeq_epi8(block, _mm_set1_epi8('\\')));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, _mm_set1_epi8(0x1F)), block);
    return (unsigned) _mm_movemask_epi8(_mm_or_si128(special, control));
}
static inline unsigned cwlearn_name_marks(cwlearn_block block) {
    const __m128i control = _mm_sub_epi8(block, _mm_set1_epi8(9));      /* 9 to 13: tab, LF, VT, FF, CR */
    const __m128i breaks = _mm_cmpeq_epi8(_mm_min_epu8(control, _mm_set1_epi8(4)), control);
    return (unsigned) _mm_movemask_epi8(breaks) | cwlearn_one_of(block, ' ', '|', ':');
}
#else
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CWLEARN_SWAPPED(word) __builtin_bswap64(word)
#else
#define CWLEARN_SWAPPED(word) (word)
#endif
#define CWLEARN_EACH(byte) ((uint64_t) (byte) * 0x0101010101010101u)
typedef struct { uint64_t words[2]; } cwlearn_block;
static inline cwlearn_block cwlearn_load(const uint8_t *p) { cwlearn_block block; memcpy(&block, p, 16); return block; }
static inline void cwlearn_store(uint8_t *p, cwlearn_block block) { memcpy(p, &block, 16); }
/* The highest bit of each byte that is 0. */
static inline uint64_t cwlearn_zeros(uint64_t word) {
    return ~(((word & CWLEARN_EACH(0x7F)) + CWLEARN_EACH(0x7F)) | word | CWLEARN_EACH(0x7F));
}
/* The highest bits of eight bytes, next to one another. */
static inline unsigned cwlearn_gathered(uint64_t high_bits) {
    return (unsigned) ((CWLEARN_SWAPPED(high_bits) >> 7) * 0x0102040810204080u >> 56);
}
static inline unsigned cwlearn_equal(cwlearn_block block, uint8_t byte) {
    return cwlearn_gathered(cwlearn_zeros(block.words[0] ^ CWLEARN_EACH(byte)))
           | cwlearn_gathered(cwlearn_zeros(block.words[1] ^ CWLEARN_EACH(byte))) << 8;
}
static inline unsigned cwlearn_one_of(cwlearn_block block, uint8_t a, uint8_t b, uint8_t c) {
    return cwlearn_equal(block, a) | cwlearn_equal(block, b) | cwlearn_equal(block, c);
}
static inline unsigned cwlearn_string_marks(cwlearn_block block) {
    const unsigned control = cwlearn_gathered(cwlearn_zeros(block.words[0] & CWLEARN_EACH(0xE0)))
                             | cwlearn_gathered(cwlearn_zeros(block.words[1] & CWLEARN_EACH(0xE0))) << 8;
    return control | cwlearn_equal(block, '"') | cwlearn_equal(block, '\\');
}
static inline unsigned cwlearn_name_marks(cwlearn_block block) {
    unsigned marks = cwlearn_one_of(block, ' ', '|', ':');
    uint8_t byte;
    for (byte = 9; byte <= 13; byte++) marks |= cwlearn_equal(block, byte);
    return marks;
}
#endif

/* The first byte that ends a run of plain characters in a JSON string: a quote, a backslash or a control character.
   There is one: every line ends. */
static inline const uint8_t *cwlearn_string_mark(const uint8_t *p) {
    unsigned marks;
    while (!(marks = cwlearn_string_marks(cwlearn_load(p)))) p += 16;
    return p + cwlearn_lowest_bit(marks);
}

/* The same, and copy the characters before it; up to 16 bytes more are written. */
static inline const uint8_t *cwlearn_copy_to_mark(const uint8_t *p, uint8_t *out) {
    for (;;) {
        const cwlearn_block block = cwlearn_load(p);
        const unsigned marks = cwlearn_string_marks(block);
        cwlearn_store(out, block);
        if (marks) return p + cwlearn_lowest_bit(marks);
        p += 16;
        out += 16;
    }
}

/* The first delimiter, LF or CR; there is one: every line ends. */
static inline const uint8_t *cwlearn_field_end(const uint8_t *p, uint8_t delimiter) {
    unsigned marks;
    while (!(marks = cwlearn_one_of(cwlearn_load(p), delimiter, '\n', '\r'))) p += 16;
    return p + cwlearn_lowest_bit(marks);
}

/* The first white space, "|" or ":"; there is one: every line ends. */
static inline const uint8_t *cwlearn_name_end(const uint8_t *p) {
    unsigned marks;
    while (!(marks = cwlearn_name_marks(cwlearn_load(p)))) p += 16;
    return p + cwlearn_lowest_bit(marks);
}

/* The first quote, or `end`; adds the number of LF before it to `lines`. */
static inline const uint8_t *cwlearn_find_quote(const uint8_t *p, const uint8_t *end, int64_t *lines) {
    for (; p < end; p += 16) {
        const cwlearn_block block = cwlearn_load(p);
        const unsigned quotes = cwlearn_equal(block, '"');
        unsigned counted = quotes ? (quotes & (0u - quotes)) - 1 : 0xFFFF;
        if (end - p < 16) counted &= (1u << (end - p)) - 1;
        *lines += cwlearn_bits_in(cwlearn_equal(block, '\n') & counted);
        if (quotes) return p + cwlearn_lowest_bit(quotes) < end ? p + cwlearn_lowest_bit(quotes) : end;
    }
    return end;
}

/* The last LF of the text from p to end, or NULL. */
static inline const uint8_t *cwlearn_last_line_end(const uint8_t *p, const uint8_t *end) {
    while (end > p && end - p >= 16) {
        unsigned ends = cwlearn_equal(cwlearn_load(end - 16), '\n');
        if (ends) {
            int k = 15;
            while (!(ends >> k & 1)) k--;
            return end - 16 + k;
        }
        end -= 16;
    }
    while (end > p)
        if (*--end == '\n') return end;
    return NULL;
}

#endif
