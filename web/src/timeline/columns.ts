// SPDX-License-Identifier: Apache-2.0
//
// The timeline's data: columns of equal length, one entry a snapshot that is shown. Pure. Columns
// are never changed in place: each step makes new ones, so that signals see it. All costs are
// linear in the number of columns, which LIMIT bounds.

import type { SnapshotEvent, Timeline } from '../api';

export const COLUMN_NAMES = [
    'time',
    'kind',
    'live_bytes',
    'live_count',
    'total_bytes',
    'total_count',
    'temporary',
    'overhead',
    'rss_bytes',
    'own_bytes',
    'threads',
] as const;
export type ColumnName = (typeof COLUMN_NAMES)[number];
export type Columns = Record<ColumnName, number[]>;

/** More columns than this are thinned out: twice what a wide screen can show. */
export const LIMIT = 4000;

function build(make: (name: ColumnName) => number[]): Columns {
    return Object.fromEntries(COLUMN_NAMES.map((name) => [name, make(name)])) as Columns;
}

export function columnsOf(timeline: Timeline): Columns {
    return build((name) => timeline[name]);
}

/** With the snapshot at its end; the same columns when it is not newer than their last one. */
export function append(columns: Columns, event: SnapshotEvent): Columns {
    const last = columns.time[columns.time.length - 1];
    if (last !== undefined && event.time <= last) {
        return columns;
    }
    const longer = build((name) => [...columns[name], event[name]]);
    return longer.time.length > LIMIT ? thin(longer) : longer;
}

function pick(columns: Columns, indices: number[]): Columns {
    return build((name) => indices.map((i) => columns[name][i] as number));
}

/** About half as many: of two neighbours the one with more live bytes; first and last stay. */
export function thin(columns: Columns): Columns {
    const n = columns.time.length;
    const indices: number[] = [];
    for (let i = 0; i < n; i++) {
        if (i === 0 || i === n - 1 || i + 1 === n - 1) {
            indices.push(i);
            continue;
        }
        const a = columns.live_bytes[i] as number;
        const b = columns.live_bytes[i + 1] as number;
        indices.push(b > a ? i + 1 : i);
        i++;
    }
    return pick(columns, indices);
}

/** First index whose time is not below (`after`: is above) the given one. */
export function lowerBound(times: readonly number[], time: number, after = false): number {
    let low = 0;
    let high = times.length;
    while (low < high) {
        const middle = (low + high) >> 1;
        const t = times[middle] as number;
        if (after ? t <= time : t < time) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/** `base`, with `fine` in place of all that lies in the span of `fine`. */
export function join(base: Columns, fine: Columns): Columns {
    const n = fine.time.length;
    if (n === 0) {
        return base;
    }
    const left = lowerBound(base.time, fine.time[0] as number);
    const right = lowerBound(base.time, fine.time[n - 1] as number, true);
    return build((name) => [
        ...base[name].slice(0, left),
        ...fine[name],
        ...base[name].slice(right),
    ]);
}

/** Typical distance of two columns in microseconds; 0: fewer than two. */
export function typicalGap(times: readonly number[]): number {
    const n = times.length;
    return n < 2 ? 0 : ((times[n - 1] as number) - (times[0] as number)) / (n - 1);
}

/**
 * Growth per second of a cumulative column. Snapshots at peaks may lie a millisecond apart, where
 * a difference says nothing: each rate is taken over at least half the typical distance, from the
 * nearest column that is far enough back. The first has none (null).
 */
export function rates(times: readonly number[], totals: readonly number[]): (number | null)[] {
    const least = Math.max(typicalGap(times) / 2, 1);
    let back = 0;
    return times.map((time, i) => {
        while (back + 1 < i && time - (times[back + 1] as number) >= least) {
            back++;
        }
        const length = time - (times[back] as number);
        if (i === 0 || length <= 0) {
            return null;
        }
        return (((totals[i] as number) - (totals[back] as number)) / length) * 1e6;
    });
}

/** The column with the most live bytes of those in the span; -1: none is in it. */
export function peakIndex(columns: Columns, from: number, to: number): number {
    const end = lowerBound(columns.time, to, true);
    let best = -1;
    for (let i = lowerBound(columns.time, from); i < end; i++) {
        if (best < 0 || (columns.live_bytes[i] as number) > (columns.live_bytes[best] as number)) {
            best = i;
        }
    }
    return best;
}
