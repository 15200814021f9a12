/*
 * Clockhand's paged memory for C: memory of this process of which only as many pages are resident as there are frames.
 * A page-replacement policy decides which; the others are in a swap file, or compressed in RAM.
 *
 * A page has 4096 bytes. Pages are counted from 0. Linux 6.4 or newer.
 *
 * Errors    A function that can fail takes a buffer for one sentence in UTF-8, which says what is wrong and what to do.
 *           The sentence is cut to fit and ends with a NUL. The buffer may be NULL with 0 bytes. It is written to on
 *           failure only.
 * Owners    What the caller passes stays the caller's and is not needed after the call. A region is the library's until
 *           clockhand_region_destroy; its memory too, which must not be unmapped or passed to free().
 * Threads   Every function may be called from every thread, and the memory is used like any other: from all threads
 *           and in system calls. clockhand_region_destroy comes last, when the region and its memory are no longer in use.
 *           A thread of the library serves the faults. What it needs must not lie in the region: heap and stacks.
 * Fork      A forked child does not have the region: an access there is a segmentation fault.
 * Failure   While the store fails, threads that need a page wait, and clockhand_region_store_error says why. When it
 *           has failed for patience_ms, the process is aborted with a message: it never sees wrong memory.
 */
#ifndef CLOCKHAND_PAGER_H
#define CLOCKHAND_PAGER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Paged memory. */
struct clockhand_region;

/* What a region is to be. Set all to zero first; later versions append members whose zero means what was before. */
struct clockhand_settings {
    size_t struct_bytes;       /* sizeof(struct clockhand_settings) */
    const char *policy;        /* as in `clockhand policies`: "clock", "craw:c=8"; only bit-driven ones can page */
    const char *swap_path;     /* the swap file, created if it does not exist; NULL: compressed in RAM */
    uint64_t swap_limit_bytes; /* of the swap file or the compressed pages; 0: no limit */
    uint32_t pages;            /* of the region */
    uint32_t frames;           /* pages that may be resident */
    uint32_t reserve;          /* of the frames, how many are for writes under way; 0: a fault waits for its victim */
    uint32_t patience_ms;      /* for how long a store that fails is asked again; 0: 5000 */
};

/* What has been counted: pages unless the name says otherwise. Later versions append members. */
struct clockhand_counts {
    uint64_t references;             /* accesses that were seen, each of them a fault */
    uint64_t read_references;        /* of these, reads */
    uint64_t write_references;       /* of these, writes */
    uint64_t misses;                 /* accesses to pages that were not in memory */
    uint64_t read_misses;            /* of these, reads */
    uint64_t write_misses;           /* of these, writes */
    uint64_t minor_faults;           /* accesses to pages in memory without translation: a bit was set again */
    uint64_t write_protect_faults;   /* writes to pages in memory that were mapped for reading */
    uint64_t clean_evictions;        /* left clean */
    uint64_t dirty_evictions;        /* left dirty */
    uint64_t write_backs;            /* were written back and stayed */
    uint64_t pages_read;             /* read from the store */
    uint64_t pages_zero_filled;      /* misses for which nothing was read */
    uint64_t pages_rescued;          /* misses of pages whose write was under way */
    uint64_t pages_written;          /* written to the store */
    uint64_t pages_not_written;      /* left dirty and needed no write of their own */
    uint64_t pages_copied_for_forks; /* 0 for regions */
    uint64_t discarded_pages;        /* given back */
    uint64_t write_operations;       /* writes that were started; one may write several pages */
    uint64_t write_errors;           /* writes that failed and were tried again */
    uint64_t bytes_read;             /* bytes read from the store */
    uint64_t bytes_written;          /* bytes written to the store */
    uint64_t resident_pages;         /* now */
    uint64_t peak_resident_pages;    /* the most there ever were */
    uint64_t footprint_pages;        /* different pages that were accessed */
    uint64_t pages_read_ahead;       /* 0 for regions */
    uint64_t pages_read_in_vain;     /* 0 for regions */
    uint64_t zero_pages_not_written; /* of pages_not_written, those that held nothing but zeros */
    uint64_t read_operations;        /* reads that were asked of the store; one may read several pages */
    uint64_t sensed_references;      /* always 0: bits of a region are mapped ones */
};

/*
 * Why this machine refuses to page memory: the length of the sentence in bytes, which is cut to fit into `sentence`; 0 if
 * it does not refuse.
 */
size_t clockhand_pager_obstacle(char *sentence, size_t sentence_bytes);

/* A region of zeros; NULL on failure. */
struct clockhand_region *clockhand_region_create(const struct clockhand_settings *settings, char *error,
                                                 size_t error_bytes);

/* The first byte of the region, aligned to a page. */
void *clockhand_region_memory(const struct clockhand_region *region);

/* Bytes of the region. */
size_t clockhand_region_bytes(const struct clockhand_region *region);

/* Forgets the contents of pages, which read as zeros from then on. 0, or -1 on failure. */
int clockhand_region_discard(const struct clockhand_region *region, uint32_t first_page, uint32_t pages, char *error,
                             size_t error_bytes);

/*
 * Writes what has been counted, as of a tenth of a second ago, into the first `counts_bytes` bytes of `counts`: pass
 * sizeof(struct clockhand_counts). Members that this version of the library does not have become 0.
 */
void clockhand_region_counts(const struct clockhand_region *region, struct clockhand_counts *counts,
                             size_t counts_bytes);

/* What the store said when it last failed: the length in bytes of the sentence, which is cut to fit; 0 if it never has. */
size_t clockhand_region_store_error(const struct clockhand_region *region, char *sentence, size_t sentence_bytes);

/* Ends the region and its memory. `counts` may be NULL with 0 bytes; else it gets the last counts. */
void clockhand_region_destroy(struct clockhand_region *region, struct clockhand_counts *counts, size_t counts_bytes);

#ifdef __cplusplus
}
#endif

#endif
