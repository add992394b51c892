// In a file of its own, so that nothing of it is inlined into or specialised for the checks.

#include "gemm.h"

void gemm_scalar(size_t tokens, size_t channels, size_t k, const int8_t *a_rows,
                 const int8_t *w_rows, int32_t *c, size_t c_stride) {
    for (size_t t = 0; t < tokens; t++) {
        for (size_t n = 0; n < channels; n++) {
            int32_t sum = 0;
            for (size_t i = 0; i < k; i++) {
                sum += a_rows[t * k + i] * w_rows[n * k + i];
            }
            c[t * c_stride + n] = sum;
        }
    }
}
