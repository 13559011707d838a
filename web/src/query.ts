// SPDX-License-Identifier: Apache-2.0
//
// A request as a hook. `key` says what is asked: when it changes, a request under way is given up
// and the new one starts at once; the old data stay until the new ones are there, so that a graph
// is dimmed, not blank. `revision` says that the data behind the same question moved on (a new
// snapshot, names that came): then a request under way is left to finish and one more follows, so
// that a fast profile cannot starve the page.

import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isAbort } from './api';

export interface Query<T> {
    /** The last good answer; with another key than the present one while `loading`. */
    data: T | null;
    error: ApiError | null;
    /** A question is open whose answer will replace `data` (a mere refresh does not count). */
    loading: boolean;
    retry(): void;
}

interface Settled<T> {
    key: string | null;
    data: T | null;
    error: ApiError | null;
}

interface Flight {
    key: string;
    controller: AbortController;
    /** A newer revision came while this one was under way. */
    stale: boolean;
}

function asApiError(error: unknown): ApiError {
    const message = error instanceof Error ? error.message : String(error);
    return error instanceof ApiError ? error : new ApiError(0, 'internal', message);
}

/** `key` null: ask nothing. `load` is called with the newest closure. */
export function useQuery<T>(
    key: string | null,
    revision: number,
    load: (signal: AbortSignal) => Promise<T>,
): Query<T> {
    const [state, setState] = useState<Settled<T>>({ key: null, data: null, error: null });
    const [attempt, setAttempt] = useState(0);
    const flight = useRef<Flight | null>(null);
    const newest = useRef(load);
    newest.current = load;

    function start(what: string): void {
        const own: Flight = { key: what, controller: new AbortController(), stale: false };
        flight.current = own;
        const settle = (data: T | null, error: ApiError | null): void => {
            if (flight.current !== own) {
                return;
            }
            flight.current = null;
            setState((old) => ({ key: what, data: error ? old.data : data, error }));
            if (own.stale) {
                start(what);
            }
        };
        newest.current(own.controller.signal).then(
            (data) => settle(data, null),
            (error: unknown) => {
                if (!isAbort(error)) {
                    settle(null, asApiError(error));
                }
            },
        );
    }

    useEffect(() => {
        const underWay = flight.current;
        if (underWay && underWay.key === key) {
            underWay.stale = true;
            return;
        }
        underWay?.controller.abort();
        flight.current = null;
        if (key !== null) {
            start(key);
        }
    }, [key, revision, attempt]);

    useEffect(
        () => () => {
            flight.current?.controller.abort();
            flight.current = null;
        },
        [],
    );

    return {
        data: state.data,
        error: state.key === key ? state.error : null,
        loading: key !== null && state.key !== key,
        retry: () => setAttempt((old) => old + 1),
    };
}
