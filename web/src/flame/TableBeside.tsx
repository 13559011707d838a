// SPDX-License-Identifier: Apache-2.0
//
// The table of functions beside the graphs; on a narrow page folded away until it is wanted.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { FlameAnswer, FunctionsAnswer } from '../api';
import type { Query } from '../query';
import '../table/table.css';
import { TopTable } from '../table/TopTable';
import { sidesOf } from './request';
import type { Asked } from './Stacks';
import { Failed, Loading } from './States';

export function TableBeside({ functions, flame, failed, chosen, onChoose, onFocus }: {
    functions: Query<Asked<FunctionsAnswer>>;
    flame: FlameAnswer | undefined;
    /** The graph could not be had, and says why: once is enough. */
    failed: boolean;
    chosen: number | null;
    onChoose(label: number | null): void;
    onFocus(label: number): void;
}): JSX.Element | null {
    const [open, setOpen] = useState(() => matchMedia('(min-width: 900px)').matches);
    if (failed) {
        return null;
    }
    return (
        <aside class={`stacks-table${open ? ' is-open' : ''}`} aria-label="Functions">
            <button
                type="button"
                class="stacks-table-switch"
                aria-expanded={open}
                onClick={() => setOpen(!open)}
            >
                {open ? 'Hide the table of functions' : 'Show the table of functions'}
            </button>
            <div class="stacks-table-body">
                {functions.error ? (
                    <Failed error={functions.error} retry={functions.retry} />
                ) : functions.data && flame ? (
                    <TopTable
                        answer={functions.data.answer}
                        unit={flame.unit}
                        whole={flame.totals[flame.metric][0] ?? 0}
                        one={sidesOf(flame).length === 1}
                        withLines={functions.data.lines}
                        dim={functions.loading}
                        chosen={chosen}
                        onChoose={onChoose}
                        onFocus={onFocus}
                    />
                ) : (
                    <Loading what="the table of functions" />
                )}
            </div>
        </aside>
    );
}
