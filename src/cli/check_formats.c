// SPDX-License-Identifier: Apache-2.0
/*
 * Results of a check for machines: JSON (docs/WINDOWS.md, version 1), JUnit XML (one test case for
 * each limit, as CI systems read it), and GitHub's workflow commands (an annotation at the line
 * that allocates most). Names are escaped for each. One thread.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/check.h"
#include "export/json_piece.h"
#include "export/names.h"

/* ---- JSON
 * ------------------------------------------------------------------------------------------ */

static json_t *frames_array(const CheckStack *stack)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < stack->frame_count; i++) {
        const CheckFrame *frame = &stack->frames[i];
        json_array_append_new(array,
                              json_pack("{s:o, s:o, s:o}", "function", json_name(frame->function),
                                        "file", json_name(frame->file), "line",
                                        frame->file ? json_integer(frame->line) : json_null()));
    }
    return array;
}

static json_t *stacks_array(const CheckResult *result)
{
    json_t *array = json_array();
    for (size_t i = 0; array && i < result->stack_count; i++) {
        const CheckStack *stack = &result->stacks[i];
        json_array_append_new(
            array,
            json_pack("{s:I, s:o, s:I, s:b, s:o}", "value", (json_int_t)stack->value, "change",
                      result->has_baseline ? json_integer((json_int_t)stack->change) : json_null(),
                      "depth", (json_int_t)stack->depth, "truncated", (int)stack->truncated,
                      "frames", frames_array(stack)));
    }
    return array;
}

static json_t *number(bool is_known, int64_t value)
{
    return is_known ? json_integer((json_int_t)value) : json_null();
}

static json_t *result_object(const CheckResult *result)
{
    bool judged = result->has_figure || !result->has_baseline;
    return json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "verdict",
        check_verdict_name(result->verdict), "limit",
        judged ? json_string(budget_limit_name(result->limit)) : json_null(), "window",
        json_name(result->window), "statistic",
        !result->window  ? json_null()
        : result->median ? json_string("median")
                         : json_string("worst"),
        "figure", number(result->has_figure, result->figure), "max", number(judged, result->max),
        "baseline", number(result->has_baseline && result->has_figure, result->baseline), "why",
        result->why[0] ? json_name(result->why) : json_null(), "stacks", stacks_array(result));
}

int check_write_json(const CheckReport *report, FILE *out)
{
    json_t *results = json_array();
    for (size_t i = 0; results && i < report->count; i++)
        json_array_append_new(results, result_object(&report->results[i]));
    json_t *document = json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:s, s:o}", "version", 1, "kind", "check", "file",
        json_name(report->path), "baseline", json_name(report->baseline_path), "tolerance_percent",
        report->baseline_path ? json_real(report->tolerance_percent) : json_null(), "verdict",
        check_verdict_name(check_report_verdict(report)), "results", results);
    int r = json_piece_write(document, out);
    fputc('\n', out);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}

/* ---- stacks as lines
 * ---------------------------------------------------------------------------------- */

static char *stacks_text(const CheckResult *result)
{
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    for (size_t s = 0; s < result->stack_count; s++) {
        const CheckStack *stack = &result->stacks[s];
        fprintf(to, "%" PRId64 "%s", stack->value, check_value_words(result));
        if (stack->change != 0)
            fprintf(to, " (+%" PRId64 ")", stack->change);
        for (size_t f = 0; f < stack->frame_count; f++) {
            const CheckFrame *frame = &stack->frames[f];
            fprintf(to, f ? "\n    %s" : "  %s", frame->function);
            if (frame->file)
                fprintf(to, "  %s:%" PRIu32, name_base(frame->file), frame->line);
        }
        fprintf(to, "%s\n", stack->truncated ? "\n    (not walked to its end)" : "");
    }
    return fclose(to) == 0 ? text : NULL;
}

/* ---- JUnit -------------------------------------------------------------------------------- */

/* XML 1.0 has no control characters, not even escaped. */
static int write_xml(const char *text, FILE *out)
{
    NameBuffer valid = {0};
    const char *at = name_append_utf8(&valid, text);
    for (; at && *at; at++) {
        unsigned char c = (unsigned char)*at;
        if (c == '&' || c == '<' || c == '>' || c == '"')
            fputs(c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : "&quot;", out);
        else
            fputc(c < 0x20 && c != '\n' && c != '\t' ? '?' : c, out);
    }
    name_buffer_done(&valid);
    return at ? 0 : -ENOMEM;
}

