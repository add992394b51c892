"""Two's complement on plain Python integers."""

M64 = (1 << 64) - 1


def unsigned(value: int, width: int) -> int:
    """The low `width` bits of `value`, read as an unsigned number."""
    return value & ((1 << width) - 1)


def signed(value: int, width: int) -> int:
    """The low `width` bits of `value`, read as a two's complement number."""
    value = unsigned(value, width)
    return value - (1 << width) if value >> (width - 1) else value


def quotient(dividend: int, divisor: int) -> int:
    """Division that rounds towards zero and gives -1 for a zero divisor (M 2)."""
    if divisor == 0:
        return -1
    magnitude = abs(dividend) // abs(divisor)
    return magnitude if (dividend < 0) == (divisor < 0) else -magnitude


def remainder(dividend: int, divisor: int) -> int:
    """What `quotient` leaves; a zero divisor gives the dividend (M 2)."""
    if divisor == 0:
        return dividend
    return dividend - divisor * quotient(dividend, divisor)
