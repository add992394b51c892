// The operations at one LMUL. The including file defines LMUL (1, 2, 4 or 8), RATIO (8 / LMUL, the
// mask type of bytes at this LMUL) and FIELDS (8 / LMUL, or 0 where segments don't fit).
//
// An included file rather than a macro, so that every statement keeps its line in profiles.

#define PASTE_(a, b) a##b
#define PASTE(a, b) PASTE_(a, b)
#define STRING_(a) #a
#define STRING(a) STRING_(a)

#define M PASTE(m, LMUL)
#define B PASTE(b, RATIO)
#define NAME(operation) PASTE(operation, PASTE(_, M))
#define U8(operation) PASTE(__riscv_, PASTE(operation, PASTE(_u8, M)))
#define U8_MASK(operation) PASTE(U8(operation), PASTE(_, B))
#define MASK(operation) PASTE(__riscv_, PASTE(operation, PASTE(_, B)))
#define SETVL PASTE(__riscv_vsetvl_e8, M)

typedef PASTE(vuint8, PASTE(M, _t)) NAME(bytes);
typedef PASTE(vbool, PASTE(RATIO, _t)) NAME(mask);

static void NAME(copy)(uint8_t *dst, const uint8_t *src, size_t n) {
    for (size_t vl; n != 0; n -= vl, dst += vl, src += vl) {
        vl = SETVL(n);
        U8(vse8_v)(dst, U8(vle8_v)(src, vl), vl);
    }
}

static void NAME(set)(uint8_t *dst, uint8_t byte, size_t n) {
    const NAME(bytes) pattern = U8(vmv_v_x)(byte, SETVL(n)); // vl only falls after the first strip
    for (size_t vl; n != 0; n -= vl, dst += vl) {
        vl = SETVL(n);
        U8(vse8_v)(dst, pattern, vl);
    }
}

// Reading past the byte that ends the search may reach a page that isn't there. The load stops in
// front of it and says in `loaded` how far it came.
static const uint8_t *NAME(find)(const uint8_t *src, uint8_t byte, size_t n) {
    for (size_t loaded; n != 0; n -= loaded, src += loaded) {
        const size_t vl = SETVL(n);
        const NAME(bytes) data = U8(vle8ff_v)(src, &loaded, vl);
        const NAME(mask) hits = U8_MASK(vmseq_vx)(data, byte, loaded);
        const long first = MASK(vfirst_m)(hits, loaded);
        if (first >= 0) {
            return src + first;
        }
    }
    return NULL;
}

#if FIELDS != 0
#define SEGMENTS PASTE(M, PASTE(x, FIELDS))
#define STORE_FIELD(i) U8(vse8_v)(dst + (i) * rows, U8(vget)(data, i), vl)

static void NAME(transpose)(uint8_t *dst, const uint8_t *src, size_t n) {
    const size_t rows = n;
    for (size_t vl; n != 0; n -= vl, dst += vl, src += FIELDS * vl) {
        vl = SETVL(n);
        const PASTE(vuint8, PASTE(SEGMENTS, _t)) data =
            PASTE(PASTE(__riscv_vlseg, FIELDS), PASTE(e8_v_u8, SEGMENTS))(src, vl);
        STORE_FIELD(0);
        STORE_FIELD(1);
#if FIELDS > 2
        STORE_FIELD(2);
        STORE_FIELD(3);
#endif
#if FIELDS > 4
        STORE_FIELD(4);
        STORE_FIELD(5);
        STORE_FIELD(6);
        STORE_FIELD(7);
#endif
    }
}

#undef SEGMENTS
#undef STORE_FIELD
#endif

// vrgather reads elements of the table beyond vl, so a short strip sees all of it.
static void NAME(lookup)(uint8_t *dst, const uint8_t *src, size_t n, const uint8_t *table) {
    const NAME(bytes) entries = U8(vle8_v)(table, MEMOPS_TABLE); // VLMAX >= 16 since VLEN >= 128
    for (size_t vl; n != 0; n -= vl, dst += vl, src += vl) {
        vl = SETVL(n);
        const NAME(bytes) index = U8(vand_vx)(U8(vle8_v)(src, vl), MEMOPS_TABLE - 1, vl);
        U8(vse8_v)(dst, U8(vrgather_vv)(entries, index, vl), vl);
    }
}

static size_t NAME(compact)(uint8_t *dst, const uint8_t *src, size_t n, uint8_t limit) {
    uint8_t *const start = dst;
    for (size_t vl; n != 0; n -= vl, src += vl) {
        vl = SETVL(n);
        const NAME(bytes) data = U8(vle8_v)(src, vl);
        const NAME(mask) keep = U8_MASK(vmsltu_vx)(data, limit, vl);
        const size_t kept = MASK(vcpop_m)(keep, vl);
        U8(vse8_v)(dst, U8(vcompress_vm)(data, keep, vl), kept);
        dst += kept;
    }
    return (size_t)(dst - start);
}

const struct memops NAME(memops) = {
    .lmul = STRING(M),
    .copy = NAME(copy),
    .set = NAME(set),
    .find = NAME(find),
    .fields = FIELDS,
#if FIELDS != 0
    .transpose = NAME(transpose),
#endif
    .lookup = NAME(lookup),
    .compact = NAME(compact),
};

#undef PASTE_
#undef PASTE
#undef STRING_
#undef STRING
#undef M
#undef B
#undef NAME
#undef U8
#undef U8_MASK
#undef MASK
#undef SETVL
#undef LMUL
#undef RATIO
#undef FIELDS
