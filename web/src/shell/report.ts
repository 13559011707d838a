// SPDX-License-Identifier: Apache-2.0
//
// The `memhawk report` command that gives what the page shows. Times are RFC 3339 to the end of
// their microsecond, which is what a request means by them (the file has nanoseconds).

import type { Selection } from '../api';
import { rfc3339 } from '../times';

/**
 * The selection in the words of a profile that is complete: what reaches its last snapshot reaches
 * the end, and a command made of it does not warn that its time is past the end.
 */
export function toTheEnd(s: Selection, last: number): Selection {
    const { to, ...rest } = s;
    const open = to === undefined || to >= last ? rest : { ...rest, to };
    return typeof open.at === 'number' && open.at >= last ? { ...open, at: 'end' } : open;
}

/** One word of a POSIX shell. */
export function quoted(word: string): string {
    return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/**
 * PEAK: the time of the highest snapshot of the interval; only needed for a peak inside an
 * interval, which `report` has no words for.
 */
export function reportCommand(path: string, s: Selection, peak: number | null): string {
    const words = ['memhawk', 'report'];
    const moment = (time: number | 'end'): string => (time === 'end' ? 'end' : rfc3339(time));
    if (s.mode === 'window') {
        words.push('--window', s.window ?? '');
    } else if (s.mode === 'moment') {
        words.push('--at', moment(s.at ?? 'end'));
    } else if (s.mode === 'between') {
        words.push('--from', s.from === undefined ? 'start' : rfc3339(s.from));
        if (s.to !== undefined) {
            words.push('--to', rfc3339(s.to));
        }
    } else if (peak !== null) {
        words.push('--at', rfc3339(peak));
    }
    if (s.metric && (s.metric !== 'live-bytes' || s.mode === 'window')) {
        words.push('--metric', s.metric);
    }
    if (s.granularity === 'line') {
        words.push('--granularity', 'line');
    }
    if (s.filter) {
        words.push('--filter', s.filter);
    }
    words.push(path);
    return words.map(quoted).join(' ');
}
