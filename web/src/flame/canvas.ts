// SPDX-License-Identifier: Apache-2.0
//
// Draws a tree on a canvas and tells which node is at a point. Only rows in view are visited; in a
// row the first node is found by binary search, and nodes narrower than a pixel are drawn together
// as one sliver. Text is measured once per name. Cost: one pass over the nodes in view, a few
// milliseconds for 200,000.

import { LABEL_OTHER } from '../api';
import { dimmed, growthColour, hash, moduleColour, neutral } from './colours';
import type { Theme } from './colours';
import { firstBeyond, growth, isWithin, moduleOf, nodeAt, nodeName } from './model';
import type { Tree } from './model';
import { Fitter } from './names';
import type { Matches } from './search';

export const ROW = 20;
const FONT_SIZE = 12;
const PADDING = 5;
/** Narrower nodes carry no text. */
const TEXT_FROM = 26;

/** What part of the tree is in view: X as fractions of the root, `scroll` in pixels. */
export interface Camera {
    x0: number;
    x1: number;
    scroll: number;
}

export interface Scene {
    tree: Tree;
    camera: Camera;
    /** CSS pixels. */
    width: number;
    height: number;
    ratio: number;
    bottom: boolean;
    zoomed: number;
    selected: number;
    hovered: number;
    matches: Matches | null;
    withLines: boolean;
    theme: Theme;
}

/** Height of all rows; what lies above the root's row at `bottom` is empty. */
export function treeHeight(tree: Tree): number {
    return tree.levels.length * ROW;
}

/** Top edge of a level in the canvas. */
export function rowTop(scene: Scene, level: number): number {
    const { tree, camera, bottom, height } = scene;
    if (!bottom) {
        return level * ROW - camera.scroll;
    }
    const whole = Math.max(treeHeight(tree), height);
    return whole - (level + 1) * ROW - camera.scroll;
}

/** The node at a point of the canvas; -1: none. */
export function hit(scene: Scene, x: number, y: number): number {
    const { tree, camera, bottom, width, height } = scene;
    const whole = Math.max(treeHeight(tree), height);
    const down = y + camera.scroll;
    const level = Math.floor((bottom ? whole - down : down) / ROW);
    return nodeAt(tree, level, camera.x0 + (x / width) * (camera.x1 - camera.x0));
}

/** Colours of a tree's nodes; remembered, as a label's colour is asked for on each frame. */
class Palette {
    private readonly labels: (string | undefined)[] = [];
    private readonly steps = new Map<number, string>();

    constructor(
        private readonly tree: Tree,
        private readonly dark: boolean,
    ) {}

    of(node: number): string {
        if (this.tree.side === 'both') {
            return this.ofGrowth(node);
        }
        const label = this.tree.label[node]!;
        if (label < 0) {
            return neutral(this.dark);
        }
        return (this.labels[label] ??= moduleColour(
            moduleOf(this.tree, node),
            this.dark,
            hash(this.tree.answer.labels.function[label] ?? '') % 3,
        ));
    }

    private ofGrowth(node: number): string {
        const value = growth(this.tree, node);
        const step = Math.round(value * 10);
        let colour = this.steps.get(step);
        if (colour === undefined) {
            colour = growthColour(value, this.dark);
            this.steps.set(step, colour);
        }
        return colour;
    }
}

export class Renderer {
    private readonly fitter: Fitter;
    private palette: Palette | null = null;
    private paletteFor: { tree: Tree; dark: boolean } | null = null;
    private names: (string | undefined)[] = [];

    constructor(private readonly context: CanvasRenderingContext2D) {
        this.fitter = new Fitter((text) => context.measureText(text).width);
    }

    draw(scene: Scene): void {
        const { context } = this;
        const { tree, width, height, ratio, theme } = scene;
        this.prepare(scene);
        context.setTransform(ratio, 0, 0, ratio, 0, 0);
        context.fillStyle = theme.panel;
        context.fillRect(0, 0, width, height);
        context.font = `${FONT_SIZE}px ${theme.font}`;
        context.textBaseline = 'middle';
        for (let level = 0; level < tree.levels.length; level++) {
            const top = rowTop(scene, level);
            if (top + ROW > 0 && top < height) {
                this.drawRow(scene, tree.levels[level]!, top);
            }
        }
        this.outline(scene, scene.hovered, 1);
        this.outline(scene, scene.selected, 2);
    }

    private prepare(scene: Scene): void {
        const { tree, theme } = scene;
        const last = this.paletteFor;
        if (!last || last.tree !== tree || last.dark !== theme.dark) {
            this.palette = new Palette(tree, theme.dark);
            this.paletteFor = { tree, dark: theme.dark };
            this.names = [];
        }
    }

