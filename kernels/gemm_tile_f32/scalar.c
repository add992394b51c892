// In a file of its own, so that nothing of it is inlined into or specialised for the checks.

#include "gemm.h"
#include "runtime.h"

void gemm_scalar(size_t tokens, size_t channels, size_t k, const float *a_rows, const float *w_rows,
                 float *c, size_t c_stride) {
    for (size_t t = 0; t < tokens; t++) {
        for (size_t n = 0; n < channels; n++) {
            float sum = 0;
            for (size_t i = 0; i < k; i++) {
                sum = rt_fma(a_rows[t * k + i], w_rows[n * k + i], sum);
            }
            c[t * c_stride + n] = sum;
        }
    }
}
