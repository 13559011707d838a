// SPDX-License-Identifier: Apache-2.0
//
// What stands where an answer will be: waiting, nothing, or an error with a way out.

import type { ComponentChildren, JSX } from 'preact';
import type { ApiError } from '../api';

export function Loading({ what }: { what: string }): JSX.Element {
    return (
        <div class="panel-state panel-loading" role="status">
            <span class="offscreen">{`Loading ${what}`}</span>
            <div class="skeleton" aria-hidden="true">
                <span />
                <span />
                <span />
                <span />
                <span />
            </div>
        </div>
    );
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
    return <div class="panel-state panel-empty">{children}</div>;
}

const TITLE: Record<string, string> = {
    'no-snapshot': 'No snapshot there',
    'bad-request': 'The server does not accept this',
    'not-found': 'It is not there',
    overloaded: 'The server is busy',
    unreachable: 'No answer',
};

export function Failed({ error, retry }: { error: ApiError; retry(): void }): JSX.Element {
    // Between two snapshots nothing went wrong: there is nothing.
    const nothing = error.code === 'no-snapshot';
    return (
        <div
            class={`panel-state ${nothing ? 'panel-empty' : 'panel-error'}`}
            role={nothing ? 'status' : 'alert'}
        >
            <strong>{TITLE[error.code] ?? 'Something went wrong'}</strong>
            <p>{error.message}</p>
            {!nothing && (
                <button type="button" onClick={retry}>
                    Try again
                </button>
            )}
        </div>
    );
}
