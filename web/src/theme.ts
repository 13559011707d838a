// SPDX-License-Identifier: Apache-2.0
//
// Dark and light. The choice is in the route ("auto" follows the system) and remembered by the
// browser for the next page; the colours themselves are custom properties of theme.css. Canvases
// cannot use those, so `palette` has them as strings, new whenever the theme changes.

import { computed, effect, signal } from '@preact/signals';
import { THEMES } from './route';
import type { Theme } from './route';
import { go, route } from './state';

const NAMES = [
    'back',
    'panel',
    'ink',
    'soft',
    'faint',
    'line',
    'grid',
    'accent',
    'accent-wash',
    'live',
    'usable',
    'rss',
    'count',
    'mark',
    'grew',
    'shrank',
] as const;
export type Palette = Record<(typeof NAMES)[number], string>;

const STORAGE_KEY = 'memhawk-theme';
const systemDark = signal(false);

/** What is in force. */
export const dark = computed(() =>
    route.value.theme === 'auto' ? systemDark.value : route.value.theme === 'dark',
);
export const palette = signal<Palette>(
    Object.fromEntries(NAMES.map((name) => [name, '#888'])) as Palette,
);

function readPalette(): Palette {
    const style = getComputedStyle(document.documentElement);
    const value = (name: string): string => style.getPropertyValue(`--${name}`).trim() || '#888';
    return Object.fromEntries(NAMES.map((name) => [name, value(name)])) as Palette;
}

function remembered(): Theme {
    try {
        return THEMES.find((theme) => theme === localStorage.getItem(STORAGE_KEY)) ?? 'auto';
    } catch {
        return 'auto'; // storage is blocked
    }
}

export function chooseTheme(theme: Theme): void {
    try {
        localStorage.setItem(STORAGE_KEY, theme);
    } catch {
        // Blocked: the URL has it all the same.
    }
    go({ theme }, 'replace');
}

/** After watchLocation(); called once. */
export function startTheme(): void {
    const query = matchMedia('(prefers-color-scheme: dark)');
    systemDark.value = query.matches;
    query.addEventListener('change', () => {
        systemDark.value = query.matches;
    });
    if (route.peek().theme === 'auto') {
        go({ theme: remembered() }, 'replace');
    }
    effect(() => {
        document.documentElement.dataset['theme'] = dark.value ? 'dark' : 'light';
        palette.value = readPalette();
    });
}

/** Hues far apart for neighbours in a list; the same index has the same hue in both themes. */
const HUES = [24, 205, 145, 275, 48, 335, 178, 95, 232, 5, 300, 70];

/** Colour of the nth series of a chart. */
export function seriesColor(index: number, isDark: boolean): string {
    const hue = HUES[index % HUES.length] as number;
    const round = Math.floor(index / HUES.length) % 3;
    const light = isDark ? 62 - 9 * round : 52 + 9 * round;
    return `hsl(${hue} ${isDark ? 58 : 60}% ${light}%)`;
}

/** `hsl(...)` or `#rrggbb` with this opacity. */
export function withAlpha(color: string, alpha: number): string {
    if (color.startsWith('hsl(')) {
        return color.replace(')', ` / ${alpha})`);
    }
    const hex = Math.round(alpha * 255).toString(16);
    return color + hex.padStart(2, '0');
}
