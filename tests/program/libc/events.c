// What one process can say to itself: pipes, poll, select, epoll, counters, timers, signals as files.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t seen, number_seen;

static void count(int number) {
    seen++;
    number_seen = number;
}

static void value(int number, siginfo_t *info, void *context) {
    seen++;
    number_seen = info->si_value.sival_int;
}

static void show(const char *what, long result) {
    printf("%s = %ld%s%s\n", what, result, result < 0 ? " " : "", result < 0 ? strerror(errno) : "");
}
#define SHOW(call) (errno = 0, show(#call, (long)(call)))

static int events_of(int fd, int wanted) {
    struct pollfd one = {fd, wanted, 0};
    int found = poll(&one, 1, 0);
    return found * 0x10000 + one.revents;
}

static void handle(int number, int flags) {
    struct sigaction action = {.sa_handler = count, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

static void pipes(void) {
    int fds[2];
    char buffer[70000] = "abc";
    SHOW(pipe2(fds, O_NONBLOCK));
    SHOW(fcntl(fds[0], F_GETPIPE_SZ));
    SHOW(read(fds[0], buffer, 5));
    printf("%x %x\n", events_of(fds[0], POLLIN), events_of(fds[1], POLLOUT));
    SHOW(write(fds[1], "hello", 5));
    printf("%x\n", events_of(fds[0], POLLIN | POLLOUT));
    struct iovec parts[2] = {{buffer, 2}, {buffer + 10, 10}};
    SHOW(readv(fds[0], parts, 2));
    printf("%.2s %.3s\n", buffer, buffer + 10);
    SHOW(write(fds[1], buffer, sizeof buffer));
    SHOW(write(fds[1], buffer, 1));
    printf("%x\n", events_of(fds[1], POLLOUT));
    SHOW(fcntl(fds[1], F_SETPIPE_SZ, 4096));
    SHOW(fcntl(fds[1], F_SETPIPE_SZ, 100000));
    SHOW(write(fds[1], buffer, 1));
    SHOW(read(fds[0], buffer, sizeof buffer));
    SHOW(lseek(fds[0], 0, SEEK_SET));
    SHOW(pread(fds[0], buffer, 1, 0));
    SHOW(write(fds[0], buffer, 1));
    SHOW(read(fds[1], buffer, 1));
    SHOW(write(fds[1], "end", 3));
    int twin = dup(fds[1]);
    close(fds[1]);
    printf("%x\n", events_of(fds[0], POLLIN));
    close(twin);
    printf("%x\n", events_of(fds[0], POLLIN));
    SHOW(read(fds[0], buffer, 10));
    SHOW(read(fds[0], buffer, 10));
    SHOW(fcntl(fds[0], F_SETFL, 0));
    SHOW(read(fds[0], buffer, 10));
    close(fds[0]);
    SHOW(pipe2(fds, O_CLOEXEC));
    SHOW(fcntl(fds[0], F_GETFD));
    close(fds[0]);
    printf("%x\n", events_of(fds[1], POLLOUT));
    handle(SIGPIPE, 0);
    SHOW(write(fds[1], "x", 1));
    printf("signals %d last %d\n", seen, number_seen);
    close(fds[1]);
    SHOW(events_of(fds[1], POLLIN));
}

static void polling(void) {
    int fds[2];
    pipe(fds);
    struct pollfd three[4] = {{fds[0], POLLIN, 9}, {-1, POLLIN, 9}, {fds[1], POLLOUT, 9}, {99, POLLIN, 9}};
    SHOW(poll(three, 4, -1));
    printf("%x %x %x %x\n", three[0].revents, three[1].revents, three[2].revents, three[3].revents);
    struct timespec brief = {0, 2000000};
    SHOW(ppoll(three, 1, &brief, NULL));
    SHOW(poll(NULL, 0, 1));
    brief.tv_nsec = 1000000000;
    SHOW(ppoll(three, 1, &brief, NULL));
    fd_set reads, writes;
    FD_ZERO(&reads);
    FD_ZERO(&writes);
    FD_SET(fds[0], &reads), FD_SET(fds[1], &writes);
    SHOW(select(fds[1] + 1, &reads, &writes, NULL, NULL));
    printf("%d %d\n", !!FD_ISSET(fds[0], &reads), !!FD_ISSET(fds[1], &writes));
    struct timeval moment = {0, 1000};
    FD_SET(fds[0], &reads);
    SHOW(select(fds[0] + 1, &reads, NULL, NULL, &moment));
    FD_SET(50, &reads); /* Linux looks at no more than its table has, which may be 64 */
    SHOW(select(51, &reads, NULL, NULL, &moment));
    SHOW(select(-1, &reads, NULL, NULL, &moment));
    int zero = open("/dev/zero", O_RDONLY);
    printf("%x\n", events_of(zero, POLLIN | POLLOUT));
    close(zero);
    close(fds[0]), close(fds[1]);
}

static void epolls(void) {
    int fds[2];
    pipe2(fds, O_NONBLOCK);
    int epoll = epoll_create1(EPOLL_CLOEXEC), file = open("/proc/self/exe", O_RDONLY);
    struct epoll_event event = {EPOLLIN, {.u64 = 0x123456789abcULL}}, found[4];
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[0], &event));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, epoll, &event));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[1], &event));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_DEL, fds[1], NULL));
    SHOW(epoll_ctl(epoll, 9, fds[0], &event));
    SHOW(epoll_ctl(fds[0], EPOLL_CTL_ADD, fds[1], &event));
    SHOW(epoll_wait(epoll, found, 4, 1));
    SHOW(epoll_wait(epoll, found, 0, 1));
    write(fds[1], "1", 1);
    SHOW(epoll_wait(epoll, found, 4, -1));
    printf("%x %llx, poll %x\n", found[0].events, (long long)found[0].data.u64, events_of(epoll, POLLIN));
    event.events = EPOLLIN | EPOLLET;
    SHOW(epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &event));
    SHOW(epoll_wait(epoll, found, 4, 0));
    SHOW(epoll_wait(epoll, found, 4, 0));
    write(fds[1], "2", 1);
    SHOW(epoll_wait(epoll, found, 4, 0));
    SHOW(epoll_wait(epoll, found, 4, 0));
    event.events = EPOLLIN | EPOLLONESHOT;
    epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &event);
    SHOW(epoll_wait(epoll, found, 4, 0));
    SHOW(epoll_wait(epoll, found, 4, 0));
    epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &event);
    SHOW(epoll_wait(epoll, found, 4, 0));
    event.events = EPOLLOUT, event.data.u64 = 7;
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[1], &event));
    SHOW(epoll_wait(epoll, found, 4, 0));
    int outer = epoll_create1(0);
    event.events = EPOLLIN;
    SHOW(epoll_ctl(outer, EPOLL_CTL_ADD, epoll, &event));
    SHOW(epoll_ctl(epoll, EPOLL_CTL_ADD, outer, &event));
    SHOW(epoll_wait(outer, found, 4, 0));
    close(fds[1]);
    SHOW(epoll_wait(epoll, found, 4, 0));
    event.events = EPOLLIN;
    epoll_ctl(epoll, EPOLL_CTL_MOD, fds[0], &event);
    SHOW(epoll_wait(epoll, found, 4, 0));
    printf("%x\n", found[0].events);
    close(epoll), close(fds[0]), close(outer), close(file);
}