    private drawRow(scene: Scene, row: Int32Array, top: number): void {
        const { tree, camera, width, ratio } = scene;
        const scale = width / (camera.x1 - camera.x0);
        const snap = (x: number): number => Math.round(x * ratio) / ratio;
        let at = firstBeyond(tree, row, camera.x0);
        while (at < row.length) {
            const node = row[at]!;
            const left = (tree.x0[node]! - camera.x0) * scale;
            if (left >= width) {
                break;
            }
            const right = (tree.x1[node]! - camera.x0) * scale;
            if (right - left < 1) {
                at = this.drawSliver(scene, row, at, left, top);
                continue;
            }
            const from = Math.max(snap(left), 0);
            this.drawNode(scene, node, from, Math.min(snap(right), width) - from, top);
            at++;
        }
    }

    private drawNode(scene: Scene, node: number, left: number, width: number, top: number): void {
        const { context } = this;
        const { matches, theme, ratio } = scene;
        const faded = matches !== null && matches.node[node] === 0;
        context.fillStyle = faded ? dimmed(theme.dark) : this.palette!.of(node);
        // A line of the panel's colour is left between neighbours that are wide enough.
        const gap = width > 3 ? 1 / ratio : 0;
        const above = this.aboveZoom(scene, node);
        context.globalAlpha = above ? 0.55 : 1;
        context.fillRect(left, top, width - gap, ROW - 1);
        if (scene.tree.label[node] === LABEL_OTHER) {
            this.hatch(left, top, width - gap, theme);
        }
        if (width >= TEXT_FROM) {
            const text = this.fitter.fit(this.nameOf(scene, node), width - 2 * PADDING);
            context.fillStyle = faded ? theme.faint : theme.ink;
            context.globalAlpha = above ? 0.8 : 1;
            context.fillText(text, left + PADDING, top + (ROW - 1) / 2 + 0.5);
        }
        context.globalAlpha = 1;
    }

    /** Nodes of less than a pixel, drawn as one, the first one always; returns the next index. */
    private drawSliver(
        scene: Scene, row: Int32Array, start: number, left: number, top: number,
    ): number {
        const { tree, camera, width, matches, theme } = scene;
        const scale = width / (camera.x1 - camera.x0);
        const until = camera.x0 + (left + 1) / scale;
        let at = start;
        let shown = row[start]!;
        let found = matches === null;
        let right = left;
        while (at < row.length && (at === start || tree.x0[row[at]!]! < until)) {
            const node = row[at]!;
            const edge = (tree.x1[node]! - camera.x0) * scale;
            if (at > start && edge - (tree.x0[node]! - camera.x0) * scale >= 1) {
                break;
            }
            right = edge;
            if (!found && matches!.node[node] === 1) {
                found = true;
                shown = node;
            }
            at++;
        }
        this.context.fillStyle = found ? this.palette!.of(shown) : dimmed(theme.dark);
        this.context.fillRect(left, top, Math.max(right - left, 0.5), ROW - 1);
        return at;
    }

    private hatch(left: number, top: number, width: number, theme: Theme): void {
        const { context } = this;
        context.save();
        context.beginPath();
        context.rect(left, top, width, ROW - 1);
        context.clip();
        context.strokeStyle = theme.faint;
        context.globalAlpha *= 0.35;
        context.beginPath();
        for (let x = left - ROW; x < left + width; x += 7) {
            context.moveTo(x, top + ROW);
            context.lineTo(x + ROW, top);
        }
        context.stroke();
        context.restore();
    }

    private outline(scene: Scene, node: number, thickness: number): void {
        const { tree, camera, width, theme } = scene;
        if (node < 0 || node >= tree.count) {
            return;
        }
        const scale = width / (camera.x1 - camera.x0);
        const left = Math.max((tree.x0[node]! - camera.x0) * scale, 0);
        const right = Math.min((tree.x1[node]! - camera.x0) * scale, width);
        if (right < left) {
            return;
        }
        const top = rowTop(scene, tree.level[node]!);
        const half = thickness / 2;
        this.context.strokeStyle = thickness > 1 ? theme.accent : theme.ink;
        this.context.lineWidth = thickness;
        this.context.strokeRect(
            left + half, top + half, Math.max(right - left - thickness, 1), ROW - 1 - thickness,
        );
        this.context.lineWidth = 1;
    }

    private aboveZoom(scene: Scene, node: number): boolean {
        return node !== scene.zoomed && isWithin(scene.tree, scene.zoomed, node);
    }

    private nameOf(scene: Scene, node: number): string {
        const label = scene.tree.label[node]!;
        if (label < 0) {
            return nodeName(scene.tree, node);
        }
        return (this.names[label] ??= nodeName(scene.tree, node, scene.withLines));
    }
}