static int write_case(const CheckResult *result, FILE *out)
{
    char *sentence = check_sentence(result), *stacks = stacks_text(result);
    int r = sentence && stacks ? 0 : -ENOMEM;
    bool judged = result->has_figure || !result->has_baseline;
    fputs("  <testcase classname=\"memhawk.", out);
    r = r < 0 ? r : write_xml(result->window ? result->window : "whole run", out);
    fprintf(out, "\" name=\"%s%s\"", judged ? budget_limit_name(result->limit) : "window",
            result->window && judged ? result->median ? " (median iteration)" : " (worst iteration)"
                                     : "");
    if (result->verdict == CHECK_PASS) {
        fputs("/>\n", out);
    } else {
        const char *element = result->verdict == CHECK_FAIL ? "failure" : "error";
        fprintf(out, ">\n    <%s message=\"", element);
        r = r < 0 ? r : write_xml(sentence, out);
        fputs("\">", out);
        r = r < 0 ? r : write_xml(stacks, out);
        fprintf(out, "</%s>\n  </testcase>\n", element);
    }
    free(sentence);
    free(stacks);
    return r;
}

int check_write_junit(const CheckReport *report, FILE *out)
{
    size_t failed = 0, unknown = 0;
    int r = 0;
    for (size_t i = 0; i < report->count; i++) {
        failed += report->results[i].verdict == CHECK_FAIL;
        unknown += report->results[i].verdict == CHECK_UNKNOWN;
    }
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"memhawk check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\">\n",
            report->count, failed, unknown);
    for (size_t i = 0; i < report->count && r == 0; i++)
        r = write_case(&report->results[i], out);
    fputs("</testsuite>\n", out);
    return r < 0 ? r : ferror(out) ? -EIO : 0;
}

/* ---- GitHub ------------------------------------------------------------------------------- */

/* Workflow commands escape %, CR and LF; in properties also : and ,. */
static void write_command(const char *text, bool property, FILE *out)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '%' || c == '\n' || c == '\r' || (property && (c == ':' || c == ',')))
            fprintf(out, "%%%02X", c);
        else
            fputc(c, out);
    }
}

/* Annotations want paths below the working folder. */
static const char *below_here(const char *path)
{
    char *here = getcwd(NULL, 0);
    size_t length = here ? strlen(here) : 0;
    if (here && strncmp(path, here, length) == 0 && path[length] == '/')
        path += length + 1;
    free(here);
    return path;
}

/* The innermost frame with a line that lies below the working folder, else with any line. */
static const CheckFrame *blamed_frame(const CheckResult *result)
{
    const CheckFrame *any = NULL;
    if (result->stack_count == 0)
        return NULL;
    const CheckStack *stack = &result->stacks[0];
    for (size_t i = 0; i < stack->frame_count; i++) {
        const CheckFrame *frame = &stack->frames[i];
        if (!frame->file)
            continue;
        if (below_here(frame->file) != frame->file)
            return frame;
        any = any ? any : frame;
    }
    return any;
}

int check_write_github(const CheckReport *report, FILE *out)
{
    for (size_t i = 0; i < report->count; i++) {
        const CheckResult *result = &report->results[i];
        if (result->verdict == CHECK_PASS)
            continue;
        char *sentence = check_sentence(result), *stacks = stacks_text(result);
        const CheckFrame *frame = blamed_frame(result);
        if (!sentence || !stacks) {
            free(sentence);
            free(stacks);
            return -ENOMEM;
        }
        fputs(result->verdict == CHECK_FAIL ? "::error " : "::warning ", out);
        if (frame) {
            fputs("file=", out);
            write_command(below_here(frame->file), true, out);
            fprintf(out, ",line=%" PRIu32 ",", frame->line);
        }
        fputs("title=memhawk check::", out);
        write_command(sentence, false, out);
        if (*stacks) {
            fputs("%0A", out);
            write_command(stacks, false, out);
        }
        fputc('\n', out);
        free(sentence);
        free(stacks);
    }
    return ferror(out) ? -EIO : 0;
}
