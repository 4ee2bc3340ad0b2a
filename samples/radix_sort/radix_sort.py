import tessera as ts

BITS = 8
DIGITS = 2 ** BITS
BLOCK = 32768  # keys per program


def digit_of(key, shift):
    """The highest bit of the last digit is the sign; flipping it puts negative keys before the others."""
    digit = key >> shift & (DIGITS - 1)
    return digit ^ (DIGITS // 2) if shift == 32 - BITS else digit


@ts.kernel
def count_digits(keys: ts.Tensor["n", ts.i32], counts: ts.Tensor["blocks", DIGITS, ts.i32], shift: ts.i32):
    for b in ts.tile.parallel(blocks):
        for i in range(b * BLOCK, ts.minimum(b * BLOCK + BLOCK, n)):
            digit = digit_of(keys[i], shift)
            counts[b, digit] = counts[b, digit] + 1


@ts.kernel
def find_starts(counts: ts.Tensor["blocks", DIGITS, ts.i32]):
    """In place: how many keys come before those of each digit and block, which are in the order of digits, then of blocks."""
    total = ts.tile.zeros((DIGITS,), ts.i32)
    for b in ts.tile.range(blocks):
        here = counts[b, :]
        counts[b, :] = total
        total += here
    smaller = ts.tile.cumsum(total, axis=0) - total
    for b in ts.tile.range(blocks):
        counts[b, :] = counts[b, :] + smaller


@ts.kernel
def move_keys(keys: ts.Tensor["n", ts.i32], places: ts.Tensor["blocks", DIGITS, ts.i32], moved: ts.Tensor["n", ts.i32], shift: ts.i32):
    """A program owns a block of keys and the next place of each digit in it: keys of one digit stay in order."""
    for b in ts.tile.parallel(blocks):
        for i in range(b * BLOCK, ts.minimum(b * BLOCK + BLOCK, n)):
            digit = digit_of(keys[i], shift)
            moved[places[b, digit]] = keys[i]
            places[b, digit] = places[b, digit] + 1


def sort_by_digit(keys, moved, shift):
    counts = ts.zeros((ts.cdiv(keys.shape[0], BLOCK), DIGITS), ts.i32)
    count_digits(keys, counts, shift)
    find_starts(counts)
    move_keys(keys, counts, moved, shift)


@ts.jit
def radix_sort(keys: ts.Tensor["n", ts.i32]) -> ts.Tensor["n", ts.i32]:
    """Sorts in place, by one digit after the other from the lowest: each pass keeps the order of equal digits."""
    moved = ts.zeros((n,), ts.i32)
    for shift in range(0, 32, 2 * BITS):
        sort_by_digit(keys, moved, shift)
        sort_by_digit(moved, keys, shift + BITS)
    return keys
