// SPDX-License-Identifier: Apache-2.0
//
// Processes as a tree: each below its parent, if that is in the list, in the order of the list.

import type { Process } from '../api';

export interface TreeRow {
    process: Process;
    depth: number;
}

export function treeOf(processes: readonly Process[]): TreeRow[] {
    const known = new Set(processes.map((p) => p.id));
    const children = new Map<number | null, Process[]>();
    for (const p of processes) {
        const parent = p.parent_id !== null && known.has(p.parent_id) ? p.parent_id : null;
        children.set(parent, [...(children.get(parent) ?? []), p]);
    }
    const rows: TreeRow[] = [];
    const seen = new Set<number>();
    const visit = (p: Process, depth: number): void => {
        if (!seen.has(p.id)) {
            seen.add(p.id);
            rows.push({ process: p, depth });
            children.get(p.id)?.forEach((child) => visit(child, depth + 1));
        }
    };
    children.get(null)?.forEach((p) => visit(p, 0));
    processes.forEach((p) => visit(p, 0)); // parents in a ring, from a damaged file
    return rows;
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
