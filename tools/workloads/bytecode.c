// An interpreter: a stack machine whose loop is a switch, which compilers turn into a jump table.

#include "runtime.h"

enum opcode { PUSH, LOAD, STORE, ADD, SUB, MUL, XOR, SHIFT_RIGHT, JUMP_IF_ZERO, JUMP, HALT };
enum { ITERATIONS = 500, STACK = 16, LOCALS = 2, SUM = 0, COUNTER = 1 };

// for (counter = ITERATIONS; counter != 0; counter--) sum = sum * 31 + counter ^ sum >> 7
static const int16_t program[] = {
    /*  0 */ PUSH, ITERATIONS, STORE, COUNTER,
    /*  4 */ LOAD, COUNTER, JUMP_IF_ZERO, 33,
    /*  8 */ LOAD, SUM, PUSH, 31, MUL, LOAD, COUNTER, ADD,
    /* 16 */ LOAD, SUM, PUSH, 7, SHIFT_RIGHT, XOR, STORE, SUM,
    /* 24 */ LOAD, COUNTER, PUSH, 1, SUB, STORE, COUNTER,
    /* 31 */ JUMP, 4,
    /* 33 */ HALT,
};

static __attribute__((noinline)) uint64_t interpret(const int16_t *code, uint64_t sum) {
    uint64_t stack[STACK], locals[LOCALS] = {[SUM] = sum};
    uint64_t *top = stack; // the next free place
    for (const int16_t *at = code;;) {
        switch ((enum opcode)*at++) {
        case PUSH: *top++ = (uint64_t)*at++; break;
        case LOAD: *top++ = locals[*at++]; break;
        case STORE: locals[*at++] = *--top; break;
        case ADD: top--; top[-1] += top[0]; break;
        case SUB: top--; top[-1] -= top[0]; break;
        case MUL: top--; top[-1] *= top[0]; break;
        case XOR: top--; top[-1] ^= top[0]; break;
        case SHIFT_RIGHT: top--; top[-1] >>= top[0]; break;
        case JUMP_IF_ZERO: at = *--top == 0 ? code + *at : at + 1; break;
        case JUMP: at = code + *at; break;
        case HALT: return locals[SUM];
        }
    }
}

int main(int argc, char **argv) {
    const uint64_t rounds = argc > 1 ? rt_parse_u64(argv[1], 1) : 1;
    uint64_t sum = 1;
    for (uint64_t i = 0; i < rounds; i++) {
        sum = interpret(program, sum);
    }
    return rt_finish(true, sum);
}
