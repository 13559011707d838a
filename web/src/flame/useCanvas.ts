// SPDX-License-Identifier: Apache-2.0
//
// The moving parts of a flame graph: the canvas's size and pixel ratio, the camera that glides to
// what is zoomed, one drawing a frame at most.

import type { RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { Renderer, ROW, rowTop } from './canvas';
import type { Camera, Scene } from './canvas';

const GLIDE_MS = 140;

/** What the caller decides; the hook adds size, ratio and camera. */
export type Wish = Omit<Scene, 'camera' | 'width' | 'height' | 'ratio'>;

export interface Stage {
    /** What was drawn last, or will be next; null before the first size is known. */
    scene(): Scene | null;
    /** Scrolls so that the row of NODE is in view. */
    reveal(node: number): void;
}

function still(): boolean {
    return matchMedia('(prefers-reduced-motion: reduce)').matches;
}

export function useCanvas(
    canvas: RefObject<HTMLCanvasElement | null>,
    scroller: RefObject<HTMLElement | null>,
    wish: Wish | null,
): Stage {
    const camera = useRef<Camera>({ x0: 0, x1: 1, scroll: 0 });
    const glide = useRef<{ from: Camera; since: number } | null>(null);
    const renderer = useRef<Renderer | null>(null);
    const frame = useRef(0);
    const newest = useRef<Wish | null>(null);
    const last = useRef<{ tree: unknown; zoomed: number }>({ tree: null, zoomed: 0 });
    newest.current = wish;

    function scene(): Scene | null {
        const box = scroller.current;
        const now = newest.current;
        if (!box || !now || box.clientWidth === 0) {
            return null;
        }
        camera.current.scroll = box.scrollTop;
        return {
            ...now,
            camera: camera.current,
            width: box.clientWidth,
            height: box.clientHeight,
            ratio: window.devicePixelRatio || 1,
        };
    }

    function fitCanvas(what: Scene): void {
        const element = canvas.current!;
        const width = Math.round(what.width * what.ratio);
        const height = Math.round(what.height * what.ratio);
        if (element.width !== width || element.height !== height) {
            element.width = width;
            element.height = height;
            element.style.width = `${what.width}px`;
            element.style.height = `${what.height}px`;
        }
    }

    /** Moves the camera on its way; true while it is not there. */
    function move(what: Scene, time: number): boolean {
        const { tree, zoomed } = what;
        const goal = { x0: tree.x0[zoomed] ?? 0, x1: tree.x1[zoomed] ?? 1 };
        const way = glide.current;
        // A frame's time may lie before the moment that the way began.
        const part = way ? Math.min(Math.max((time - way.since) / GLIDE_MS, 0), 1) : 1;
        const eased = 1 - (1 - part) ** 3;
        const from = way ? way.from : goal;
        camera.current.x0 = from.x0 + (goal.x0 - from.x0) * eased;
        camera.current.x1 = from.x1 + (goal.x1 - from.x1) * eased;
        if (part >= 1) {
            glide.current = null;
        }
        return part < 1;
    }

    function paint(time: number): void {
        frame.current = 0;
        const what = scene();
        const context = canvas.current?.getContext('2d', { alpha: false });
        if (!what || !context) {
            return;
        }
        fitCanvas(what);
        const moving = move(what, time);
        renderer.current ??= new Renderer(context);
        renderer.current.draw(what);
        if (moving) {
            request();
        }
    }

    function request(): void {
        if (frame.current === 0) {
            frame.current = requestAnimationFrame(paint);
        }
    }

    useLayoutEffect(() => {
        if (!wish) {
            return;
        }
        const before = last.current;
        if (before.tree === wish.tree && before.zoomed !== wish.zoomed && !still()) {
            glide.current = { from: { ...camera.current }, since: performance.now() };
        }
        last.current = { tree: wish.tree, zoomed: wish.zoomed };
        request();
    });

    useEffect(() => {
        const box = scroller.current;
        if (!box) {
            return;
        }
        const sizes = new ResizeObserver(request);
        sizes.observe(box);
        box.addEventListener('scroll', request, { passive: true });
        window.addEventListener('resize', request);
        return () => {
            sizes.disconnect();
            box.removeEventListener('scroll', request);
            window.removeEventListener('resize', request);
            cancelAnimationFrame(frame.current);
            frame.current = 0;
        };
    }, []);

    function reveal(node: number): void {
        const what = scene();
        const box = scroller.current;
        if (!what || !box) {
            return;
        }
        const top = rowTop(what, what.tree.level[node] ?? 0);
        if (top < 0) {
            box.scrollTop += top - ROW;
        } else if (top + ROW > what.height) {
            box.scrollTop += top + 2 * ROW - what.height;
        }
    }

    return { scene, reveal };
}
