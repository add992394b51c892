// Files below the folder in argv[1]: write, read, seek, list, rename, remove, and what goes wrong.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int order(const struct dirent **a, const struct dirent **b) {
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void list(const char *name) {
    struct dirent **entries;
    int n = scandir(name, &entries, NULL, order);
    printf("%d entries:", n);
    for (int i = 0; i < n; i++)
        printf(" %s%s", entries[i]->d_name, entries[i]->d_type == DT_DIR ? "/" : "");
    printf("\n");
}

int main(int argc, char **argv) {
    if (argc < 2 || chdir(argv[1]) != 0) {
        printf("no folder: %s\n", strerror(errno));
        return 1;
    }
    FILE *file = fopen("numbers", "w+");
    for (int i = 0; i < 300; i++)
        fprintf(file, "%d\n", i * i);
    printf("at %ld\n", ftell(file));
    fseek(file, 100, SEEK_SET);
    char word[64];
    fscanf(file, "%63s", word);
    printf("read %s at %ld\n", word, ftell(file));
    fseek(file, -8, SEEK_END);
    size_t n = fread(word, 1, sizeof word, file);
    printf("last %zu: %.*s", n, (int)n, word);
    printf("end %d error %d\n", feof(file) != 0, ferror(file) != 0);
    fclose(file);
    struct stat status;
    printf("stat %d size %ld regular %d\n", stat("numbers", &status), (long)status.st_size,
           S_ISREG(status.st_mode));

    int fd = open("numbers", O_RDWR | O_APPEND);
    printf("append %zd", write(fd, "end\n", 4));
    printf(" pread %zd", pread(fd, word, 8, 4));
    printf(" %.8s", word);
    printf(" at %ld\n", (long)lseek(fd, 0, SEEK_CUR));
    char *map = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE, fd, 0);
    printf("mapped %.9s\n", map == MAP_FAILED ? strerror(errno) : map);
    printf("ftruncate %d", ftruncate(fd, 10));
    printf(" size %ld\n", (long)lseek(fd, 0, SEEK_END));
    int copy = dup(fd);
    close(fd);
    printf("dup %zd close %d", write(copy, "x", 1), close(copy));
    printf(" again %d %s\n", close(copy), strerror(errno));

    printf("mkdir %d", mkdir("folder", 0755));
    printf(" again %d %s\n", mkdir("folder", 0755), strerror(errno));
    printf("rename %d\n", rename("numbers", "folder/moved"));
    list(".");
    list("folder");
    printf("rmdir %d %s\n", rmdir("folder"), strerror(errno));
    printf("remove %d", remove("folder/moved"));
    printf(" rmdir %d\n", rmdir("folder"));
    printf("open %d %s\n", open("absent", O_RDONLY), strerror(errno));
    printf("open %d %s\n", open("given/x", O_RDONLY), strerror(errno));
    printf("write %d %s\n", open(".", O_WRONLY), strerror(errno));
    file = fopen("given", "r");
    while (fgets(word, sizeof word, file))
        printf("given: %s", word);
    fclose(file);
    char *whole = realpath("./sub/..//given", NULL);
    printf("realpath %s\n", whole ? strrchr(whole, '/') : strerror(errno));
    char *where = getcwd(NULL, 0);
    printf("cwd %d\n", where != NULL && strcmp(where, argv[1]) == 0);
    file = fopen("kept", "w");
    fputs("this stays\n", file);  // closed by exit
    return 0;
}
