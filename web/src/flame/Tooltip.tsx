// SPDX-License-Identifier: Apache-2.0
//
// The box beside the pointer. Its content changes with the node; its place is set on each move
// without rendering anything anew, and never lets it leave the window.

import type { JSX, RefObject } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { LABEL_OTHER } from '../api';
import { AllMetrics, MainValues, whereText } from './Facts';
import { nodeName } from './model';
import type { Tree } from './model';

export interface Point {
    x: number;
    y: number;
}

const AWAY = 14;
const EDGE = 8;

/** Left top corner of a box of that size beside POINT, within the window. */
export function placeBox(point: Point, size: Point, room: Point): Point {
    const right = point.x + AWAY;
    const below = point.y + AWAY;
    const x = right + size.x + EDGE <= room.x ? right : point.x - AWAY - size.x;
    const y = below + size.y + EDGE <= room.y ? below : point.y - AWAY - size.y;
    return {
        x: Math.max(EDGE, Math.min(x, room.x - size.x - EDGE)),
        y: Math.max(EDGE, Math.min(y, room.y - size.y - EDGE)),
    };
}

/** Moves the box to POINT. */
export function placeElement(box: HTMLElement | null, point: Point): void {
    if (!box) {
        return;
    }
    const size = { x: box.offsetWidth, y: box.offsetHeight };
    const { x, y } = placeBox(point, size, { x: innerWidth, y: innerHeight });
    box.style.transform = `translate(${Math.round(x)}px, ${Math.round(y)}px)`;
}

export function Tooltip({ tree, node, more, point }: {
    tree: Tree;
    node: number;
    /** There are more nodes to be had. */
    more: boolean;
    /** Where the pointer is; its `current` moves without a render. */
    point: RefObject<Point & { box: HTMLElement | null }>;
}): JSX.Element {
    const box = useRef<HTMLDivElement>(null);
    useLayoutEffect(() => {
        if (point.current) {
            point.current.box = box.current;
            placeElement(box.current, point.current);
        }
    });
    const where = whereText(tree, node);
    return (
        <div class="flame-tooltip" ref={box} aria-hidden="true">
            <div class="facts-name">{nodeName(tree, node)}</div>
            {where !== '' && <div class="facts-where">{where}</div>}
            <MainValues tree={tree} node={node} />
            <AllMetrics tree={tree} node={node} />
            {more && tree.label[node] === LABEL_OTHER && (
                <div class="facts-where">Click to show more nodes</div>
            )}
        </div>
    );
}
