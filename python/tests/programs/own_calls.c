/*
 * Has a device read into allocated memory by system calls that it makes by its own instructions, which no library can see,
 * while more memory is in use than it may have. It ends when its standard error, which must be a file, has grown, or after
 * so many seconds.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { FILE_BYTES = 8 << 20, MEMORY_BYTES = 16 << 20 };

static int file;
static unsigned char *memory;

static long own(long number, long first, long second, long third, long fourth)
{
    register long last __asm__("r10") = fourth;
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third), "r"(last)
                     : "rcx", "r11", "memory");
    return result;
}

/* Reads until the program ends. */
static void *read_on(void *way)
{
    for (off_t offset = 0;; offset = (offset + 65536) % FILE_BYTES) {
        unsigned char *to = memory + offset;
        struct iovec parts[2] = {{to, 4096}, {to + 4096, 61440}};
        long got = !strcmp(way, "reads") ? own(SYS_pread64, file, (long)to, 65536, offset)
                                         : own(SYS_preadv, file, (long)parts, 2, offset);
        if (got != 65536) {
            printf("%s: %s\n", (char *)way, strerror(-got));
            exit(0);
        }
    }
}

static off_t said(void)
{
    struct stat errors;
    return fstat(2, &errors) ? -1 : errors.st_size;
}

/* Begins to do so in this way, and goes on. Returns an error number as a negative one. */
static long begin(char *way)
{
    static aio_context_t context;
    if (!strcmp(way, "requests"))
        return own(SYS_io_setup, 4, (long)&context, 0, 0);
    if (!strcmp(way, "requests by number"))
        return syscall(SYS_io_setup, 4, &context) ? -errno : 0;
    if (!strncmp(way, "reads", 5)) {
        pthread_t thread;
        return -pthread_create(&thread, NULL, read_on, way);
    }
    struct io_uring_params parameters = {0};
    long ring = own(SYS_io_uring_setup, 4, (long)&parameters, 0, 0);
    if (ring < 0 || !strcmp(way, "ring"))
        return ring;
    struct iovec buffer = {memory, 65536};
    return own(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, (long)&buffer, 1);
}

int main(int count, char **arguments)
{
    if (count != 4)
        return 2;
    char *way = arguments[1];
    time_t end = time(NULL) + atoi(arguments[3]);
    off_t said_before = said();
    static unsigned char content[FILE_BYTES];
    FILE *made = fopen(arguments[2], "wb");
    fwrite(content, 1, sizeof content, made);
    fflush(made);
    fsync(fileno(made));
    fclose(made);
    if (posix_memalign((void **)&memory, 4096, MEMORY_BYTES))
        return 3;
    file = open(arguments[2], O_RDONLY | O_DIRECT);
    long begun = file < 0 ? -errno : begin(way);
    if (begun < 0) {
        printf("%s: %s\n", way, strerror((int)-begun));
        return 0;
    }
    for (unsigned turn = 1; said() == said_before && time(NULL) < end; turn++)
        for (size_t page = 0; page < MEMORY_BYTES; page += 4096)
            memory[page + 8 * (turn % 512)] = (unsigned char)turn;
    puts("done");
    fflush(stdout);
    _exit(0);
}
