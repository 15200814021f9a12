/*
 * Reads a file past the page cache into allocated memory, from several threads and in every way that there is, and looks at
 * every word. Without direct I/O on this file system it says so.
 */
#define _GNU_SOURCE
#include <aio.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { FILE_BYTES = 8 << 20, THREADS = 3, ROUNDS = 8, MOST = 256 << 10, BLOCKS = 20 };

static int file;
static int wrong;

/* What the file holds at a byte that is a multiple of 8. */
static uint64_t word_at(uint64_t offset)
{
    return offset * 0x9E3779B97F4A7C15u + 1;
}

/* What a compiler makes of a read into a block whose size it knows. */
extern ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
extern ssize_t __read_chk(int, void *, size_t, size_t);

static ssize_t read_somehow(unsigned way, unsigned char *to, size_t bytes, off_t offset)
{
    struct iovec parts[2] = {{to, bytes / 2}, {to + bytes / 2, bytes / 2}};
    switch (way % 10) {
    case 0:
        return pread(file, to, bytes, offset);
    case 1:
        return preadv(file, parts, 2, offset);
    case 2:
        return preadv2(file, parts, 2, offset, 0);
    case 3:
        return __pread_chk(file, to, bytes, offset, bytes);
    case 4:
        return syscall(SYS_pread64, file, to, bytes, offset);
    case 5:
        return syscall(SYS_preadv, file, parts, 2, offset, 0);
    case 6:
        return syscall(SYS_preadv2, file, parts, 2, offset, 0, 0);
    default: {
        char name[32];
        snprintf(name, sizeof name, "/proc/self/fd/%d", file);
        int own = open(name, O_RDONLY | O_DIRECT);
        lseek(own, offset, SEEK_SET);
        ssize_t got = way % 10 == 7   ? read(own, to, bytes)
                      : way % 10 == 8 ? __read_chk(own, to, bytes, bytes)
                                      : readv(own, parts, 2);
        close(own);
        return got;
    }
    }
}

static void *work(void *argument)
{
    unsigned state = 7 + (unsigned)(uintptr_t)argument;
    unsigned char *blocks[BLOCKS];
    for (int block = 0; block < BLOCKS; block++)
        if (posix_memalign((void **)&blocks[block], 4096, MOST))
            exit(3);
    for (int round = 0; round < ROUNDS; round++)
        for (int block = 0; block < BLOCKS; block++) {
            state = state * 1103515245u + 12345u;
            size_t bytes = MOST >> (state >> 16) % 3;
            off_t offset = (off_t)(state >> 8) % ((FILE_BYTES - MOST) / 4096) * 4096;
            unsigned char *to = blocks[(block + round) % BLOCKS];
            ssize_t got = read_somehow(state >> 20, to, bytes, offset);
            if (got != (ssize_t)bytes) {
                printf("read %zd bytes of %zu: %s\n", got, bytes, strerror(errno));
                exit(4);
            }
            for (size_t at = 0; at < bytes; at += 8)
                if (*(uint64_t *)(to + at) != word_at((uint64_t)offset + at))
                    __atomic_add_fetch(&wrong, 1, __ATOMIC_RELAXED);
        }
    return NULL;
}

/* What cannot be copied is refused: a direct read that goes on behind the program's back, into allocated memory. */
static void asynchronous(void)
{
    aio_context_t context = 0;
    void *block;
    if (syscall(SYS_io_setup, 4, &context) || posix_memalign(&block, 4096, MOST))
        return;
    struct iocb request = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (unsigned)file,
                           .aio_buf = (uintptr_t)block, .aio_nbytes = MOST};
    struct iocb *requests[] = {&request};
    long submitted = syscall(SYS_io_submit, context, 1, requests);
    printf("asynchronous: %s\n", submitted == 1 ? "taken" : strerror(errno));
    struct aiocb of_library = {.aio_fildes = file, .aio_buf = block, .aio_nbytes = MOST};
    printf("asynchronous, of the C library: %s\n", aio_read(&of_library) ? strerror(errno) : "taken");
    printf("a ring: %s\n", syscall(SYS_io_uring_setup, 4, NULL) < 0 && errno == ENOSYS ? "none" : "there");
    syscall(SYS_io_destroy, context);
}

int main(int count, char **arguments)
{
    if (count != 2)
        return 2;
    FILE *made = fopen(arguments[1], "wb");
    for (uint64_t offset = 0; offset < FILE_BYTES; offset += 8) {
        uint64_t word = word_at(offset);
        fwrite(&word, 8, 1, made);
    }
    fflush(made);
    fsync(fileno(made));
    fclose(made);
    file = open(arguments[1], O_RDONLY | O_DIRECT);
    if (file < 0) {
        puts("no direct I/O");
        return 0;
    }
    pthread_t threads[THREADS];
    for (uintptr_t number = 0; number < THREADS; number++)
        pthread_create(&threads[number], NULL, work, (void *)number);
    for (int number = 0; number < THREADS; number++)
        pthread_join(threads[number], NULL);
    printf("wrong words: %d\n", wrong);
    asynchronous();
    return wrong != 0;
}
