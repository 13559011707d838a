// SPDX-License-Identifier: Apache-2.0

import type { RefObject } from 'preact';
import { useLayoutEffect } from 'preact/hooks';

/**
 * Scrolls BOX, a row that may be wider than the page, sideways until its element that SELECTOR finds
 * can be seen; again when KEY changes. Nothing around it moves.
 */
export function useInSight(box: RefObject<HTMLElement | null>, selector: string, key: unknown): void {
    useLayoutEffect(() => {
        const frame = box.current?.getBoundingClientRect();
        const place = box.current?.querySelector(selector)?.getBoundingClientRect();
        if (box.current && frame && place) {
            const right = place.right - frame.right;
            const left = place.left - frame.left;
            box.current.scrollLeft += right > 0 ? right : left < 0 ? left : 0;
        }
    }, [key]);
}
