// In a file of its own, so that nothing of it is inlined into or specialised for the checks.

#include "gemm.h"
#include "runtime.h"

union f32 {
    uint32_t bits;
    float number;
};

static float widen(bf16 x) {
    return (union f32){(uint32_t)x << 16}.number;
}

// Rounds by looking at what is cut off rather than by a carry.
static bf16 narrow(float x) {
    const uint32_t bits = (union f32){.number = x}.bits;
    const bf16 upper = (bf16)(bits >> 16);
    const uint32_t lower = bits & 0xffff;
    if (x != x) {
        return 0x7fc0;
    }
    return lower > 0x8000 || (lower == 0x8000 && upper % 2 != 0) ? (bf16)(upper + 1) : upper;
}

void gemm_scalar(size_t tokens, size_t channels, size_t k, const bf16 *a_rows, const bf16 *w_rows,
                 bf16 *c, size_t c_stride) {
    for (size_t t = 0; t < tokens; t++) {
        for (size_t n = 0; n < channels; n++) {
            float sum = 0;
            for (size_t i = 0; i < k; i++) {
                sum = rt_fma(widen(a_rows[t * k + i]), widen(w_rows[n * k + i]), sum);
            }
            c[t * c_stride + n] = narrow(sum);
        }
    }
}
