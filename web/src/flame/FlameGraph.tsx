// SPDX-License-Identifier: Apache-2.0
//
// One flame graph: canvas, path of the zoom, tooltip, menu, details of the selected node. What is
// zoomed and selected is remembered as paths of labels, so that both survive a newer tree.

import type { JSX } from 'preact';
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { LABEL_OTHER } from '../api';
import { hit, ROW, rowTop, treeHeight } from './canvas';
import { copyText } from './copy';
import { Crumbs, Details } from './Details';
import { spoken } from './Facts';
import { keyOfLabel } from './keys';
import { Menu } from './Menu';
import type { MenuItem } from './Menu';
import { findPath, isWithin, neighbour, nodeName, pathKeys } from './model';
import type { Path, Tree } from './model';
import type { Matches } from './search';
import { placeElement, Tooltip } from './Tooltip';
import type { Point } from './Tooltip';
import { useCanvas } from './useCanvas';
import { useTheme } from './useTheme';

export interface FlameGraphProps {
    tree: Tree;
    /** What it is of, for screen readers: "Added over the interval". */
    name: string;
    bottom: boolean;
    withLines: boolean;
    matches: Matches | null;
    /** A newer answer is on its way: the old one stays, dimmed. */
    dim: boolean;
    /** Puts the cursor into the search field. */
    onSearch?: (() => void) | undefined;
    /** Asks for more nodes; absent: the most there can be are there. */
    onMore?: (() => void) | undefined;
    /** Shows callers and callees of a label, named as keys.ts has it. */
    onFocus?: ((label: number) => void) | undefined;
}

type Way = 'parent' | 'child' | 'left' | 'right';

function wayOf(key: string, bottom: boolean): Way | null {
    switch (key) {
        case 'ArrowLeft':
            return 'left';
        case 'ArrowRight':
            return 'right';
        case 'ArrowUp':
            return bottom ? 'child' : 'parent';
        case 'ArrowDown':
            return bottom ? 'parent' : 'child';
        default:
            return null;
    }
}

/** The node of exactly that path; -1: it is not there. */
function exactNode(tree: Tree, path: Path | null): number {
    if (path === null || tree.count === 0) {
        return -1;
    }
    const node = findPath(tree, path);
    return tree.level[node] === path.length ? node : -1;
}

