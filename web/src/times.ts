// SPDX-License-Identifier: Apache-2.0
//
// Moments as the page writes and reads them: seconds since the start of the run, and clock time in
// the reader's own zone. Times are microseconds since the epoch.

import { duration } from './format';

/** Seconds since the start, for text fields and titles: "12.345", without trailing zeros. */
export function seconds(time: number, start: number): string {
    return ((time - start) / 1e6).toFixed(6).replace(/\.?0+$/, '');
}

/** Seconds since the start, rounded to what the length of the span makes worth reading. */
export function shortSeconds(time: number, start: number, length: number): string {
    const digits = length >= 1e9 ? 0 : length >= 1e8 ? 1 : length >= 1e7 ? 2 : 3;
    return `${((time - start) / 1e6).toFixed(digits)} s`;
}

/**
 * What a person types into a time field: seconds ("12", "1.5s"), minutes and hours ("1:30",
 * "1:02:03.5"), "start", "end" or "now". A time, null for the run's own start or end, undefined:
 * not understood.
 */
export function parseTime(
    text: string,
    start: number,
    end: 'start' | 'end',
): number | null | undefined {
    const word = text.trim().toLowerCase();
    if (word === '' || word === end || (end === 'end' && word === 'now')) {
        return null;
    }
    if (word === 'start') {
        return start;
    }
    const match = /^(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d*)?|\.\d+)\s*(?:s|sec|seconds)?$/.exec(word);
    if (!match) {
        return undefined;
    }
    const [, hours = '0', minutes = '0', rest = '0'] = match;
    const total = Number(hours) * 3600 + Number(minutes) * 60 + Number(rest);
    return start + Math.round(total * 1e6);
}

const two = (n: number): string => String(n).padStart(2, '0');

/** "14:03:05", with milliseconds where asked for. */
export function clock(time: number, milliseconds = false): string {
    const date = new Date(time / 1000);
    const text = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
    return milliseconds ? `${text}.${String(date.getMilliseconds()).padStart(3, '0')}` : text;
}

/** "2026-01-31 14:03:05". */
export function dateAndClock(time: number): string {
    const d = new Date(time / 1000);
    return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clock(time)}`;
}

/** "14:03:05.000 – 14:03:09.250"; with dates where the day is not the same. */
export function clocks(from: number, to: number): string {
    const [first, last] = [dateAndClock(from), dateAndClock(to)];
    return first.slice(0, 10) === last.slice(0, 10)
        ? `${clock(from, true)} – ${clock(to, true)}`
        : `${first} – ${last}`;
}

/** A length in microseconds: "1.5 s", "2 min 3 s". */
export function length(us: number): string {
    return duration(us * 1000);
}

/**
 * RFC 3339 in UTC for `memhawk report`, meaning the end of this microsecond, as requests do: the
 * file has nanoseconds.
 */
export function rfc3339(time: number): string {
    const whole = new Date(Math.floor(time / 1000)).toISOString().replace(/\.\d+Z$/, '');
    return `${whole}.${String(time % 1e6).padStart(6, '0')}999Z`;
}
