// SPDX-License-Identifier: Apache-2.0
/*
 * The list of results of a check and its plain words; and the text form: one line for each limit,
 * then the stacks at fault, then the verdict. One thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/check.h"
#include "cli/term.h"
#include "export/names.h"
#include "export/numbers.h"

const char *check_verdict_name(CheckVerdict verdict)
{
    static const char *const names[CHECK_VERDICTS] = {"pass", "fail", "unknown"};
    return names[verdict];
}

const char *check_limit_words(BudgetLimit limit)
{
    static const char *const words[BUDGET_LIMITS] = {
        [BUDGET_ALLOCATIONS] = "allocations",
        [BUDGET_BYTES] = "bytes",
        [BUDGET_PEAK] = "peak bytes",
        [BUDGET_LIVE_AT_END] = "live bytes at the end",
        [BUDGET_TEMPORARY] = "temporary allocations",
    };
    return words[limit];
}

CheckResult *check_report_add(CheckReport *report)
{
    if (report->count == report->capacity) {
        size_t capacity = report->capacity ? 2 * report->capacity : 16;
        CheckResult *grown = realloc(report->results, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        report->results = grown;
        report->capacity = capacity;
    }
    CheckResult *result = &report->results[report->count++];
    memset(result, 0, sizeof *result);
    return result;
}

void check_report_done(CheckReport *report)
{
    for (size_t i = 0; i < report->count; i++) {
        CheckResult *result = &report->results[i];
        for (size_t s = 0; s < result->stack_count; s++)
            for (size_t f = 0; f < result->stacks[s].frame_count; f++) {
                free(result->stacks[s].frames[f].function);
                free(result->stacks[s].frames[f].file);
            }
        free(result->window);
    }
    free(report->results);
    *report = (CheckReport){0};
}

CheckVerdict check_report_verdict(const CheckReport *report)
{
    CheckVerdict verdict = report->count > 0 ? CHECK_PASS : CHECK_UNKNOWN;
    for (size_t i = 0; i < report->count; i++) {
        if (report->results[i].verdict == CHECK_FAIL)
            return CHECK_FAIL;
        if (report->results[i].verdict == CHECK_UNKNOWN)
            verdict = CHECK_UNKNOWN;
    }
    return verdict;
}

/* ---- words
 * ----------------------------------------------------------------------------------------- */

static const char *amount(char buffer[NUMBER_BYTES], BudgetLimit limit, int64_t value)
{
    return budget_limit_is_bytes(limit) ? number_bytes(buffer, value) : number_count(buffer, value);
}

/* Bytes so that two that differ also read differently: "1.0 KiB (1,025 B)". */
static void exact_amount(char *text, size_t size, const CheckResult *result, int64_t value)
{
    char rough[NUMBER_BYTES], count[NUMBER_BYTES];
    amount(rough, result->limit, value);
    if (budget_limit_is_bytes(result->limit) && (value >= 1024 || value <= -1024))
        snprintf(text, size, "%s (%s B)", rough, number_count(count, value));
    else
        snprintf(text, size, "%s", rough);
}

static const char *iteration_words(const CheckResult *result)
{
    if (!result->window)
        return "";
    return result->median ? ", median iteration" : ", worst iteration";
}

char *check_sentence(const CheckResult *result)
{
    char *text = NULL, figure[2 * NUMBER_BYTES], max[2 * NUMBER_BYTES], base[2 * NUMBER_BYTES];
    const char *where = result->window ? result->window : "whole run";
    exact_amount(figure, sizeof figure, result, result->figure);
    exact_amount(max, sizeof max, result, result->max);
    exact_amount(base, sizeof base, result, result->baseline);
    int n;
    if (!result->has_figure && result->has_baseline)
        n = asprintf(&text, "%s%s: could not tell: %s", result->window ? "window " : "", where,
                     result->why);
    else if (!result->has_figure)
        n = asprintf(&text, "%s%s: %s, at most %s: could not tell: %s",
                     result->window ? "window " : "", where, check_limit_words(result->limit), max,
                     result->why);
    else if (result->has_baseline)
        n = asprintf(&text, "%s%s%s: %s %s, baseline %s, at most %s%s%s",
                     result->window ? "window " : "", where, iteration_words(result),
                     check_limit_words(result->limit), figure, base, max,
                     result->why[0] ? "; " : "", result->why);
    else
        n = asprintf(&text, "%s%s%s: %s %s, at most %s%s%s", result->window ? "window " : "", where,
                     iteration_words(result), check_limit_words(result->limit), figure, max,
                     result->why[0] ? "; " : "", result->why);
    return n < 0 ? NULL : text;
}

