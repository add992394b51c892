// Rounding is the conversion's: to nearest even, as the ABI promises for `frm`. The two narrowing
// steps only saturate (they shift by 0, so `vxrm` has no say) and the zero point is added between
// them, where 16 bits leave room for it.

#include "requant.h"

#include <riscv_vector.h>

static inline vint8m1_t narrow(vfloat32m4_t scaled, int8_t zero_point, size_t vl) {
    const vint32m4_t wide = __riscv_vfcvt_x_f_v_i32m4(scaled, vl); // saturates at 32 bits
    vint16m2_t half = __riscv_vnclip_wx_i16m2(wide, 0, __RISCV_VXRM_RDN, vl);
    half = __riscv_vsadd_vx_i16m2(half, zero_point, vl);
    return __riscv_vnclip_wx_i8m1(half, 0, __RISCV_VXRM_RDN, vl);
}

void requant_f32_s8(size_t n, const float *x, struct requant to, int8_t *y) {
    for (size_t vl; n != 0; n -= vl, x += vl, y += vl) {
        vl = __riscv_vsetvl_e32m4(n);
        const vfloat32m4_t in = __riscv_vle32_v_f32m4(x, vl);
        const vfloat32m4_t scaled = __riscv_vfmul_vf_f32m4(in, to.scale, vl);
        __riscv_vse8_v_i8m1(y, narrow(scaled, to.zero_point, vl), vl);
    }
}

void requant_i32_s8(size_t n, const int32_t *x, const float *scale, int8_t zero_point, int8_t *y) {
    for (size_t vl; n != 0; n -= vl, x += vl, scale += vl, y += vl) {
        vl = __riscv_vsetvl_e32m4(n);
        const vfloat32m4_t in = __riscv_vfcvt_f_x_v_f32m4(__riscv_vle32_v_i32m4(x, vl), vl);
        const vfloat32m4_t scales = __riscv_vle32_v_f32m4(scale, vl);
        const vfloat32m4_t scaled = __riscv_vfmul_vv_f32m4(in, scales, vl);
        __riscv_vse8_v_i8m1(y, narrow(scaled, zero_point, vl), vl);
    }
}
