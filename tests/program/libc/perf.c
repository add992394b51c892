/* Counts its own instructions and cycles with perf events, by reading them and from user mode. */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int event(uint64_t config, int group) {
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_HARDWARE;
    attr.config = config;
    attr.disabled = group < 0;
    attr.exclude_kernel = attr.exclude_hv = 1;
    attr.read_format = PERF_FORMAT_GROUP;
    return syscall(SYS_perf_event_open, &attr, 0, -1, group, 0);
}

static uint64_t user_read(volatile struct perf_event_mmap_page *page) {
    uint64_t counter = 0;
    if (page->index == 1)
        asm volatile("csrr %0, cycle" : "=r"(counter));
    else if (page->index == 3)
        asm volatile("csrr %0, instret" : "=r"(counter));
    return counter + page->offset;
}

int main(void) {
    int cycles = event(PERF_COUNT_HW_CPU_CYCLES, -1);
    int instructions = event(PERF_COUNT_HW_INSTRUCTIONS, cycles);
    if (cycles < 0 || instructions < 0) return perror("perf_event_open"), 1;
    struct perf_event_mmap_page *pages[2];
    int fds[2] = {cycles, instructions};
    for (int i = 0; i < 2; i++) {
        pages[i] = mmap(0, 4096, PROT_READ, MAP_SHARED, fds[i], 0);
        if (pages[i] == MAP_FAILED || !pages[i]->cap_user_rdpmc) return puts("no page"), 2;
    }
    uint64_t before[3], after[3], user[2][2];
    ioctl(cycles, PERF_EVENT_IOC_ENABLE, 0);
    read(cycles, before, sizeof before);
    for (int i = 0; i < 2; i++) user[0][i] = user_read(pages[i]);
    unsigned long n = 1000;
    asm volatile("1: addi %0, %0, -1\n mul t0, %0, %0\n mul t0, t0, t0\n bnez %0, 1b"
                 : "+r"(n) : : "t0");
    for (int i = 0; i < 2; i++) user[1][i] = user_read(pages[i]);
    read(cycles, after, sizeof after);
    ioctl(cycles, PERF_EVENT_IOC_DISABLE, PERF_IOC_FLAG_GROUP);
    for (int i = 0; i < 2; i++) {
        uint64_t read_count = after[i + 1] - before[i + 1], user_count = user[1][i] - user[0][i];
        printf("%d %llu %llu\n", pages[i]->index, (unsigned long long)read_count,
               (unsigned long long)user_count);
    }
    return 0;
}
