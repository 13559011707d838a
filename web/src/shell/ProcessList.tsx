// SPDX-License-Identifier: Apache-2.0
//
// The processes of the server with their sparklines, children below their parents. Beside the
// panels on a wide page, a drawer on a narrow one, absent when there is nothing to choose.

import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { bytes } from '../format';
import type { Process } from '../api';
import { connection, go, processId, processList } from '../state';
import { badgeOf } from './facts';
import { sparkPoints, treeOf } from './tree';

const WIDTH = 64;
const HEIGHT = 22;

function Sparkline({ values }: { values: number[] }) {
    const points = sparkPoints(values, WIDTH, HEIGHT);
    return (
        <svg class="spark" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
            {points !== '' && (
                <>
                    <polygon points={`0,${HEIGHT} ${points} ${WIDTH},${HEIGHT}`} />
                    <polyline points={points} />
                </>
            )}
        </svg>
    );
}

function Row({
    process: p,
    depth,
    onChosen,
}: {
    process: Process;
    depth: number;
    onChosen(): void;
}) {
    const badge = badgeOf(p, connection.value !== 'gone');
    const chosen = p.id === processId.value;
    return (
        <li>
            <button
                type="button"
                class="process-row"
                aria-current={chosen ? 'true' : undefined}
                data-testid="process-row"
                data-process={p.id}
                data-depth={depth}
                style={{ paddingInlineStart: `${10 + Math.min(depth, 6) * 14}px` }}
                title={p.path}
                onClick={() => {
                    go({ process: p.id });
                    onChosen();
                }}
            >
                {depth > 0 && (
                    <span class="branch" aria-hidden="true">
                        └
                    </span>
                )}
                <span class="who">
                    <b>{p.name}</b>
                    <small>
                        <i class={`dot ${badge.tone}`} aria-hidden="true" /> {p.pid} · {badge.text}
                        {(p.damaged || p.lossy) && (
                            <span class="flag" title={p.damaged ? 'Damaged file' : 'Losses'}>
                                {' '}
                                ⚠
                            </span>
                        )}
                    </small>
                </span>
                <span class="how-much">
                    <Sparkline values={p.sparkline} />
                    <small>{bytes(p.live_bytes)}</small>
                </span>
            </button>
        </li>
    );
}

export function hasChoice(): boolean {
    const list = processList.value;
    return (list?.processes.length ?? 0) > 1 || (list?.broken?.length ?? 0) > 0;
}

/** Scrolls BOX, and nothing around it, so that ROW can be seen in it. */
function showRow(box: Element, row: Element): void {
    const frame = box.getBoundingClientRect();
    const place = row.getBoundingClientRect();
    if (place.height > 0 && (place.top < frame.top || place.bottom > frame.bottom)) {
        box.scrollTop += (place.top + place.bottom - frame.top - frame.bottom) / 2;
    }
}

export function ProcessList() {
    const [open, setOpen] = useState(false);
    const nav = useRef<HTMLElement>(null);
    const list = processList.value;
    const chosen = processId.value;
    // The chosen one of a hundred, also when the page was opened with it: the card scrolls on a
    // wide page, the drawer's list on a narrow one.
    useLayoutEffect(() => {
        const row = nav.current?.querySelector('.process-row[aria-current]');
        if (nav.current && row) {
            showRow(row.closest('.process-list') ?? nav.current, row);
            showRow(nav.current, row);
        }
    }, [chosen, open]);
    if (!list || !hasChoice()) {
        return null;
    }
    const rows = treeOf(list.processes);
    const current = list.processes.find((p) => p.id === processId.value);
    return (
        <nav
            ref={nav}
            class={`processes card${open ? ' open' : ''}`}
            aria-label="Processes"
        >
            <button
                type="button"
                class="drawer-button"
                aria-expanded={open}
                data-testid="process-drawer"
                onClick={() => setOpen(!open)}
            >
                <span>
                    {current ? `${current.name} (${current.pid})` : 'Processes'}
                    <small> 1 of {list.processes.length}</small>
                </span>
                <span aria-hidden="true">{open ? '▴' : '▾'}</span>
            </button>
            <div class="process-list" data-testid="process-list">
                <h2>Processes</h2>
                <ul>
                    {rows.map((row) => (
                        <Row key={row.process.id} {...row} onChosen={() => setOpen(false)} />
                    ))}
                </ul>
                {(list.broken?.length ?? 0) > 0 && (
                    <>
                        <h2>Not readable</h2>
                        <ul class="broken" data-testid="broken-files">
                            {list.broken?.map((file) => (
                                <li key={file.path}>
                                    <span class="path">{file.path}</span>
                                    <small>{file.message}</small>
                                </li>
                            ))}
                        </ul>
                    </>
                )}
            </div>
        </nav>
    );
}
