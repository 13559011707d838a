// SPDX-License-Identifier: Apache-2.0
//
// Colours of nodes. By module: a hue from a hash of its name, so that a module has the same colour
// in each graph, both themes and, unless two modules of a page want the same hue, in each run;
// lightness is fixed per theme, so that text stays readable on all of them. By growth: from blue
// (shrunk) over grey to orange (grown), which people who cannot tell red from green can tell apart,
// and lightness differs too.

import { baseName } from './model';

export interface Theme {
    dark: boolean;
    ink: string;
    /** Text on nodes that are dimmed. */
    faint: string;
    panel: string;
    accent: string;
    font: string;
}

const HUES = 24;
const STEPS = 10;

/** FNV-1a. */
export function hash(text: string): number {
    let value = 0x811c9dc5;
    for (let i = 0; i < text.length; i++) {
        value = Math.imul(value ^ text.charCodeAt(i), 0x01000193) >>> 0;
    }
    // The low bits of short texts are alike: mix them.
    value = Math.imul(value ^ (value >>> 15), 0x85ebca6b) >>> 0;
    return (value ^ (value >>> 13)) >>> 0;
}

/**
 * Which module has which hue. The first one to want a hue has it; who comes later moves on, with a
 * hue between them as long as there is room.
 */
export class Hues {
    private readonly slots = new Map<string, number>();
    private readonly taken = new Set<number>();

    /** From 0 to HUES - 1, the same for the same name. */
    of(name: string): number {
        let slot = this.slots.get(name);
        if (slot === undefined) {
            slot = this.choose(hash(name) % HUES);
            this.slots.set(name, slot);
            this.taken.add(slot);
        }
        return slot;
    }

    private choose(wanted: number): number {
        // 7 has no divisor in common with 24: the walk comes by all hues, far ones first.
        const walk = Array.from({ length: HUES }, (_, at) => (wanted + 7 * at) % HUES);
        const free = (slot: number): boolean => !this.taken.has((slot + HUES) % HUES);
        const apart = (slot: number): boolean => free(slot - 1) && free(slot) && free(slot + 1);
        return walk.find(apart) ?? walk.find(free) ?? wanted;
    }
}

const pageHues = new Hues();

/** Of a module by its file's name (folders differ between machines); VARIANT from 0 to 2. */
export function moduleColour(
    module: string, dark: boolean, variant = 0, hues: Hues = pageHues,
): string {
    if (module === '') {
        return neutral(dark);
    }
    const name = baseName(module);
    const hue = hues.of(name) * (360 / HUES) + 8;
    const chroma = 0.08 + ((hash(name) >>> 8) % 3) * 0.02;
    const light = dark ? 0.41 + variant * 0.022 : 0.855 - variant * 0.026;
    return `oklch(${light.toFixed(3)} ${(dark ? chroma * 0.9 : chroma).toFixed(3)} ${hue})`;
}

export function neutral(dark: boolean): string {
    return dark ? 'oklch(0.36 0.008 260)' : 'oklch(0.9 0.006 90)';
}

/** Where a search or a hidden module dims a node. */
export function dimmed(dark: boolean): string {
    return dark ? 'oklch(0.27 0.006 260)' : 'oklch(0.945 0.004 90)';
}

/** GROWTH from -1 (gone) to 1 (new). */
export function growthColour(growth: number, dark: boolean): string {
    const step = Math.round(Math.abs(growth) * STEPS) / STEPS;
    if (step === 0) {
        return neutral(dark);
    }
    const strength = step ** 0.7;
    const hue = growth > 0 ? 48 : 250;
    const light = dark ? 0.36 + strength * (growth > 0 ? 0.14 : 0.1)
                       : 0.9 - strength * (growth > 0 ? 0.13 : 0.2);
    return `oklch(${light.toFixed(3)} ${(0.02 + strength * 0.12).toFixed(3)} ${hue})`;
}

/** What the canvas needs of the page's custom properties. */
export function readTheme(element: Element): Theme {
    const style = getComputedStyle(element);
    const value = (name: string, otherwise: string): string =>
        style.getPropertyValue(name).trim() || otherwise;
    const scheme = style.colorScheme;
    return {
        dark: scheme === 'dark',
        ink: value('--ink', '#1b1f24'),
        faint: value('--faint', '#8a919a'),
        panel: value('--panel', '#ffffff'),
        accent: value('--accent', '#a8480f'),
        font: value('--sans', 'sans-serif'),
    };
}
