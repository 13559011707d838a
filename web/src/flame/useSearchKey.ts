// SPDX-License-Identifier: Apache-2.0

import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** "/" puts the cursor into FIELD wherever no text is being typed; so does what it returns. */
export function useSearchKey(field: RefObject<HTMLInputElement | null>): () => void {
    const focus = (): void => field.current?.focus();
    useEffect(() => {
        const onKeyDown = (event: KeyboardEvent): void => {
            const typing = event.target instanceof Element &&
                event.target.closest('input, textarea, select, [contenteditable]') !== null;
            const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
            if (event.key === '/' && plain && !typing && !event.defaultPrevented) {
                event.preventDefault();
                focus();
            }
        };
        document.addEventListener('keydown', onKeyDown);
        return () => document.removeEventListener('keydown', onKeyDown);
    }, []);
    return focus;
}
