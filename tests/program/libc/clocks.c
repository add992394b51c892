// What must be the same in each run of rvsim, and what a clock owes any program.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static long long now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char **argv) {
    int word = 1;
    if (argc > 1)
        syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
    unsigned char bytes[8];
    printf("getrandom %zd:", getrandom(bytes, sizeof bytes, 0));
    for (unsigned i = 0; i < sizeof bytes; i++)
        printf(" %02x", bytes[i]);
    long long start = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
    struct timespec second = {1, 0};
    printf("\nnanosleep %d", nanosleep(&second, NULL));
    long long slept = now(CLOCK_MONOTONIC) - start;
    cpu = now(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf(" slept %lld cpu %lld clock %ld time %ld\n", slept, cpu, (long)clock(), (long)time(NULL));
    struct timeval tv;
    gettimeofday(&tv, NULL);
    printf("%ld.%06ld\n", (long)tv.tv_sec, (long)tv.tv_usec);
    struct utsname name;
    uname(&name);
    printf("%s %s %s\n", name.sysname, name.release, name.machine);
    printf("pid %d uid %d cpus %ld page %ld\n", getpid(), getuid(), sysconf(_SC_NPROCESSORS_ONLN),
           sysconf(_SC_PAGESIZE));
    printf("stack %d heap %d\n", (int)((size_t)&word & 0xfff), (int)((size_t)malloc(1) & 0xfff));
    printf("mutex %d %d %d\n", pthread_mutex_lock(&mutex), pthread_mutex_trylock(&mutex) == EBUSY,
           pthread_mutex_unlock(&mutex));
    pthread_t thread;
    printf("thread: %s\n", strerror(pthread_create(&thread, NULL, (void *(*)(void *))now, NULL)));
    printf("fork %d\n", fork());
    return slept < 1000000000 || slept > 1010000000 || cpu > 10000000;
}
