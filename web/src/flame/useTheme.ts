// SPDX-License-Identifier: Apache-2.0
//
// The page's colours for a canvas: read again when the system or the switch in the header changes
// them.

import type { RefObject } from 'preact';
import { useLayoutEffect, useState } from 'preact/hooks';
import { readTheme } from './colours';
import type { Theme } from './colours';

/** null until ELEMENT is in the page. */
export function useTheme(element: RefObject<Element | null>): Theme | null {
    const [theme, setTheme] = useState<Theme | null>(null);
    useLayoutEffect(() => {
        const read = (): void => {
            if (element.current) {
                setTheme(readTheme(element.current));
            }
        };
        read();
        const system = matchMedia('(prefers-color-scheme: dark)');
        const root = new MutationObserver(read);
        root.observe(document.documentElement, { attributeFilter: ['data-theme'] });
        system.addEventListener('change', read);
        return () => {
            root.disconnect();
            system.removeEventListener('change', read);
        };
    }, []);
    return theme;
}
