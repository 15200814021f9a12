/* The caches of a processor, as a filter between its accesses and memory.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later OR MIT OR Apache-2.0
 *
 * A split first level and, optionally, a unified second level; both virtually indexed, LRU within a
 * set, write-back, write-allocate, cold at the start. What misses the last level is given to the
 * front end as a record of one line and one class:
 *
 *     I  an instruction fetch missed and reads its line
 *     R  a load missed and reads its line
 *     A  a store missed: its line is allocated (whether that reads memory is the view's business)
 *     W  a dirty line left the cache and is written, before the record of the line that evicted it
 *
 * An access that spans lines touches each, ascending. Lines that are dirty at the end stay where
 * they are. The rules are those of crates/trace/src/cpu_cache.rs; a test holds that.
 *
 * A file that includes this one defines, before it:
 *
 *     static void filter_emit(unsigned record_class, uint64_t line);
 *     static void *filter_allocate(size_t bytes);      zeroed; NULL when there is no memory
 */
#ifndef CLOCKHAND_CACHE_FILTER_H
#define CLOCKHAND_CACHE_FILTER_H

#include <stddef.h>
#include <stdint.h>

enum record_class { FILTER_FETCH, FILTER_LOAD_MISS, FILTER_STORE_FILL, FILTER_WRITE_BACK };

#define FILTER_CLASSES 4
#define FILTER_MAX_CACHE_BYTES (UINT64_C(1) << 30)
/* An entry of a cache must hold the number of any line and two bits. */
#define FILTER_MIN_LINE_BYTES 4

/* No line of any program begins here: an access compared with it is never in the same line. */
#define FILTER_NO_LINE UINT64_C(0x8000000000000000)

/* Sizes in bytes; a second level of 0 bytes is none. */
struct filter_shape {
    uint64_t instruction_bytes;
    uint64_t data_bytes;
    uint64_t second_bytes;
    uint64_t ways;
    uint64_t second_ways;
    uint64_t line_bytes;
};

#define FILTER_DEFAULT_L1_BYTES 16384
#define FILTER_DEFAULT_WAYS 4
#define FILTER_DEFAULT_SECOND_WAYS 8
#define FILTER_DEFAULT_LINE_BYTES 32

/* One set-associative cache. An entry is a line number shifted left by two, with the bits below;
 * the entries of a set stand together, the most recently used first. */
struct cache {
    uint64_t *entries;
    uint64_t ways;
    uint64_t set_mask;
};

#define ENTRY_VALID UINT64_C(1)
#define ENTRY_DIRTY UINT64_C(2)
#define ENTRY_LINE_SHIFT 2

struct filter {
    struct cache instructions;
    struct cache data;
    struct cache second;
    unsigned line_shift;
    uint64_t line_bytes;
    /* First bytes of the lines that were touched last. A fetch or load of the same line changes
     * nothing, nor does a store to a line that was stored to and since then not left: a front end may
     * leave such an access out. */
    uint64_t last_fetch_line_at;
    uint64_t last_data_line_at;
    uint64_t last_store_line_at;
};

static inline int filter_is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static inline int cache_open(struct cache *cache, uint64_t bytes, uint64_t ways,
                             uint64_t line_bytes)
{
    if (ways == 0 || ways > FILTER_MAX_CACHE_BYTES || bytes > FILTER_MAX_CACHE_BYTES)
        return 0;
    uint64_t set_bytes = ways * line_bytes;
    uint64_t sets = bytes / set_bytes;
    if (!filter_is_power_of_two(sets) || sets * set_bytes != bytes)
        return 0;
    cache->ways = ways;
    cache->set_mask = sets - 1;
    cache->entries = filter_allocate(sets * ways * sizeof *cache->entries);
    return cache->entries != NULL;
}

static inline void cache_empty(struct cache *cache)
{
    if (cache->entries == NULL)
        return;
    for (uint64_t index = 0; index < (cache->set_mask + 1) * cache->ways; index++)
        cache->entries[index] = 0;
}

/* Makes `filter` cold; 0 when the shape is impossible or memory is short. */
static inline int filter_open(struct filter *filter, const struct filter_shape *shape)
{
    if (!filter_is_power_of_two(shape->line_bytes) || shape->line_bytes < FILTER_MIN_LINE_BYTES
        || shape->line_bytes > FILTER_MAX_CACHE_BYTES)
        return 0;
    filter->line_bytes = shape->line_bytes;
    filter->line_shift = (unsigned)__builtin_ctzll(shape->line_bytes);
    filter->second.entries = NULL;
    filter->last_fetch_line_at = FILTER_NO_LINE;
    filter->last_data_line_at = FILTER_NO_LINE;
    filter->last_store_line_at = FILTER_NO_LINE;
    return cache_open(&filter->instructions, shape->instruction_bytes, shape->ways,
                      shape->line_bytes)
        && cache_open(&filter->data, shape->data_bytes, shape->ways, shape->line_bytes)
        && (shape->second_bytes == 0
            || cache_open(&filter->second, shape->second_bytes, shape->second_ways,
                          shape->line_bytes));
}

/* Makes an open filter cold again, as a forked child needs it. */
static inline void filter_empty(struct filter *filter)
{
    cache_empty(&filter->instructions);
    cache_empty(&filter->data);
    cache_empty(&filter->second);
    filter->last_fetch_line_at = FILTER_NO_LINE;
    filter->last_data_line_at = FILTER_NO_LINE;
    filter->last_store_line_at = FILTER_NO_LINE;
}

/* Touches a line; 1 when it was there. A line that was not is, afterwards, and `*victim` is the
 * entry that had to leave. */