static void counters(void) {
    uint64_t number = 3;
    int fd = eventfd(2, EFD_NONBLOCK);
    SHOW(write(fd, &number, 8));
    SHOW(read(fd, &number, 4));
    SHOW(read(fd, &number, 8));
    printf("%llu %x\n", (long long)number, events_of(fd, POLLIN | POLLOUT));
    SHOW(read(fd, &number, 8));
    number = -1;
    SHOW(write(fd, &number, 8));
    number = -2;
    SHOW(write(fd, &number, 8));
    SHOW(write(fd, &number, 8));
    printf("%x\n", events_of(fd, POLLIN | POLLOUT));
    close(fd);
    fd = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    char large[16];
    SHOW(read(fd, large, 16));
    SHOW(read(fd, &number, 8));
    SHOW(read(fd, &number, 8));
    close(fd);
}

static void timers(void) {
    uint64_t expired = 0;
    struct itimerspec each = {{0, 1000000}, {0, 1000000}}, left;
    int fd = timerfd_create(CLOCK_MONOTONIC, 0), epoll = epoll_create1(0);
    SHOW(timerfd_settime(fd, 0, &each, NULL));
    SHOW(read(fd, &expired, 8));
    struct epoll_event event = {EPOLLIN | EPOLLET}, found;
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    SHOW(epoll_wait(epoll, &found, 1, 1000));
    SHOW(epoll_wait(epoll, &found, 1, 1000));
    usleep(5000);
    SHOW(read(fd, &expired, 8));
    printf("expired at least 6 times: %d\n", expired >= 6);
    SHOW(timerfd_gettime(fd, &left));
    printf("%ld %d\n", left.it_interval.tv_nsec, left.it_value.tv_nsec <= 1000000);
    each.it_value.tv_nsec = 0;
    SHOW(timerfd_settime(fd, 0, &each, NULL));
    printf("%x\n", events_of(fd, POLLIN));
    each.it_value.tv_nsec = 1;
    SHOW(timerfd_settime(fd, TFD_TIMER_ABSTIME, &each, NULL));
    printf("%x\n", events_of(fd, POLLIN));
    each.it_value.tv_nsec = -1;
    SHOW(timerfd_settime(fd, 0, &each, NULL));
    SHOW(timerfd_create(99, 0));
    close(fd), close(epoll);
}

