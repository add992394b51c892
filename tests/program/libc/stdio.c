// Integers and text in every form that printf has, arguments, environment, standard input.
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int compare(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        printf("argv[%d] = \"%s\"\n", i, argv[i]);
    printf("A=%s missing=%s\n", getenv("A"), getenv("MISSING") ? "set" : "not set");
    printf("[%d] [%5d] [%-5d] [%05d] [%+d] [% d] [%x] [%#X] [%o] [%c]\n", -42, 42, 42, 42, 42, 42,
           0xbeef, 0xbeef, 0755, 'z');
    printf("[%lld] [%" PRIu64 "] [%ld] [%hhd] [%zu]\n", LLONG_MIN, UINT64_MAX, LONG_MAX, 300,
           sizeof(long));
    printf("[%s] [%10s] [%-10s] [%.3s] [%*.*s] [%%]\n", "text", "right", "left", "cut", 6, 2, "star");
    char line[128];
    while (fgets(line, sizeof line, stdin))
        printf("line of %zu: %s", strlen(line), line);
    int a, b;
    printf("sscanf %d", sscanf("17 -0x1f rest", "%d %i", &a, &b));
    printf(" %d %d\n", a, b);
    printf("strtol %ld", strtol("99999999999999999999", NULL, 10));
    printf(" %s\n", strerror(errno));
    char *words[] = {"pear", "apple", "fig", "quince"};
    qsort(words, 4, sizeof *words, compare);
    for (int i = 0; i < 4; i++)
        printf("%s%s", words[i], i < 3 ? " " : "\n");
    time_t day = 86400 * 365;
    printf("%s", asctime(gmtime(&day)));
    fflush(stdout);
    fprintf(stderr, "to stderr\n");
    return 7;
}