static inline int cache_touch(struct cache *cache, uint64_t line, uint64_t dirty, uint64_t *victim)
{
    uint64_t *set = cache->entries + (line & cache->set_mask) * cache->ways;
    uint64_t wanted = line << ENTRY_LINE_SHIFT | ENTRY_VALID;
    uint64_t moved = set[0];
    if ((moved & ~ENTRY_DIRTY) == wanted) {
        set[0] = moved | dirty;
        return 1;
    }
    for (uint64_t way = 1; way < cache->ways; way++) {
        uint64_t entry = set[way];
        set[way] = moved;
        if ((entry & ~ENTRY_DIRTY) == wanted) {
            set[0] = entry | dirty;
            return 1;
        }
        moved = entry;
    }
    *victim = moved;
    set[0] = wanted | dirty;
    return 0;
}

/* What left the first level, on its way to memory. A whole line is written: nothing is read. */
static inline void filter_write_back(struct filter *filter, uint64_t line)
{
    uint64_t victim = 0;
    if (filter->second.entries == NULL)
        filter_emit(FILTER_WRITE_BACK, line);
    else if (!cache_touch(&filter->second, line, ENTRY_DIRTY, &victim) && (victim & ENTRY_DIRTY))
        filter_emit(FILTER_WRITE_BACK, victim >> ENTRY_LINE_SHIFT);
}

/* What missed the first level, on its way to memory. */
static inline void filter_fill(struct filter *filter, enum record_class record_class,
                               uint64_t line)
{
    uint64_t victim = 0;
    if (filter->second.entries != NULL) {
        if (cache_touch(&filter->second, line, 0, &victim))
            return;
        if (victim & ENTRY_DIRTY)
            filter_emit(FILTER_WRITE_BACK, victim >> ENTRY_LINE_SHIFT);
    }
    filter_emit(record_class, line);
}

/* Writes the dirty lines of a range back and forgets the range, which is about to be gone. The lines that
 * stay in a set keep their order, in front of the places that become free. */
static inline void cache_leave(struct cache *cache, uint64_t first_line, uint64_t last_line)
{
    if (cache->entries == NULL)
        return;
    uint64_t *end = cache->entries + (cache->set_mask + 1) * cache->ways;
    for (uint64_t *set = cache->entries; set != end; set += cache->ways) {
        uint64_t kept = 0;
        for (uint64_t way = 0; way < cache->ways; way++) {
            uint64_t entry = set[way];
            uint64_t line = entry >> ENTRY_LINE_SHIFT;
            set[way] = 0;
            if ((entry & ENTRY_VALID) && (line < first_line || line > last_line))
                set[kept++] = entry;
            else if (entry & ENTRY_DIRTY)
                filter_emit(FILTER_WRITE_BACK, line);
        }
    }
}

static inline void filter_leave(struct filter *filter, uint64_t address, uint64_t bytes)
{
    if (bytes == 0 || address + (bytes - 1) < address)
        return;
    uint64_t first_line = address >> filter->line_shift;
    uint64_t last_line = (address + (bytes - 1)) >> filter->line_shift;
    cache_leave(&filter->instructions, first_line, last_line);
    cache_leave(&filter->data, first_line, last_line);
    cache_leave(&filter->second, first_line, last_line);
    filter->last_fetch_line_at = FILTER_NO_LINE;
    filter->last_data_line_at = FILTER_NO_LINE;
    filter->last_store_line_at = FILTER_NO_LINE;
}

static inline void filter_touch(struct filter *filter, struct cache *first_level,
                                enum record_class record_class, uint64_t line)
{
    uint64_t victim = 0;
    uint64_t dirty = record_class == FILTER_STORE_FILL ? ENTRY_DIRTY : 0;
    if (cache_touch(first_level, line, dirty, &victim))
        return;
    if (victim & ENTRY_DIRTY)
        filter_write_back(filter, victim >> ENTRY_LINE_SHIFT);
    filter_fill(filter, record_class, line);
}

/* Touches the lines of an access, ascending, and gives the first byte of the last one. An access
 * that would run past the end of the address space ends there; one without bytes is none. */
static inline uint64_t filter_access(struct filter *filter, struct cache *first_level,
                                     enum record_class record_class, uint64_t address,
                                     uint64_t bytes)
{
    uint64_t last_byte = address + (bytes - 1);
    if (last_byte < address)
        last_byte = UINT64_MAX;
    uint64_t last_line = last_byte >> filter->line_shift;
    for (uint64_t line = address >> filter->line_shift; line <= last_line; line++)
        filter_touch(filter, first_level, record_class, line);
    return last_line << filter->line_shift;
}

static inline void filter_fetch(struct filter *filter, uint64_t address, uint64_t bytes)
{
    if (bytes != 0)
        filter->last_fetch_line_at =
            filter_access(filter, &filter->instructions, FILTER_FETCH, address, bytes);
}

static inline void filter_load(struct filter *filter, uint64_t address, uint64_t bytes)
{
    if (bytes == 0)
        return;
    filter->last_data_line_at =
        filter_access(filter, &filter->data, FILTER_LOAD_MISS, address, bytes);
    filter->last_store_line_at = FILTER_NO_LINE;
}

static inline void filter_store(struct filter *filter, uint64_t address, uint64_t bytes)
{
    if (bytes == 0)
        return;
    filter->last_data_line_at =
        filter_access(filter, &filter->data, FILTER_STORE_FILL, address, bytes);
    filter->last_store_line_at = filter->last_data_line_at;
}

#endif
