// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "format/wire.h"
#include "runtime/stacks.h"

/*
 * Sums over the threads: which stacks changed, their values, the running totals, and the encoded
 * composition of the latest peak. Everything here needs drain_lock.
 */
extern Lock drain_lock;

typedef struct DrainState {
    Sums total;            /* over all stacks, as of the last drain */
    uint64_t depth_cut;    /* allocations whose stack is cut, */
    uint64_t unwind_ended; /* or ended early */
    uint32_t *changed;     /* ids that differ from the last written snapshot */
    uint32_t changed_count;
    uint32_t changed_capacity;
    bool peak_pending; /* the latest peak's values are those of Stack.last, not encoded yet */
    bool peak_valid;   /* `peak` is encoded */
    WireBuffer peak;   /* Snapshot.changed of the peak */
    Sums peak_total;
    uint64_t peak_ns;
    int64_t peak_bytes;
} DrainState;

extern DrainState drain_state;

/* Takes the pending list and sums those stacks anew; process windows see each change. A kept peak
 * is encoded before its values go. */
void drain_run(void);
/* The same for all stacks, pending or not: for the end of the run. */
void drain_sweep(void);
/* Has the memory that an ordinary drain needs. From the collector, before the first. */
void drain_reserve(void);
/* Has the next touch of every slot of every thread noted; and so leave the fast path once. */
void drain_raise_epochs(void);
/* Live bytes as of the last drain. */
int64_t drain_live_bytes(void);
/* The composition at LIVE bytes is kept, here or in the file. */
void drain_kept(int64_t live);
/* Drains and keeps the composition as that of the peak so far. Costs what changed since the last
 * drain, not since the last snapshot: a growing program makes many, and most are never written. */
void drain_capture(void);
/* Encodes the values of all changed stacks as field 2 of Snapshot. */
void drain_encode_changed(WireBuffer *buffer);
/* The changed ones are written: start anew. */
void drain_written(void);
/* Child of fork: live blocks stay, totals start at zero; all stacks are new to its file. */
void drain_after_fork(Sums *ret_inherited);
void encode_sums(WireBuffer *buffer, uint32_t field, const Sums *sums);

/* mmap'ed growth for WireBuffers of the recorder. */
uint8_t *drain_grow(uint8_t *data, size_t bytes, size_t old_capacity, size_t new_capacity);
