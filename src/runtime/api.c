// SPDX-License-Identifier: Apache-2.0
/*
 * The functions of include/memhawk.h. Each runs with thread_current cleared, as a hook does, so
 * that nothing of it is counted and a signal handler that allocates meanwhile is right.
 */
#define MEMHAWK_RUNTIME
#include "memhawk.h"

#include <errno.h>

#include "runtime/collector.h"
#include "runtime/context.h"
#include "runtime/recording.h"
#include "runtime/slow.h"
#include "runtime/windows.h"

static bool is_recording(void)
{
    int mode = atomic_load_explicit(&runtime.mode, memory_order_relaxed);
    return mode == MODE_ON || mode == MODE_FORKED;
}

/* Another malloc hides the program's from the hooks, and the program announces no blocks: whatever
 * is counted says nothing. */
static bool is_blind(void)
{
    return runtime.warning && !runtime.custom.root;
}

/* The caller's state with thread_current cleared; NULL: not recording. */
static Thread *api_enter(void)
{
    if (!thread_owner)
        slow_adopt();
    Thread *thread = thread_owner;
    if (!thread || thread == THREAD_BYPASS || !is_recording())
        return NULL;
    thread_current = &thread_none;
    thread_busy(thread, 1);
    return thread;
}

static void api_leave(Thread *thread)
{
    thread_busy(thread, -1);
    if (!thread->paused)
        thread_current = thread;
}

int memhawk_v1_active(void)
{
    return is_recording() && !is_blind();
}

memhawk_window memhawk_v1_window_begin(const char *name, int scope)
{
    if (!name || (scope != MEMHAWK_THREAD && scope != MEMHAWK_PROCESS))
        return 0;
    Thread *thread = api_enter();
    if (!thread)
        return 0;
    Window *window = window_begin(thread, name, scope);
    api_leave(thread);
    return window ? window_handle(window) : 0;
}

int memhawk_v1_window_end(memhawk_window window)
{
    Thread *thread = api_enter();
    if (!thread)
        return window ? -ENOSYS : 0;
    int ret = window ? window_end(thread, window, &thread->last_window) : 0;
    thread->last_window_valid = window && ret == 0;
    api_leave(thread);
    return ret;
}

int memhawk_v1_window_stats(struct memhawk_counts *ret_stats)
{
    const Thread *thread = thread_owner;
    bool blind = is_recording() && is_blind();
    if (thread && thread != THREAD_BYPASS && thread->last_window_valid && !blind) {
        *ret_stats = thread->last_window;
        return 0;
    }
    *ret_stats = (struct memhawk_counts){
        MEMHAWK_NOT_MEASURED, MEMHAWK_NOT_MEASURED, MEMHAWK_NOT_MEASURED, MEMHAWK_NOT_MEASURED,
        MEMHAWK_NOT_MEASURED, MEMHAWK_NOT_MEASURED, MEMHAWK_NOT_MEASURED, MEMHAWK_NOT_MEASURED};
    return blind ? -ENODATA : -ENOENT;
}

int memhawk_v1_mark(const char *text)
{
    Thread *thread = text ? api_enter() : NULL;
    if (!thread)
        return text ? -ENOSYS : -EINVAL;
    int ret = window_table_mark(text, atomic_load(&thread->owner));
    api_leave(thread);
    return ret;
}

int memhawk_v1_pause(void)
{
    Thread *thread = api_enter();
    if (!thread)
        return -ENOSYS;
    thread->paused++;
    api_leave(thread);
    return 0;
}

int memhawk_v1_resume(void)
{
    Thread *thread = thread_owner;
    if (!thread || thread == THREAD_BYPASS || !thread->paused)
        return is_recording() ? -EINVAL : -ENOSYS;
    if (--thread->paused == 0)
        thread_current = thread;
    return 0;
}

int memhawk_v1_snapshot(void)
{
    Thread *thread = api_enter();
    if (!thread)
        return -ENOSYS;
    bool written = collector_flush(END_NONE, 0, 1000000000);
    api_leave(thread);
    return written ? 0 : -ETIMEDOUT;
}

int memhawk_v1_alloc(const void *ptr, size_t size)
{
    UnwindContext context = CONTEXT();
    Thread *thread = ptr ? api_enter() : NULL;
    if (!thread)
        return ptr ? -ENOSYS : -EINVAL;
    if (!thread->paused && livemap_init(&runtime.custom, 3) == 0)
        record_custom_alloc(thread, ptr, size, &context);
    api_leave(thread);
    return 0;
}

int memhawk_v1_free(const void *ptr)
{
    Thread *thread = api_enter();
    if (!thread)
        return -ENOSYS;
    record_custom_free(thread, ptr);
    api_leave(thread);
    return 0;
}