export function FlameGraph(props: FlameGraphProps): JSX.Element {
    const { tree, bottom, matches, withLines } = props;
    const canvas = useRef<HTMLCanvasElement>(null);
    const scroller = useRef<HTMLDivElement>(null);
    const pointer = useRef<Point & { box: HTMLElement | null; type: string }>({
        x: 0, y: 0, box: null, type: 'mouse',
    });
    const [zoomPath, setZoomPath] = useState<Path>([]);
    const [selectedPath, setSelectedPath] = useState<Path | null>(null);
    const [hoveredIn, setHovered] = useState<{ tree: Tree; node: number } | null>(null);
    const [menu, setMenu] = useState<Point | null>(null);
    const [said, setSaid] = useState('');
    const steps = useRef<Path[]>([]);
    const theme = useTheme(scroller);

    const zoomed = useMemo(() => findPath(tree, zoomPath), [tree, zoomPath]);
    const selected = useMemo(() => exactNode(tree, selectedPath), [tree, selectedPath]);
    // A node's number means nothing in another tree.
    const hovered = hoveredIn?.tree === tree ? hoveredIn.node : -1;
    const stage = useCanvas(
        canvas,
        scroller,
        theme && { tree, bottom, zoomed, selected, hovered, matches, withLines, theme },
    );

    // With the root at the bottom, a newer tree grows at the top: the view stays by the root.
    const fromBottom = useRef(0);
    useLayoutEffect(() => {
        const box = scroller.current;
        if (bottom && box) {
            box.scrollTop = box.scrollHeight - box.clientHeight - fromBottom.current;
        }
    }, [bottom, tree]);
    // What is under the resting pointer may be another node now.
    useLayoutEffect(() => {
        if (hoveredIn !== null) {
            hover(nodeUnder(pointer.current));
        }
    }, [tree]);

    function onScroll(): void {
        const box = scroller.current!;
        fromBottom.current = box.scrollHeight - box.clientHeight - box.scrollTop;
        setHovered(null);
    }

    function hover(node: number): void {
        if (node !== hovered) {
            setHovered(node >= 0 ? { tree, node } : null);
        }
    }

    function zoom(node: number): void {
        if (node !== zoomed) {
            steps.current.push(zoomPath);
            setZoomPath(pathKeys(tree, node));
        }
        stage.reveal(node);
    }

    function select(node: number): void {
        setSelectedPath(pathKeys(tree, node));
        setSaid('');
    }

    /** A step to a node by the keyboard: it has to be seen. */
    function walk(node: number): void {
        select(node);
        const scene = stage.scene();
        const wide = scene && (tree.x1[node]! - tree.x0[node]!) * scene.width;
        const zoomedWide = tree.x1[zoomed]! - tree.x0[zoomed]!;
        const outside = !isWithin(tree, node, zoomed) && !isWithin(tree, zoomed, node);
        if (outside || (wide !== null && wide / zoomedWide < 3)) {
            zoom(Math.max(tree.parent[node]!, 0));
        }
        stage.reveal(node);
    }

    function open(node: number): void {
        select(node);
        if (tree.label[node] === LABEL_OTHER) {
            props.onMore?.();
        } else {
            zoom(node);
        }
    }

    function back(): void {
        const path = steps.current.pop();
        setZoomPath(path ?? []);
    }

    function reset(): void {
        steps.current = [];
        setZoomPath([]);
        if (zoomPath.length === 0) {
            setSelectedPath(null);
        }
    }

    function copyName(node: number): void {
        void copyText(nodeName(tree, node)).then((done) => {
            setSaid(done ? 'Copied' : 'The browser does not allow copying');
        });
    }

    function nodeUnder({ x, y }: Point): number {
        const scene = stage.scene();
        const box = canvas.current?.getBoundingClientRect();
        return scene && box ? hit(scene, x - box.left, y - box.top) : -1;
    }

    function onPointerMove(event: PointerEvent): void {
        Object.assign(pointer.current, {
            x: event.clientX, y: event.clientY, type: event.pointerType,
        });
        if (event.pointerType === 'touch') {
            return;
        }
        hover(nodeUnder(pointer.current));
        placeElement(pointer.current.box, pointer.current);
    }

    function onClick(event: MouseEvent): void {
        const node = nodeUnder({ x: event.clientX, y: event.clientY });
        if (node < 0) {
            return;
        }
        setHovered(null);
        // A finger cannot hover: the first tap tells, the second zooms.
        if (pointer.current.type === 'touch' && node !== selected) {
            select(node);
        } else {
            open(node);
        }
    }

    function onContextMenu(event: MouseEvent): void {
        const box = canvas.current!.getBoundingClientRect();
        // A Mac's ctrl-click is the first button.
        const byMouse = event.button === 2 || event.ctrlKey;
        const byKeyboard = !byMouse && pointer.current.type !== 'touch';
        const point = { x: event.clientX, y: event.clientY };
        const node = byKeyboard ? selected : nodeUnder(point);
        const scene = stage.scene();
        if (node < 0 || !scene) {
            return;
        }
        event.preventDefault();
        select(node);
        setHovered(null);
        const share = (Math.max(tree.x0[node]!, scene.camera.x0) - scene.camera.x0) /
            (scene.camera.x1 - scene.camera.x0);
        setMenu(
            byKeyboard
                ? {
                      x: box.left + share * scene.width,
                      y: box.top + rowTop(scene, tree.level[node]!) + ROW / 2,
                  }
                : point,
        );
    }

    function closeMenu(): void {
        setMenu(null);
        scroller.current?.focus({ preventScroll: true });
    }

    function onKeyDown(event: KeyboardEvent): void {
        if (event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        const way = wayOf(event.key, bottom);
        if (way) {
            walk(selected < 0 ? zoomed : neighbour(tree, selected, way));
        } else if (event.key === 'Enter' || event.key === ' ') {
            open(selected < 0 ? zoomed : selected);
        } else if (event.key === 'Escape') {
            reset();
        } else if (event.key === 'Backspace') {
            back();
        } else if (event.key === '/' && props.onSearch) {
            props.onSearch();
        } else if (event.key === 'c' && selected >= 0) {
            copyName(selected);
        } else {
            return;
        }
        event.preventDefault();
    }

    function actions(node: number): MenuItem[] {
        const label = tree.label[node]!;
        const items: MenuItem[] = [];
        if (label === LABEL_OTHER) {
            if (props.onMore) {
                items.push({ text: 'Show more nodes', run: props.onMore });
            }
            return items;
        }
        items.push({ text: 'Zoom', keys: 'Enter', run: () => zoom(node) });
        items.push({ text: 'Copy name', keys: 'c', run: () => copyName(node) });
        if (label >= 0 && props.onFocus) {
            const key = keyOfLabel(tree.answer.labels, label);
            items.push({ text: 'Callers and callees', run: () => props.onFocus!(key) });
        }
        return items;
    }

    return (
        <div class={`flame-graph${props.dim ? ' is-dim' : ''}`} aria-busy={props.dim}>
            {zoomed > 0 && <Crumbs tree={tree} zoomed={zoomed} onZoom={zoom} />}
            <div
                class="flame-scroll"
                ref={scroller}
                tabIndex={0}
                role="application"
                aria-roledescription="flame graph"
                aria-label={`${props.name}. Arrow keys walk, Enter zooms, Escape resets.`}
                onKeyDown={onKeyDown}
                onScroll={onScroll}
                onContextMenu={onContextMenu}
            >
                <div class="flame-tall" style={{ height: `${treeHeight(tree)}px` }}>
                    <canvas
                        ref={canvas}
                        onPointerMove={onPointerMove}
                        onPointerDown={onPointerMove}
                        onPointerLeave={() => setHovered(null)}
                        onClick={onClick}
                    />
                </div>
            </div>
            <div class="offscreen" role="status" aria-live="polite">
                {selected >= 0 ? spoken(tree, selected) : ''}
            </div>
            {hovered >= 0 && !menu && (
                <Tooltip
                    tree={tree}
                    node={hovered}
                    more={props.onMore !== undefined}
                    point={pointer}
                />
            )}
            {menu && selected >= 0 && (
                <Menu items={actions(selected)} point={menu} onClose={closeMenu} />
            )}
            {selected >= 0 && (
                <Details tree={tree} node={selected} actions={actions(selected)} said={said} />
            )}
        </div>
    );
}
