// SPDX-License-Identifier: Apache-2.0
//
// The line at the top: whose page it is, whether it is live, dark or light.

import { connection, processList, route } from '../state';
import { THEMES } from '../route';
import type { Theme } from '../route';
import { chooseTheme } from '../theme';

const CONNECTION_WORDS = {
    connecting: ['plain', 'connecting'],
    live: ['good', 'live'],
    lost: ['warn', 'reconnecting'],
    gone: ['bad', 'server gone'],
} as const;

const THEME_WORDS: Record<Theme, string> = { auto: 'System colours', light: 'Light', dark: 'Dark' };

export function TopBar() {
    const [tone, words] = CONNECTION_WORDS[connection.value];
    return (
        <div class="top">
            <span class="brand">
                <svg viewBox="0 0 32 32" aria-hidden="true">
                    <path d="M3 26 L10 14 L16 19 L22 6 L29 26 Z" />
                </svg>
                MemHawk
            </span>
            <span
                class={`link-state ${tone}`}
                data-testid="connection"
                data-state={connection.value}
            >
                <i class={`dot ${tone}`} aria-hidden="true" /> {words}
            </span>
            <span class="version soft">{processList.value?.memhawk}</span>
            <label class="field theme">
                <span class="hidden">Colours</span>
                <select
                    value={route.value.theme}
                    data-testid="theme"
                    onChange={(event) => chooseTheme(event.currentTarget.value as Theme)}
                >
                    {THEMES.map((theme) => (
                        <option key={theme} value={theme}>
                            {THEME_WORDS[theme]}
                        </option>
                    ))}
                </select>
            </label>
        </div>
    );
}