/* The composition of a window's peak is not recorded: its stacks are those of all its bytes. */
const char *check_value_words(const CheckResult *result)
{
    return result->window && result->limit == BUDGET_PEAK ? " allocated in the iteration" : "";
}

/* ---- text
 * --------------------------------------------------------------------------------------------- */

/* Name and place of a frame on one line of the terminal. */
static void write_frame(const CheckFrame *frame, unsigned width, FILE *out)
{
    enum { INDENT = 10, LEAST = 30 };
    char place[128] = "";
    if (frame->file)
        snprintf(place, sizeof place, "  %s:%u", name_base(frame->file), frame->line);
    size_t taken = INDENT + strlen(place);
    fprintf(out, "%*s", INDENT, "");
    term_write_name(out, frame->function, width > taken + LEAST ? width - (unsigned)taken : LEAST);
    term_write_clean(out, place);
    fputc('\n', out);
}

static void write_stack(const CheckResult *result, const CheckStack *stack, FILE *out)
{
    unsigned width = term_width(fileno(out));
    char value[NUMBER_BYTES], change[NUMBER_BYTES];
    fprintf(out, "      %s%s", amount(value, result->limit, stack->value),
            check_value_words(result));
    if (stack->change != 0)
        fprintf(out, ", %s more than in the baseline",
                amount(change, result->limit, stack->change));
    fputc('\n', out);
    for (size_t f = 0; f < stack->frame_count; f++)
        write_frame(&stack->frames[f], width, out);
    size_t left = stack->depth - stack->frame_count;
    if (left > 0)
        fprintf(out, "%10s%s %zu more caller%s\n", "", term_has_utf8() ? "⋮" : "...", left,
                left == 1 ? "" : "s");
    if (stack->truncated)
        fprintf(out, "%10s(the stack could not be walked to its end)\n", "");
}

static int write_result(const CheckResult *result, FILE *out)
{
    static const char *const words[CHECK_VERDICTS] = {"pass", "FAIL", "????"};
    char *sentence = check_sentence(result);
    if (!sentence)
        return -ENOMEM;
    static const char *const colors[CHECK_VERDICTS] = {"\033[32m", "\033[1;31m", "\033[33m"};
    bool color = term_has_color(fileno(out));
    fprintf(out, "%s%s%s  ", color ? colors[result->verdict] : "", words[result->verdict],
            color ? "\033[0m" : "");
    term_write_clean(out, sentence);
    fputc('\n', out);
    free(sentence);
    for (size_t s = 0; s < result->stack_count; s++)
        write_stack(result, &result->stacks[s], out);
    if (result->verdict == CHECK_FAIL)
        fputc('\n', out);
    return 0;
}

int check_write_text(const CheckReport *report, FILE *out)
{
    static const char *const words[CHECK_VERDICTS] = {"passed", "failed", "could not tell"};
    size_t failed = 0, unknown = 0;
    for (size_t i = 0; i < report->count; i++) {
        int r = write_result(&report->results[i], out);
        if (r < 0)
            return r;
        failed += report->results[i].verdict == CHECK_FAIL;
        unknown += report->results[i].verdict == CHECK_UNKNOWN;
    }
    fprintf(out, "%s: %zu limit%s checked, %zu exceeded, %zu unknown\n",
            words[check_report_verdict(report)], report->count, report->count == 1 ? "" : "s",
            failed, unknown);
    return ferror(out) ? -EIO : 0;
}
