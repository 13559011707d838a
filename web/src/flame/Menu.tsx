// SPDX-License-Identifier: Apache-2.0
//
// A small menu at a point: closed by a choice, Escape, a click elsewhere or scrolling.

import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { placeElement } from './Tooltip';
import type { Point } from './Tooltip';

export interface MenuItem {
    text: string;
    keys?: string;
    run(): void;
}

function step(box: HTMLElement, by: number): void {
    const buttons = [...box.querySelectorAll('button')];
    const at = buttons.findIndex((button) => button === document.activeElement);
    buttons[(at + by + buttons.length) % buttons.length]?.focus();
}

export function Menu({ items, point, onClose }: {
    items: MenuItem[];
    point: Point;
    onClose(): void;
}): JSX.Element {
    const box = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        placeElement(box.current, point);
        box.current?.querySelector('button')?.focus();
    }, []);
    useEffect(() => {
        const outside = (event: Event): void => {
            if (!(event.target instanceof Node && box.current?.contains(event.target))) {
                onClose();
            }
        };
        addEventListener('pointerdown', outside, true);
        addEventListener('scroll', outside, true);
        return () => {
            removeEventListener('pointerdown', outside, true);
            removeEventListener('scroll', outside, true);
        };
    }, []);

    function onKeyDown(event: KeyboardEvent): void {
        const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
        if (by !== undefined) {
            step(box.current!, by);
        } else if (event.key === 'Escape' || event.key === 'Tab') {
            onClose();
        } else {
            return;
        }
        event.preventDefault();
        event.stopPropagation();
    }

    return (
        <div class="flame-menu" role="menu" ref={box} onKeyDown={onKeyDown}>
            {items.map((item) => (
                <button
                    type="button"
                    role="menuitem"
                    key={item.text}
                    onClick={() => {
                        onClose();
                        item.run();
                    }}
                >
                    <span>{item.text}</span>
                    {item.keys && <kbd>{item.keys}</kbd>}
                </button>
            ))}
        </div>
    );
}
