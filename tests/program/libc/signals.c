// Signals to oneself; argv[1] chooses how the program ends.
#define _GNU_SOURCE
#include <assert.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static volatile sig_atomic_t seen, depth, at_pc;
static sigjmp_buf back;

static void count(int number) { seen = seen * 100 + number; }

static void nested(int number) {
    depth++;
    if (depth < 3)
        raise(number);
    seen++;
}

static void jump(int number, siginfo_t *info, void *context) {
    printf("fault %d code %d at null page %d\n", number, info->si_code,
           info->si_code > 0 && (uintptr_t)info->si_addr < 4096);
    siglongjmp(back, number);
}

static void skip(int number, siginfo_t *info, void *context) {
    ucontext_t *frame = context;
    unsigned short first;
    uintptr_t pc = (uintptr_t)frame->uc_mcontext.__gregs[0];
    memcpy(&first, (void *)pc, 2);
    frame->uc_mcontext.__gregs[0] += (first & 3) == 3 ? 4 : 2;
    frame->uc_mcontext.__gregs[10] = 1234;
    seen = number;
    at_pc = (uintptr_t)info->si_addr == pc;
}

static void act(int number, void (*handler)(int, siginfo_t *, void *), int flags) {
    struct sigaction action = {0};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    sigaction(number, &action, NULL);
}

int main(int argc, char **argv) {
    signal(SIGUSR1, count);
    signal(SIGUSR2, count);
    printf("raise %d", raise(SIGUSR1));
    printf(" seen %d\n", (int)seen);

    sigset_t set, old;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, &old);
    raise(SIGUSR2);
    raise(SIGUSR1);
    raise(SIGUSR1);
    printf("blocked: seen %d\n", (int)seen);
    sigset_t pending;
    sigpending(&pending);
    printf("pending %d %d %d\n", sigismember(&pending, SIGUSR1), sigismember(&pending, SIGUSR2),
           sigismember(&pending, SIGTERM));
    sigprocmask(SIG_SETMASK, &old, NULL);
    printf("unblocked: seen %d\n", (int)seen);

    seen = 0;
    struct sigaction action = {0};
    action.sa_handler = nested;
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    printf("nested %d %d\n", (int)depth, (int)seen);

    act(SIGSEGV, jump, 0);
    int number = sigsetjmp(back, 1);
    if (number == 0)
        *(volatile int *)16 = 1;
    printf("back from %d\n", number);

    act(SIGILL, skip, 0);
    register long a0 __asm__("a0") = 1;
    __asm__ volatile(".4byte 0" : "+r"(a0));
    printf("skipped %d %ld, address is the pc: %d\n", (int)seen, a0, (int)at_pc);

    stack_t stack = {malloc(1 << 16), 0, 1 << 16};
    sigaltstack(&stack, NULL);
    act(SIGBUS, jump, SA_ONSTACK);
    if (sigsetjmp(back, 1) == 0)
        kill(getpid(), SIGBUS);
    printf("on another stack\n");

    fflush(stdout);
    const char *end = argc > 1 ? argv[1] : "";
    signal(SIGSEGV, SIG_DFL);
    if (!strcmp(end, "abort"))
        abort();
    if (!strcmp(end, "assert"))
        assert(argc == 0);
    if (!strcmp(end, "segv"))
        *(volatile int *)16 = 1;
    if (!strcmp(end, "term"))
        kill(0 * getpid() + getpid(), SIGTERM);
    return 0;
}
