/* A QEMU plugin that writes the memory references of a program in user mode, as a cache lets them
 * through. See docs/capture.md.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * All threads of the program share one filter, behind a lock; their order is that in which they
 * take it. A forked child gets a stream of its own.
 */

#define _GNU_SOURCE

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- what is used of qemu-plugin.h, which no distribution packages ---- */

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;

/* Only the beginning, which is what all versions have. */
struct qemu_info {
    const char *target_name;
};

enum { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum { QEMU_PLUGIN_MEM_RW = 3 };

#define EXPORT __attribute__((visibility("default")))

EXPORT int qemu_plugin_version = PLUGIN_VERSION;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count,
                               char **arguments);

typedef void (*translation_callback)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*instruction_callback)(unsigned, void *);
typedef void (*memory_callback)(unsigned, qemu_plugin_meminfo_t, uint64_t, void *);
typedef void (*system_call_callback)(qemu_plugin_id_t, unsigned, int64_t, uint64_t, uint64_t,
                                     uint64_t, uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
typedef void (*exit_callback)(qemu_plugin_id_t, void *);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id, translation_callback callback);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *instruction,
                                            instruction_callback callback, int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *instruction,
                                      memory_callback callback, int flags, int directions,
                                      void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, system_call_callback callback);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, exit_callback callback, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *instruction);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

/* ---- the stream ---- */

static int output = -1;

static int stream_write(const void *bytes, size_t count)
{
    const char *at = bytes;
    while (count != 0) {
        ssize_t written = write(output, at, count);
        if (written <= 0)
            return 0;
        at += written;
        count -= (size_t)written;
    }
    return 1;
}

static uint64_t stream_time_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#include "../filter/capture_stream.h"

static struct stream stream;

static void filter_emit(unsigned record_class, uint64_t line)
{
    stream_record(&stream, record_class, line);
}

static void *filter_allocate(size_t bytes)
{
    return calloc(1, bytes);
}

#include "../filter/cache_filter.h"

static struct filter filter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *prefix = NULL;
static int exit_code = 0;

#define FILE_NAME_BYTES 4096
/* Far above what a program opens, as far as its limits allow. */
#define OUT_OF_THE_PROGRAMS_WAY 900
#define MOST_STREAMS_OF_A_PROCESS 10000

static void open_file(void)
{
    char name[FILE_NAME_BYTES];
    int descriptor = -1;
    for (int number = 0; descriptor < 0 && number < MOST_STREAMS_OF_A_PROCESS; number++) {
        snprintf(name, sizeof name, "%s.%d.%d", prefix, (int)getpid(), number);
        descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    output = fcntl(descriptor, F_DUPFD_CLOEXEC, OUT_OF_THE_PROGRAMS_WAY);
    if (output < 0)
        output = descriptor;
    else
        close(descriptor);
}

/* What would end or confuse a line of the header is written as \xx. */
static void print_quoted(FILE *header, const char *foreign)
{
    for (; *foreign != 0; foreign++) {
        unsigned char byte = (unsigned char)*foreign;
        if (byte < ' ' || byte == '\\' || byte == 0x7f)
            fprintf(header, "\\%02x", byte);
        else
            fputc(byte, header);
    }
}

/* The program and its arguments stand behind QEMU's own, which end with the plugin. */
static void print_command(FILE *header)
{
    FILE *words = fopen("/proc/self/cmdline", "r");
    char *word = NULL;
    size_t room = 0;
    int behind_plugin = 0;
    const char *key = "command=";
    while (words != NULL && getdelim(&word, &room, 0, words) > 0) {
        if (behind_plugin == 2) {
            fputs(key, header);
            print_quoted(header, word);
            fputc('\n', header);
            key = " argument=";
        } else {
            behind_plugin += behind_plugin == 1 || strcmp(word, "-plugin") == 0;
        }
    }
    free(word);
    if (words != NULL)
        fclose(words);
}

static void begin_stream(void)
{
    char *text = NULL;
    size_t bytes = 0;
    open_file();
    FILE *header = open_memstream(&text, &bytes);
    fprintf(header, "process=%d\nparent=%d\nline_bytes=%llu\n", (int)getpid(), (int)getppid(),
            (unsigned long long)filter.line_bytes);
    print_command(header);
    fclose(header);
    stream_begin(&stream, text, bytes);
    free(text);
}

static void end_stream(const char *how)
{
    char text[256];
    stream_flush(&stream);
    int bytes = snprintf(text, sizeof text, "end=%s\nexit_code=%d\nI=%llu\nR=%llu\nA=%llu\nW=%llu\n",
                         how, exit_code, (unsigned long long)stream.counts[FILTER_FETCH],
                         (unsigned long long)stream.counts[FILTER_LOAD_MISS],
                         (unsigned long long)stream.counts[FILTER_STORE_FILL],
                         (unsigned long long)stream.counts[FILTER_WRITE_BACK]);
    stream_block(&stream, 'F', stream_time_ns(), text, (size_t)bytes);
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
    pthread_mutex_unlock(&lock);
    close(output);
    filter_empty(&filter);
    begin_stream();
}

/* ---- what the program does ---- */

struct fetch {
    uint64_t address;
    uint64_t bytes;
};

static void on_fetch(unsigned processor, void *data)
{
    const struct fetch *fetch = data;
    pthread_mutex_lock(&lock);
    if (fetch->address - filter.last_fetch_line_at > filter.line_bytes - fetch->bytes)
        filter_fetch(&filter, fetch->address, fetch->bytes);
    pthread_mutex_unlock(&lock);
}

static void on_memory(unsigned processor, qemu_plugin_meminfo_t info, uint64_t address, void *data)
{
    uint64_t bytes = UINT64_C(1) << qemu_plugin_mem_size_shift(info);
    bool is_store = qemu_plugin_mem_is_store(info);
    pthread_mutex_lock(&lock);
    uint64_t line_at = is_store ? filter.last_store_line_at : filter.last_data_line_at;
    bool is_within = bytes <= filter.line_bytes && address - line_at <= filter.line_bytes - bytes;
    if (!is_within && is_store)
        filter_store(&filter, address, bytes);
    else if (!is_within)
        filter_load(&filter, address, bytes);
    pthread_mutex_unlock(&lock);
}

/* A fetch from the line of the instruction before it changes nothing and is not asked for. */
static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *block)
{
    uint64_t fetched_line = UINT64_MAX;
    for (size_t index = 0; index < qemu_plugin_tb_n_insns(block); index++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, index);
        uint64_t address = qemu_plugin_insn_vaddr(instruction);
        uint64_t bytes = qemu_plugin_insn_size(instruction);
        uint64_t last_line = (address + bytes - 1) >> filter.line_shift;
        if (bytes != 0 && last_line != fetched_line) {
            struct fetch *fetch = malloc(sizeof *fetch);
            if (fetch == NULL)
                abort();
            *fetch = (struct fetch){ address, bytes };
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_fetch, QEMU_PLUGIN_CB_NO_REGS,
                                                   fetch);
            fetched_line = last_line;
        }
        qemu_plugin_register_vcpu_mem_cb(instruction, on_memory, QEMU_PLUGIN_CB_NO_REGS,
                                         QEMU_PLUGIN_MEM_RW, NULL);
    }
}

