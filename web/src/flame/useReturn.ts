// SPDX-License-Identifier: Apache-2.0

import type { RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

/**
 * When callers and callees give way to the whole graph, the button that was pressed goes with them:
 * the keyboard's place is the graph then.
 */
export function useReturn(root: RefObject<HTMLElement | null>, focus: number | null): void {
    const before = useRef(focus);
    useLayoutEffect(() => {
        if (before.current !== null && focus === null && document.activeElement === document.body) {
            root.current?.querySelector<HTMLElement>('.flame-scroll')
                ?.focus({ preventScroll: true });
        }
        before.current = focus;
    }, [focus]);
}
