"""Decimal text to the nearest double, without the GIL; a part of _svmlight.pyx.

A decimal is w 10^q with integers w and q.  If w < 2^53 and |q| <= 22 both factors are exact doubles, and one
multiplication or division rounds correctly (Clinger, PLDI 1990); w < 2^64 goes through a 128-bit product with a table
of powers (Lemire, "Number parsing at a gigabyte per second", Software: Practice and Experience 51, 2021, algorithm 1);
the rest through strtod.
"""

cdef enum:
    SMALLEST_POWER = -342     # below 10^-342 * 2^64 all is 0, above 10^308 all is infinite
    LARGEST_POWER = 308

cdef double[23] TENS          # the powers of ten that a double holds exactly
cdef int64_t[9] WHOLE_TENS    # the first of them
cdef uint64_t[LARGEST_POWER - SMALLEST_POWER + 1] POWERS_HIGH, POWERS_LOW    # 10^q, its first 128 bits


def power_of_ten(q):
    """The first 128 bits of 10^q, which are those of 5^q: rounded up where 5^-q has less than 64 bits itself, so that
    exact quotients are seen to be exact (Lemire, section 6), else cut off."""
    power = 5 ** abs(q)
    bits = power.bit_length()
    if q < -27:
        power, bits = (1 << 2 * bits + 128) // power, bits + 129
    elif q < 0:
        return (1 << bits + 127) // power + 1
    return power >> bits - 128 if bits > 128 else power << 128 - bits


cdef void make_tables():
    TENS[0] = 1
    for q in range(1, 23):
        TENS[q] = 10 * TENS[q - 1]
    for q in range(9):
        WHOLE_TENS[q] = <int64_t> TENS[q]
    for q in range(SMALLEST_POWER, LARGEST_POWER + 1):
        power = power_of_ten(q)
        POWERS_HIGH[q - SMALLEST_POWER] = power >> 64
        POWERS_LOW[q - SMALLEST_POWER] = power & 0xFFFFFFFFFFFFFFFF


make_tables()
make_locale()


cdef inline bint is_digit(uint8_t character) noexcept nogil:
    return <uint8_t> (character - c"0") < 10


cdef struct Product:
    uint64_t high
    uint64_t low


cdef inline Product multiplied(uint64_t a, uint64_t b) noexcept nogil:
    """a * b in 128 bits."""
    cdef uint64_t a0 = a & 0xFFFFFFFFu
    cdef uint64_t a1 = a >> 32
    cdef uint64_t b0 = b & 0xFFFFFFFFu
    cdef uint64_t b1 = b >> 32
    cdef uint64_t middle = a1 * b0 + (a0 * b0 >> 32)
    cdef uint64_t other = a0 * b1 + (middle & 0xFFFFFFFFu)
    return Product(a1 * b1 + (middle >> 32) + (other >> 32), a * b)


cdef bint rounded(uint64_t w, int64_t q, double* value) noexcept nogil:
    """w 10^q to the nearest double, if w > 0 and that is a normal number and not too close to call."""
    cdef Product product, tail
    cdef uint64_t mantissa, bits
    cdef int64_t exponent
    cdef int shift, upper
    cdef int leading = zeros_above(w)
    if not SMALLEST_POWER <= q <= LARGEST_POWER:
        return False
    w <<= leading
    product = multiplied(w, POWERS_HIGH[q - SMALLEST_POWER])
    if product.high & 0x1FF == 0x1FF:       # the bits beyond 55 are all ones: the rest of the power matters
        tail = multiplied(w, POWERS_LOW[q - SMALLEST_POWER])
        product.low += tail.high
        product.high += product.low < tail.high
        if product.low == 0xFFFFFFFFFFFFFFFFu and not -27 <= q <= 55:
            return False
    upper = <int> (product.high >> 63)
    shift = upper + 9
    mantissa = product.high >> shift        # 54 bits, of which the last decides on rounding
    exponent = ((217706 * q) >> 16) + 63 + upper - leading + 1023    # 217706 / 2^16 = log2(10)
    if exponent <= 0:                       # subnormal
        return False
    if product.low <= 1 and -4 <= q <= 23 and mantissa & 3 == 1 and mantissa << shift == product.high:
        mantissa -= 1                       # exactly half way: to even
    mantissa = (mantissa + (mantissa & 1)) >> 1
    if mantissa >> 53:
        mantissa >>= 1
        exponent += 1
    if exponent >= 2047:
        return False
    bits = (mantissa & 0xFFFFFFFFFFFFFu) | (<uint64_t> exponent << 52)
    memcpy(value, &bits, 8)
    return True


cdef Place read_long_number(Place p, double* value) noexcept nogil:
    """Any decimal number, of any length: the place behind it, or NULL if there is none at p or it is out of range."""
    cdef Place start = p
    cdef Place digits
    cdef uint64_t w = 0
    cdef int64_t q = 0
    cdef int64_t exponent = 0
    cdef int used = 0                       # significant digits in w, at most 19 of them
    cdef bint whole = True                  # no digit other than 0 was left out of w
    cdef bint any_digit = False
    cdef bint fraction = False
    cdef bint down
    cdef double above = 0
    if p[0] == c"+" or p[0] == c"-":
        p += 1
    while True:
        if is_digit(p[0]):
            any_digit = True
            if used < 19:
                w = 10 * w + (p[0] - c"0")
                used += w > 0
                q -= fraction
            else:
                whole = whole and p[0] == c"0"
                q += not fraction
        elif p[0] == c"." and not fraction:
            fraction = True
        else:
            break
        p += 1
    if not any_digit:
        return NULL
    if p[0] == c"e" or p[0] == c"E":
        digits = p + 1
        down = digits[0] == c"-"
        digits += down or digits[0] == c"+"
        if not is_digit(digits[0]):
            return NULL
        while is_digit(digits[0]):
            if exponent < 1000000000000LL:  # far beyond the length of any text, yet no overflow
                exponent = 10 * exponent + (digits[0] - c"0")
            digits += 1
        p = digits
        q += -exponent if down else exponent
    if w == 0 or q < SMALLEST_POWER - 20:
        value[0] = 0
    elif q > LARGEST_POWER:
        return NULL
    elif whole and w >> 53 == 0 and -22 <= q <= 22:
        value[0] = <double> w / TENS[-q] if q < 0 else <double> w * TENS[q]
    elif not (rounded(w, q, value) and (whole or (rounded(w + 1, q, &above) and above == value[0]))):
        value[0] = rounded_by_libc(<const char*> start)
        if value[0] - value[0] != 0:        # infinite
            return NULL
        return p
    if start[0] == c"-":
        value[0] = -value[0]
    return p


cdef bint long_decimal_before(Place end, uint64_t whole, int64_t part, double* value) noexcept nogil:
    """The decimal with `whole` before the point and the `part` digits before `end` behind it, more than eight, if that
    is easy."""
    cdef uint64_t w
    if part > 16 or whole >= 1000:
        return False
    w = whole * <uint64_t> TENS[part] + number_before(end - 8, part - 8) * 100000000 + number_before(end, 8)
    return w > 0 and rounded(w, -part, value)