/* Numbers of system calls, which differ between processors. */
struct system_calls {
    const char *target_name;
    int64_t execve;
    int64_t execveat;
    int64_t exit;
    int64_t exit_group;
};

static const struct system_calls KNOWN_SYSTEM_CALLS[] = {
    { "x86_64", 59, 322, 60, 231 },
    { "arm", 11, 387, 1, 248 },
    { "aarch64", 221, 281, 93, 94 },
};

static const struct system_calls *system_calls = NULL;

static void on_system_call(qemu_plugin_id_t id, unsigned processor, int64_t number, uint64_t first,
                           uint64_t second, uint64_t third, uint64_t fourth, uint64_t fifth,
                           uint64_t sixth, uint64_t seventh, uint64_t eighth)
{
    pthread_mutex_lock(&lock);
    if (number == system_calls->execve || number == system_calls->execveat)
        end_stream("exec");
    else if (number == system_calls->exit || number == system_calls->exit_group)
        exit_code = (int)(first & 0xff);
    pthread_mutex_unlock(&lock);
}

static void on_exit_of_program(qemu_plugin_id_t id, void *data)
{
    pthread_mutex_lock(&lock);
    end_stream("exit");
    pthread_mutex_unlock(&lock);
}

/* ---- options ---- */

static void take_option(struct filter_shape *shape, const char *option)
{
    const struct {
        const char *name;
        uint64_t *value;
    } sizes[] = {
        { "instruction-bytes=", &shape->instruction_bytes },
        { "data-bytes=", &shape->data_bytes },
        { "second-bytes=", &shape->second_bytes },
        { "ways=", &shape->ways },
        { "second-ways=", &shape->second_ways },
        { "line-bytes=", &shape->line_bytes },
    };
    if (strncmp(option, "prefix=", strlen("prefix=")) == 0)
        prefix = strdup(option + strlen("prefix="));
    for (size_t index = 0; index < sizeof sizes / sizeof *sizes; index++) {
        size_t length = strlen(sizes[index].name);
        if (strncmp(option, sizes[index].name, length) == 0)
            *sizes[index].value = strtoull(option + length, NULL, 10);
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int count,
                        char **arguments)
{
    struct filter_shape shape = {
        .instruction_bytes = FILTER_DEFAULT_L1_BYTES,
        .data_bytes = FILTER_DEFAULT_L1_BYTES,
        .ways = FILTER_DEFAULT_WAYS,
        .second_ways = FILTER_DEFAULT_SECOND_WAYS,
        .line_bytes = FILTER_DEFAULT_LINE_BYTES,
    };
    for (int index = 0; index < count; index++)
        take_option(&shape, arguments[index]);
    for (size_t index = 0; index < sizeof KNOWN_SYSTEM_CALLS / sizeof *KNOWN_SYSTEM_CALLS; index++)
        if (strcmp(info->target_name, KNOWN_SYSTEM_CALLS[index].target_name) == 0)
            system_calls = &KNOWN_SYSTEM_CALLS[index];
    if (prefix == NULL || system_calls == NULL || !filter_open(&filter, &shape)) {
        fprintf(stderr, "clockhand: the plugin needs prefix=PATH, a possible cache, and a program "
                        "for x86_64, arm or aarch64\n");
        return -1;
    }
    begin_stream();
    pthread_atfork(before_fork, in_parent, in_child);
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    qemu_plugin_register_vcpu_syscall_cb(id, on_system_call);
    qemu_plugin_register_atexit_cb(id, on_exit_of_program, NULL);
    return 0;
}
