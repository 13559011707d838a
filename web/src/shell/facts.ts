// SPDX-License-Identifier: Apache-2.0
//
// What the header says, as data: state of a process, coverage of RSS, losses in words. Pure.

import type { Coverage, Process, ProcessDetail } from '../api';
import type { Columns } from '../timeline/columns';

export type Tone = 'good' | 'plain' | 'warn' | 'bad';

export interface Badge {
    tone: Tone;
    text: string;
    hint: string;
}

/** FOLLOWED: the server is there; without it nobody knows whether a program still runs. */
export function badgeOf(p: Pick<Process, 'state' | 'end'>, followed = true): Badge {
    if (p.state === 'running' && !followed) {
        return { tone: 'plain', text: 'was running', hint: 'As of when memhawk view ended' };
    }
    switch (p.state) {
        case 'running':
            return { tone: 'good', text: 'running', hint: 'The program runs; the page follows it' };
        case 'ended': {
            const end = p.end ?? 'ended';
            const well = /\bstatus 0$|^exit$|^ended$/.test(end);
            const hint = 'The program has ended and its profile is complete';
            return { tone: well ? 'plain' : 'warn', text: end, hint };
        }
        case 'gone':
            return {
                tone: 'bad',
                text: 'killed',
                hint: 'The process is gone and its profile has no end: after the last snapshot it is blank',
            };
        default:
            return {
                tone: 'warn',
                text: 'state unknown',
                hint: 'The profile has no end, and its process is on another machine or in a container',
            };
    }
}

export interface Share {
    name: 'live' | 'overhead' | 'recorder' | 'other';
    bytes: number;
    /** Of RSS, 0 to 1; those of all shares add up to 1 at most. */
    part: number;
}

/**
 * Parts of RSS. Pages that were allocated but never touched are not resident, so the heap can be
 * larger than RSS; then the parts are cut to what fits, in this order, and `other` is zero.
 */
export function coverageShares(c: Coverage): Share[] {
    const sizes: [Share['name'], number][] = [
        ['live', c.live_bytes],
        ['overhead', Math.max(c.usable_bytes - c.live_bytes, 0)],
        ['recorder', c.own_bytes],
    ];
    const known = sizes.reduce((sum, [, size]) => sum + size, 0);
    sizes.push(['other', Math.max(c.rss_bytes - known, 0)]);
    let room = 1;
    return sizes.map(([name, bytes]) => {
        const part = Math.min(c.rss_bytes > 0 ? bytes / c.rss_bytes : 0, room);
        room -= part;
        return { name, bytes, part };
    });
}

/** Whether more of it was mapped than can be resident beside the parts before it. */
export function isCut(s: Share, rss: number): boolean {
    return s.bytes > s.part * rss + 1;
}

/** Of the newest column with a known RSS, so that it moves with a live profile. */
export function coverageOf(columns: Columns | null, detail: ProcessDetail | null): Coverage | null {
    for (let i = (columns?.time.length ?? 0) - 1; columns && i >= 0; i--) {
        const rss = columns.rss_bytes[i] as number;
        if (rss > 0) {
            const live = columns.live_bytes[i] as number;
            return {
                time: columns.time[i] as number,
                live_bytes: live,
                usable_bytes: live + (columns.overhead[i] as number),
                own_bytes: columns.own_bytes[i] as number,
                rss_bytes: rss,
            };
        }
    }
    return detail?.coverage ?? null;
}

const LOSS_WORDS: Record<string, string> = {
    stack_table_full: 'allocations without their stack',
    live_map_full: 'blocks whose release was not followed',
    missed_frees: 'releases not seen',
    write_failed: 'bytes not written',
    reentrant_skipped: 'calls not counted',
    depth_cut: 'allocations with stacks cut at the depth limit',
    unwind_ended: 'allocations with stacks that end early',
    windows_dropped: 'windows dropped',
};

export function lossWords(name: string): string {
    return LOSS_WORDS[name] ?? name.replaceAll('_', ' ');
}

/** Command line for people: arguments with blanks or quotes are quoted. */
export function commandLine(args: string[] | string): string {
    if (typeof args === 'string') {
        return args;
    }
    const word = (text: string): string =>
        /^[^\s'"\\]+$/.test(text) ? text : JSON.stringify(text);
    return args.map(word).join(' ');
}
