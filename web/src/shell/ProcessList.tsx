// SPDX-License-Identifier: Apache-2.0
//
// The processes of the server with their sparklines, children below their parents: a tree with one
// Tab stop, the arrow keys move in it. Beside the panels on a wide page, a drawer on a narrow one,
// absent when there is nothing to choose.

import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { bytes } from '../format';
import type { Process } from '../api';
import { connection, go, processId, processList } from '../state';
import { badgeOf } from './facts';
import { ancestorsOf, sparkPoints, treeKey, treeOf, typedRow, unfolded } from './tree';
import type { TreeRow } from './tree';

const WIDTH = 64;
const HEIGHT = 22;
const TYPING_PAUSE_MS = 700;

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

function warningOf(p: Process): string {
    return p.damaged ? 'Damaged file' : p.file_deleted ? 'File deleted' : 'Losses';
}

interface RowProps {
    row: TreeRow;
    /** Some row of the tree has children. */
    branches: boolean;
    folded: boolean;
    /** It is chosen, or the chosen one is folded away in it. */
    holds: boolean;
    /** It is the Tab stop. */
    stop: boolean;
    onFocus(): void;
    onChoose(): void;
    onFold(): void;
}

function Row({ row, branches, folded, holds, stop, onFocus, onChoose, onFold }: RowProps) {
    const { process: p, depth } = row;
    const badge = badgeOf(p, connection.value !== 'gone');
    const chosen = p.id === processId.value;
    return (
        <li
            class={`process-row${holds && !chosen ? ' holds' : ''}`}
            role="treeitem"
            aria-current={chosen ? 'true' : undefined}
            aria-level={depth + 1}
            aria-posinset={row.place}
            aria-setsize={row.of}
            aria-expanded={row.children > 0 ? !folded : undefined}
            tabIndex={stop ? 0 : -1}
            data-testid="process-row"
            data-process={p.id}
            data-depth={depth}
            style={{ paddingInlineStart: `${(branches ? 4 : 10) + Math.min(depth, 6) * 12}px` }}
            title={p.path}
            onFocus={onFocus}
            onClick={onChoose}
        >
            {branches && (
                <span
                    class="branch"
                    aria-hidden="true"
                    title={row.children > 0 ? `${row.children} below it` : ''}
                    onClick={(event) => {
                        if (row.children > 0) {
                            event.stopPropagation();
                            onFold();
                        }
                    }}
                >
                    {row.children > 0 ? (folded ? '▸' : '▾') : depth > 0 ? '└' : ''}
                </span>
            )}
            <span class="who">
                <b>{p.name}</b>
                <small>
                    <i class={`dot ${badge.tone}`} aria-hidden="true" /> {p.pid} · {badge.text}
                    {(p.damaged || p.lossy || p.file_deleted) && (
                        <span class="flag" title={warningOf(p)}>
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
        </li>
    );
}

/** What is folded; the chosen row comes to light when it is chosen. */
function useFolded(rows: readonly TreeRow[], chosen: number | null) {
    const [folded, setFolded] = useState<ReadonlySet<number>>(new Set());
    useLayoutEffect(() => {
        const above = chosen === null ? [] : ancestorsOf(rows, chosen);
        if (above.some((id) => folded.has(id))) {
            setFolded(new Set([...folded].filter((id) => !above.includes(id))));
        }
    }, [chosen]);
    const fold = (id: number, whether: boolean): void => {
        const next = new Set(folded);
        if (whether) {
            next.add(id);
        } else {
            next.delete(id);
        }
        setFolded(next);
    };
    return { folded, fold };
}

/** Letters that follow each other quickly are one text; another key ends it. */
function useTyping(): (key: string) => string {
    const last = useRef({ text: '', at: 0 });
    return (key) => {
        const letter = /^[^\s/]$/u.test(key);
        const now = performance.now();
        const text = now - last.current.at < TYPING_PAUSE_MS ? last.current.text : '';
        last.current = { text: letter ? text + key : '', at: now };
        return last.current.text;
    };
}

function Tree({ processes, onChosen }: { processes: readonly Process[]; onChosen(): void }) {
    const chosen = processId.value;
    const box = useRef<HTMLUListElement>(null);
    const all = useMemo(() => treeOf(processes), [processes]);
    const { folded, fold } = useFolded(all, chosen);
    const rows = unfolded(all, folded);
    const seen = (id: number | null): boolean => rows.some((row) => row.process.id === id);
    // The row that has the focus; without it, the chosen one or what that is folded away in.
    const [active, setActive] = useState<number | null>(null);
    const above = chosen === null ? [] : [chosen, ...ancestorsOf(all, chosen)];
    const home = above.find(seen) ?? rows[0]?.process.id ?? null;
    const stop = seen(active) ? active : home;
    const typing = useTyping();

    const focus = (id: number): void => {
        box.current?.querySelector<HTMLElement>(`[data-process="${id}"]`)?.focus();
    };
    const choose = (id: number): void => {
        go({ process: id });
        onChosen();
    };
    const press = (event: KeyboardEvent): void => {
        if (stop === null || event.ctrlKey || event.metaKey || event.altKey) {
            return;
        }
        const { key } = event;
        const typed = typing(key);
        const step = treeKey(rows, folded, stop, key);
        if (step && 'focus' in step) {
            focus(step.focus);
        } else if (step) {
            fold(stop, 'fold' in step);
        } else if (key === 'Enter' || key === ' ') {
            choose(stop);
        } else if (typed !== '') {
            const found = typedRow(rows, stop, typed);
            if (found !== null) {
                focus(found);
            }
        } else if (!['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown'].includes(key)) {
            return;
        }
        event.preventDefault();
    };
    const branches = rows.some((row) => row.children > 0);
    return (
        <ul
            ref={box}
            role="tree"
            aria-label="Processes"
            onKeyDown={press}
            onFocusOut={(event) => {
                if (!box.current?.contains(event.relatedTarget as Node | null)) {
                    setActive(null);
                }
            }}
        >
            {rows.map((row) => {
                const { id } = row.process;
                return (
                    <Row
                        key={id}
                        row={row}
                        branches={branches}
                        folded={folded.has(id)}
                        holds={id === home}
                        stop={id === stop}
                        onFocus={() => setActive(id)}
                        onChoose={() => choose(id)}
                        onFold={() => {
                            focus(id); // or it would be lost with the row that had it
                            fold(id, !folded.has(id));
                        }}
                    />
                );
            })}
        </ul>
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
    const drawer = useRef<HTMLButtonElement>(null);
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
    // A drawer that closes would take the focus with it.
    const close = (): void => {
        if (open) {
            drawer.current?.focus();
            setOpen(false);
        }
    };
    const current = list.processes.find((p) => p.id === processId.value);
    return (
        <nav
            ref={nav}
            class={`processes card${open ? ' open' : ''}`}
            aria-label="Processes"
            onKeyDown={(event) => {
                if (event.key === 'Escape' && open) {
                    close();
                }
            }}
        >
            <button
                ref={drawer}
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
                <Tree processes={list.processes} onChosen={close} />
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
