// Sums of products; DEFECT brings in one that no emulator with undisturbed tails shows.

#include <riscv_vector.h>
#include <stddef.h>
#include <stdint.h>

int32_t dot_s8(const int8_t *a, const int8_t *b, size_t n) {
    size_t vlmax = __riscv_vsetvlmax_e32m4();
    vint32m4_t sums = __riscv_vmv_v_x_i32m4(0, vlmax);
    for (size_t vl; n > 0; n -= vl, a += vl, b += vl) {
        vl = __riscv_vsetvl_e8m1(n);
        vint8m1_t x = __riscv_vle8_v_i8m1(a, vl), y = __riscv_vle8_v_i8m1(b, vl);
        vint16m2_t products = __riscv_vwmul_vv_i16m2(x, y, vl);
#ifdef DEFECT
        sums = __riscv_vwadd_wv_i32m4(sums, products, vl);
#else
        sums = __riscv_vwadd_wv_i32m4_tu(sums, sums, products, vl);
#endif
    }
    vint32m1_t zero = __riscv_vmv_v_x_i32m1(0, 1);
    return __riscv_vmv_x_s_i32m1_i32(__riscv_vredsum_vs_i32m4_i32m1(sums, zero, vlmax));
}

// A copy of 8 floats that takes VLEN to be 256.
void copy8(float *to, const float *from) {
    size_t vl = __riscv_vsetvlmax_e32m1();
    __riscv_vse32_v_f32m1(to, __riscv_vle32_v_f32m1(from, vl), vl);
}

// Rounds to the nearest integer as vxrm says, which it sets unless DEFECT.
void halve(int16_t *a, size_t n) {
    for (size_t vl; n > 0; n -= vl, a += vl) {
        vl = __riscv_vsetvl_e16m1(n);
        vint16m1_t x = __riscv_vle16_v_i16m1(a, vl);
#ifdef DEFECT
        __asm__("vssra.vi %0, %0, 1" : "+vr"(x));
#else
        x = __riscv_vssra_vx_i16m1(x, 1, __RISCV_VXRM_RNE, vl);
#endif
        __riscv_vse16_v_i16m1(a, x, vl);
    }
}

float dot_f32(const float *a, const float *b, size_t n) {
    size_t vlmax = __riscv_vsetvlmax_e32m2();
    vfloat32m2_t sums = __riscv_vfmv_v_f_f32m2(0, vlmax);
    for (size_t vl; n > 0; n -= vl, a += vl, b += vl) {
        vl = __riscv_vsetvl_e32m2(n);
        vfloat32m2_t x = __riscv_vle32_v_f32m2(a, vl), y = __riscv_vle32_v_f32m2(b, vl);
        sums = __riscv_vfmacc_vv_f32m2_tu(sums, x, y, vl);
    }
    vfloat32m1_t zero = __riscv_vfmv_v_f_f32m1(0, 1);
#ifdef DEFECT
    vlmax -= vlmax > 8;
#endif
    return __riscv_vfmv_f_s_f32m1_f32(__riscv_vfredusum_vs_f32m2_f32m1(sums, zero, vlmax));
}
