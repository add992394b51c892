"""AES (FIPS 197) and SM4 (GB/T 32907) on lists of bytes and words, a step at a time."""

from collections.abc import Callable, Sequence

# -- AES: a state is 16 bytes, column by column


def multiply(a: int, b: int) -> int:
    """FIPS 197 4.2: the product in GF(2^8)."""
    product = 0
    for i in range(8):
        if b >> i & 1:
            product ^= a << i
    while product >= 0x100:
        product ^= 0x11B << product.bit_length() - 9
    return product


def s_box_entry(x: int) -> int:
    """FIPS 197 5.1.1: bit i is the sum of bits i, i+4 to i+7 of the inverse and one of 0x63."""
    inverse = next((y for y in range(256) if multiply(x, y) == 1), 0)
    bits = [
        sum(inverse >> (i + k) % 8 & 1 for k in (0, 4, 5, 6, 7)) + (0x63 >> i & 1) for i in range(8)
    ]
    return sum(bit % 2 << i for i, bit in enumerate(bits))


S_BOX = [s_box_entry(x) for x in range(256)]


def sub_bytes(state: Sequence[int]) -> list[int]:
    return [S_BOX[x] for x in state]


def inverse_sub_bytes(state: Sequence[int]) -> list[int]:
    return [S_BOX.index(x) for x in state]


def shift_rows(state: Sequence[int], sign: int = 1) -> list[int]:
    """FIPS 197 5.1.2, and 5.3.1 with the other sign: row r turns by r columns."""
    return [state[4 * ((c + sign * r) % 4) + r] for c in range(4) for r in range(4)]


def mix_columns(state: Sequence[int], first: Sequence[int] = (2, 3, 1, 1)) -> list[int]:
    """FIPS 197 5.1.3, and 5.3.3 with the inverse's coefficients, by their first row."""
    result = []
    for c in range(4):
        for r in range(4):
            total = 0
            for k in range(4):
                total ^= multiply(first[(k - r) % 4], state[4 * c + k])
            result.append(total)
    return result


def inverse_mix_columns(state: Sequence[int]) -> list[int]:
    return mix_columns(state, (0xE, 0xB, 0xD, 0x9))


def add(a: Sequence[int], b: Sequence[int]) -> list[int]:
    return [x ^ y for x, y in zip(a, b, strict=True)]


def round_constant(i: int) -> int:
    """FIPS 197 5.2: x^(i-1)."""
    value = 1
    for _ in range(i - 1):
        value = multiply(value, 2)
    return value


def expand_key(earlier: Sequence[int], temp: Sequence[int]) -> list[int]:
    """Four words of the key expansion: each is the word before plus the one a key length back."""
    result: list[int] = []
    for c in range(4):
        temp = add(earlier[4 * c : 4 * c + 4], temp)
        result += temp
    return result


# -- SM4: a state is four words; the first byte of a word is its highest

SM4_S_BOX = bytes.fromhex(
    "d690e9fecce13db716b614c228fb2c05"
    "2b679a762abe04c3aa44132649860699"
    "9c4250f491ef987a33540b43edcfac62"
    "e4b31ca9c908e89580df94fa758f3fa6"
    "4707a7fcf37317ba83593c19e6854fa8"
    "686b81b27164da8bf8eb0f4b70569d35"
    "1e240e5e6358d1a225227c3b01217887"
    "d40046579fd327524c3602e7a0c4c89e"
    "eabf8ad240c738b5a3f7f2cef96115a1"
    "e0ae5da49b341a55ad933230f58cb1e3"
    "1df6e22e8266ca60c02923ab0d534e6f"
    "d5db3745defd8e2f03ff6a726d6c5b51"
    "8d1baf92bbddbc7f11d95c411f105ad8"
    "0ac13188a5cd7bbd2d74d012b8e5b4b0"
    "8969974a0c96777e65b9f109c56ec684"
    "18f07dec3adc4d2079ee5f3ed7cb3948"
)


def rotate(x: int, amount: int) -> int:
    """A 32-bit word turned left."""
    amount %= 32
    return (x << amount | x >> (32 - amount)) & 0xFFFFFFFF


def sm4_round(x: Sequence[int], key: int, linear: Callable[[int], int]) -> int:
    """The next word from the last four: X0 plus T of the sum of the others and the key."""
    word = (x[1] ^ x[2] ^ x[3] ^ key).to_bytes(4, "big")
    return x[0] ^ linear(int.from_bytes(word.translate(SM4_S_BOX), "big"))


def sm4_diffusion(b: int) -> int:
    """L of the cipher."""
    return b ^ rotate(b, 2) ^ rotate(b, 10) ^ rotate(b, 18) ^ rotate(b, 24)


def sm4_key_diffusion(b: int) -> int:
    """L' of the key expansion."""
    return b ^ rotate(b, 13) ^ rotate(b, 23)


def sm4_key_constant(i: int) -> int:
    """CK_i: its bytes are (4i + j) * 7 modulo 256."""
    return int.from_bytes(bytes((4 * i + j) * 7 % 256 for j in range(4)), "big")