static void alarms(void) {
    seen = 0;
    handle(SIGALRM, 0);
    struct itimerval soon = {{0, 0}, {0, 200}};
    SHOW(setitimer(ITIMER_REAL, &soon, NULL));
    while (!seen) {
    }
    printf("a busy loop has ended, by %d\n", number_seen);
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(pause());
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(poll(NULL, 0, -1));
    struct timespec hour = {3600, 0}, rest = {0, 0};
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(nanosleep(&hour, &rest));
    printf("%d\n", (int)(rest.tv_sec / 100));
    int fds[2];
    char byte;
    pipe(fds);
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(read(fds[0], &byte, 1));
    soon.it_value.tv_usec = 900000;
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(alarm(5));
    SHOW(alarm(0));
    SHOW(setitimer(7, &soon, NULL));
    soon.it_value.tv_usec = 1000000;
    SHOW(setitimer(ITIMER_REAL, &soon, NULL));
    soon.it_value.tv_usec = 200;
    handle(SIGPROF, 0);
    setitimer(ITIMER_PROF, &soon, NULL);
    while (number_seen != SIGPROF) {
    }
    SHOW(seen);
    struct sigaction action = {.sa_sigaction = value, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN + 2, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 2, .sigev_value.sival_int = 4711};
    timer_t timer;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    struct itimerspec once = {{0, 0}, {0, 1000000}}, left;
    SHOW(timer_settime(timer, 0, &once, NULL));
    SHOW(pause());
    printf("value %d\n", number_seen);
    SHOW(timer_gettime(timer, &left));
    printf("%ld %ld\n", left.it_value.tv_sec, left.it_value.tv_nsec);
    SHOW(timer_delete(timer));
    union sigval sent = {.sival_int = 99};
    SHOW(sigqueue(getpid(), SIGRTMIN + 2, sent));
    printf("value %d\n", number_seen);
    SHOW(sigqueue(getpid(), 65, sent));
}

static void signal_files(void) {
    sigset_t set;
    sigemptyset(&set), sigaddset(&set, SIGUSR1), sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int fd = signalfd(-1, &set, SFD_NONBLOCK);
    struct signalfd_siginfo info;
    SHOW(read(fd, &info, sizeof info));
    raise(SIGUSR1);
    printf("%x\n", events_of(fd, POLLIN));
    SHOW(read(fd, &info, sizeof info));
    printf("%d %d\n", info.ssi_signo, info.ssi_pid == getpid());
    SHOW(read(fd, &info, 8));
    struct itimerval soon = {{0, 0}, {0, 1000}};
    setitimer(ITIMER_REAL, &soon, NULL);
    struct timespec longer = {5, 0};
    SHOW(sigtimedwait(&set, NULL, &longer));
    longer.tv_sec = 0;
    SHOW(sigtimedwait(&set, NULL, &longer));
    close(fd);
}

