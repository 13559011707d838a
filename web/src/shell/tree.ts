// SPDX-License-Identifier: Apache-2.0
//
// Processes as a tree: each below its parent, if that is in the list, in the order of the list; what
// of it can be seen while branches are folded; and what a key means in it, as the ARIA practices
// have it for a tree. Pure.

import type { Process } from '../api';

export interface TreeRow {
    process: Process;
    depth: number;
    /** The row above that it belongs to; null: none. */
    parent: number | null;
    children: number;
    /** Its place among its siblings, from 1, and how many they are. */
    place: number;
    of: number;
}

/** The parent of each, if it is in the list. A ring, from a damaged file, is cut at its first. */
function parentsOf(processes: readonly Process[]): Map<number, number | null> {
    const parents = new Map(processes.map((p) => [p.id, p.parent_id]));
    const parentOf = (id: number): number | null => parents.get(id) ?? null;
    for (const [id, parent] of parents) {
        let above = parent;
        for (let steps = parents.size; above !== null && above !== id && steps > 0; steps--) {
            above = parentOf(above);
        }
        if (above === id || (parent !== null && !parents.has(parent))) {
            parents.set(id, null);
        }
    }
    return parents;
}

export function treeOf(processes: readonly Process[]): TreeRow[] {
    const parents = parentsOf(processes);
    const children = new Map<number | null, Process[]>();
    for (const p of processes) {
        const parent = parents.get(p.id) ?? null;
        children.set(parent, [...(children.get(parent) ?? []), p]);
    }
    const rows: TreeRow[] = [];
    const visit = (parent: number | null, depth: number): void => {
        const siblings = children.get(parent) ?? [];
        siblings.forEach((process, i) => {
            const below = children.get(process.id)?.length ?? 0;
            const place = { place: i + 1, of: siblings.length };
            rows.push({ process, depth, parent, children: below, ...place });
            visit(process.id, depth + 1);
        });
    };
    visit(null, 0);
    return rows;
}

/** Rows that no folded branch hides. */
export function unfolded(rows: readonly TreeRow[], folded: ReadonlySet<number>): TreeRow[] {
    const hidden = new Set<number>();
    return rows.filter(({ process, parent }) => {
        if (parent !== null && (hidden.has(parent) || folded.has(parent))) {
            hidden.add(process.id);
            return false;
        }
        return true;
    });
}

/** Ids of all rows that ID lies below, the nearest first. */
export function ancestorsOf(rows: readonly TreeRow[], id: number): number[] {
    const above: number[] = [];
    let row = rows.find((one) => one.process.id === id);
    while (row && row.parent !== null) {
        const { parent } = row;
        above.push(parent);
        row = rows.find((one) => one.process.id === parent);
    }
    return above;
}

export type TreeStep = { focus: number } | { fold: number } | { unfold: number };

/** What KEY does on the row with ID; null: nothing. ROWS: those that can be seen. */
export function treeKey(
    rows: readonly TreeRow[],
    folded: ReadonlySet<number>,
    id: number,
    key: string,
): TreeStep | null {
    const at = rows.findIndex((row) => row.process.id === id);
    const row = rows[at];
    const focus = (to: TreeRow | undefined): TreeStep | null =>
        to ? { focus: to.process.id } : null;
    if (!row) {
        return null;
    }
    switch (key) {
        case 'ArrowDown':
            return focus(rows[at + 1]);
        case 'ArrowUp':
            return focus(rows[at - 1]);
        case 'Home':
            return focus(rows[0]);
        case 'End':
            return focus(rows[rows.length - 1]);
        case 'ArrowRight':
            if (row.children === 0) {
                return null;
            }
            return folded.has(id) ? { unfold: id } : focus(rows[at + 1]);
        case 'ArrowLeft':
            if (row.children > 0 && !folded.has(id)) {
                return { fold: id };
            }
            return row.parent === null ? null : { focus: row.parent };
        default:
            return null;
    }
}

/** The next row whose name or pid begins with what was typed; one letter moves on, more may stay. */
export function typedRow(rows: readonly TreeRow[], id: number, typed: string): number | null {
    const at = rows.findIndex((row) => row.process.id === id) + (typed.length > 1 ? 0 : 1);
    const text = typed.toLowerCase();
    for (let i = 0; i < rows.length; i++) {
        const { process } = rows[(at + i) % rows.length]!;
        if (process.name.toLowerCase().startsWith(text) || String(process.pid).startsWith(text)) {
            return process.id;
        }
    }
    return null;
}

/** Points of a polyline in a box of this size; empty: nothing to draw. */
export function sparkPoints(values: readonly number[], width: number, height: number): string {
    const top = Math.max(...values, 1);
    const last = values.length - 1;
    if (last < 1) {
        return '';
    }
    return values
        .map((value, i) => {
            const x = (i / last) * width;
            const y = height - 1 - (Math.max(value, 0) / top) * (height - 2);
            return `${x.toFixed(1)},${y.toFixed(1)}`;
        })
        .join(' ');
}
