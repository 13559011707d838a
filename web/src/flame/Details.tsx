// SPDX-License-Identifier: Apache-2.0
//
// Above the graph the path of what is zoomed, below it what is selected.

import type { JSX } from 'preact';
import { AllMetrics, MainValues, whereText } from './Facts';
import { moduleOf, nodeName, pathTo } from './model';
import type { Tree } from './model';
import type { MenuItem } from './Menu';

/** Steps of the path that are always written out, at its end. */
const LAST_STEPS = 3;

export function Crumbs({ tree, zoomed, onZoom }: {
    tree: Tree;
    zoomed: number;
    onZoom(node: number): void;
}): JSX.Element {
    const path = pathTo(tree, zoomed);
    const cut = path.length > LAST_STEPS + 2;
    const shown = cut ? [path[0]!, ...path.slice(-LAST_STEPS)] : path;
    return (
        <nav class="flame-crumbs" aria-label="Zoomed path">
            {shown.map((node, at) => (
                <span key={node}>
                    {at > 0 && <i>{cut && at === 1 ? '› … ›' : '›'}</i>}
                    <button
                        type="button"
                        class="flame-crumb"
                        title={nodeName(tree, node)}
                        aria-current={node === zoomed ? 'location' : undefined}
                        onClick={() => onZoom(node)}
                    >
                        {nodeName(tree, node)}
                    </button>
                </span>
            ))}
            <button type="button" class="flame-reset" onClick={() => onZoom(0)}>
                Reset zoom <kbd>Esc</kbd>
            </button>
        </nav>
    );
}

export function Details({ tree, node, actions, said }: {
    tree: Tree;
    node: number;
    actions: MenuItem[];
    /** Word on what was just done ("copied"). */
    said: string;
}): JSX.Element {
    const where = whereText(tree, node);
    return (
        <section class="flame-details" aria-label="Selected function">
            <div class="flame-details-head">
                <div class="facts-name">{nodeName(tree, node)}</div>
                {where !== '' && (
                    <div class="facts-where" title={moduleOf(tree, node)}>
                        {where}
                    </div>
                )}
                <div class="flame-actions">
                    {actions.map((action) => (
                        <button type="button" key={action.text} onClick={() => action.run()}>
                            {action.text}
                        </button>
                    ))}
                    <span class="soft" role="status">
                        {said}
                    </span>
                </div>
            </div>
            <div>
                <MainValues tree={tree} node={node} />
            </div>
            <div>
                <AllMetrics tree={tree} node={node} />
            </div>
        </section>
    );
}