static void transfers(void) {
    char buffer[32];
    int fds[2], memory = memfd_create("name", 0), copy = memfd_create("copy", MFD_CLOEXEC);
    pipe(fds);
    SHOW(write(memory, "0123456789", 10));
    off_t at = 2;
    loff_t where = 4, there = 1;
    SHOW(sendfile(fds[1], memory, &at, 5));
    printf("at %ld\n", (long)at);
    SHOW(read(fds[0], buffer, 32));
    SHOW(copy_file_range(memory, &where, copy, &there, 100, 0));
    printf("%ld %ld %ld\n", (long)where, (long)there, (long)lseek(copy, 0, SEEK_END));
    SHOW(copy_file_range(memory, NULL, memory, NULL, 4, 0));
    where = 0;
    SHOW(splice(memory, &where, fds[1], NULL, 100, 0));
    int others[2];
    pipe(others);
    SHOW(tee(fds[0], others[1], 4, 0));
    SHOW(splice(fds[0], NULL, copy, NULL, 6, 0));
    SHOW(splice(memory, NULL, copy, NULL, 6, 0));
    SHOW(read(others[0], buffer, 32));
    SHOW(read(fds[0], buffer, 32));
    SHOW(sendfile(copy, fds[0], NULL, 5));
    SHOW(preadv(copy, (struct iovec[]){{buffer, 3}, {buffer + 8, 20}}, 2, 1));
    printf("%.3s %.4s\n", buffer, buffer + 8);
    SHOW(posix_fallocate(memory, 0, 100));
    SHOW(lseek(memory, 0, SEEK_END));
    SHOW(posix_fadvise(memory, 0, 0, POSIX_FADV_SEQUENTIAL));
    SHOW(posix_fadvise(fds[0], 0, 0, POSIX_FADV_SEQUENTIAL));
    close(memory), close(copy);
}

static void harmless(void) {
    void *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned char there[2] = {0, 0};
    memset(page, 1, 8192);
    SHOW(mincore(page, 8192, there));
    printf("%d %d\n", there[0] & 1, there[1] & 1);
    SHOW(mlock(page, 4096));
    SHOW(munlock(page, 4096));
    munmap(page, 4096);
    SHOW(mincore(page, 4096, there));
    SHOW(setgid(getgid()));
    SHOW(setuid(getuid()));
    SHOW(setreuid(-1, geteuid()));
    struct sched_param param = {7};
    SHOW(sched_getparam(0, &param));
    SHOW(param.sched_priority);
    SHOW(sched_get_priority_max(SCHED_FIFO));
    SHOW(sched_get_priority_min(SCHED_OTHER));
    SHOW(waitpid(-1, NULL, 0));
    struct statfs about;
    SHOW(fstatfs(99, &about));
    SHOW(flock(99, 2));
    struct timespec forever = {INT64_MAX, 0}, wrong = {-1, 0}, wrong_too = {0, 1000000000};
    SHOW(nanosleep(&wrong, NULL));
    SHOW(nanosleep(&wrong_too, NULL));
    struct iovec huge[2] = {{&about, INT64_MAX}, {&about, INT64_MAX}};
    SHOW(writev(1, huge, 2));
    SHOW(writev(1, huge, 1025));
    SHOW(writev(1, huge, -1));
    struct itimerval soon = {{0, 0}, {0, 1000}};
    handle(SIGALRM, 0);
    sigset_t none;
    sigemptyset(&none), sigprocmask(SIG_SETMASK, &none, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(nanosleep(&forever, NULL));
}

int main(void) {
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    pipes();
    polling();
    epolls();
    counters();
    timers();
    alarms();
    signal_files();
    transfers();
    harmless();
    return 0;
}
