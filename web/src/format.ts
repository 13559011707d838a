// SPDX-License-Identifier: Apache-2.0
//
// Numbers as the page writes them: one decimal and a binary unit for bytes, thin separators in
// counts, a real minus sign, and the exact value wherever a tooltip has room for it.

import type { Metric, Unit } from './api';

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const THIN = '\u202f';
const MINUS = '\u2212';

/** 1234567 as "1 234 567" (narrow no-break spaces). */
export function count(value: number): string {
    const digits = Math.abs(Math.round(value)).toFixed(0);
    const grouped = digits.replace(/\B(?=(\d{3})+$)/g, THIN);
    return value < 0 && grouped !== '0' ? MINUS + grouped : grouped;
}

/** 12345678 as "11.8 MiB". */
export function bytes(value: number): string {
    let size = Math.abs(value);
    let unit = 0;
    // 1023.96 KiB would be written 1024.0 KiB: what rounds up to the next unit is given in it.
    while (unit < UNITS.length - 1 && (unit === 0 ? size >= 1024 : size >= 1023.95)) {
        size /= 1024;
        unit++;
    }
    const text = unit === 0 ? size.toFixed(0) : size.toFixed(1);
    return `${value < 0 ? MINUS : ''}${text}${THIN}${UNITS[unit]}`;
}

export function exactBytes(value: number): string {
    return `${count(value)} ${Math.abs(value) === 1 ? 'byte' : 'bytes'}`;
}

/** In the unit of the metric, short. */
export function amount(value: number, unit: Unit): string {
    return unit === 'bytes' ? bytes(value) : count(value);
}

/** In the unit of the metric, to the last digit. */
export function exact(value: number, unit: Unit): string {
    return unit === 'bytes' ? exactBytes(value) : count(value);
}

/** With a plus or minus sign; zero has none. */
export function signed(value: number, unit: Unit): string {
    return (value > 0 ? '+' : '') + amount(value, unit);
}

/** "12.3 %"; what is there but would round to nothing is "<0.1 %". */
export function share(part: number, whole: number): string {
    if (whole === 0) {
        return part === 0 ? `0${THIN}%` : '';
    }
    const percent = (part / whole) * 100;
    if (percent !== 0 && Math.abs(percent) < 0.05) {
        return `<0.1${THIN}%`;
    }
    return `${percent < 0 ? MINUS : ''}${Math.abs(percent).toFixed(1)}${THIN}%`;
}

/** A length of time in nanoseconds as "1.5 s". */
export function duration(ns: number): string {
    if (ns >= 3600e9) {
        return `${Math.floor(ns / 3600e9)}${THIN}h ${Math.floor((ns % 3600e9) / 60e9)}${THIN}min`;
    }
    if (ns >= 60e9) {
        return `${Math.floor(ns / 60e9)}${THIN}min ${Math.floor((ns % 60e9) / 1e9)}${THIN}s`;
    }
    if (ns >= 1e9) {
        return `${(ns / 1e9).toFixed(1)}${THIN}s`;
    }
    return ns >= 1e6 ? `${(ns / 1e6).toFixed(1)}${THIN}ms` : `${(ns / 1e3).toFixed(1)}${THIN}µs`;
}

/** A moment as seconds after the start of the run: "+12.345 s". */
export function since(time: number, start: number): string {
    const us = time - start;
    if (us < 60e6) {
        return `+${(us / 1e6).toFixed(3)}${THIN}s`;
    }
    return `+${duration(us * 1e3)}`;
}

export const METRIC_UNIT: Record<Metric, Unit> = {
    'live-bytes': 'bytes',
    'live-count': 'count',
    'total-bytes': 'bytes',
    'total-count': 'count',
    temporary: 'count',
    overhead: 'bytes',
};

export const METRIC_NAME: Record<Metric, string> = {
    'live-bytes': 'Live bytes',
    'live-count': 'Live blocks',
    'total-bytes': 'Allocated bytes',
    'total-count': 'Allocations',
    temporary: 'Temporary',
    overhead: 'Overhead',
};

/** The count that goes with a metric in bytes. */
export const COUNT_OF: Partial<Record<Metric, Metric>> = {
    'live-bytes': 'live-count',
    'total-bytes': 'total-count',
};

/** Words for so many of a counting metric: "3 blocks". */
export function counted(value: number, metric: Metric): string {
    const word = metric === 'live-count' ? 'block' : 'allocation';
    return `${count(value)} ${word}${Math.abs(value) === 1 ? '' : 's'}`;
}
