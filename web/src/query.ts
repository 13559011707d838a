// SPDX-License-Identifier: Apache-2.0
//
// A request as a hook. `key` says what is asked: when it changes, a request under way is given up
// and the new one starts at once; the old data stay until the new ones are there, so that a graph
// is dimmed, not blank. `revision` says that the data behind the same question moved on (a new
// snapshot, names that came): then a request under way is left to finish and one more follows, so
// that a fast profile cannot starve the page.

import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from './api';

export interface Query<T> {
    /** The last good answer; with another key than the present one while `loading`. */
    data: T | null;
    error: ApiError | null;
    /** A question is open whose answer will replace `data` (a mere refresh does not count). */
    loading: boolean;
    retry(): void;
}

type Load<T> = (signal: AbortSignal) => Promise<T>;

interface Flight {
    key: string;
    controller: AbortController;
    /** Asked again while this one was under way: one more follows. */
    again: boolean;
}

function asApiError(error: unknown): ApiError {
    const message = error instanceof Error ? error.message : String(error);
    return error instanceof ApiError ? error : new ApiError(0, 'internal', message);
}

/** One request at a time; what is no longer wanted is given up and never settles. */
export class Asker<T> {
    private flight: Flight | null = null;

    constructor(
        private readonly settle: (key: string, data: T | null, error: ApiError | null) => void,
    ) {}

    /** The same key again lets the request under way finish; another key, or null, ends it. */
    ask(key: string | null, load: Load<T>): void {
        if (key !== null && this.flight?.key === key) {
            this.flight.again = true;
            return;
        }
        this.stop();
        if (key !== null) {
            this.start(key, load);
        }
    }

    stop(): void {
        this.flight?.controller.abort();
        this.flight = null;
    }

    private start(key: string, load: Load<T>): void {
        const own: Flight = { key, controller: new AbortController(), again: false };
        this.flight = own;
        const done = (data: T | null, error: ApiError | null): void => {
            if (this.flight !== own) {
                return;
            }
            this.flight = null;
            this.settle(key, data, error);
            if (own.again && this.flight === null) {
                this.start(key, load);
            }
        };
        load(own.controller.signal).then(
            (data) => done(data, null),
            (error: unknown) => done(null, asApiError(error)),
        );
    }
}

interface Settled<T> {
    key: string | null;
    data: T | null;
    error: ApiError | null;
}

/** `key` null: ask nothing. `load` is called with the newest closure. */
export function useQuery<T>(key: string | null, revision: number, load: Load<T>): Query<T> {
    const [state, setState] = useState<Settled<T>>({ key: null, data: null, error: null });
    const [attempt, setAttempt] = useState(0);
    const asker = useRef<Asker<T> | null>(null);
    const newest = useRef(load);
    newest.current = load;
    asker.current ??= new Asker<T>((what, data, error) =>
        // An error keeps the last good answer.
        setState((old) => ({ key: what, data: error ? old.data : data, error })));

    useEffect(
        () => asker.current!.ask(key, (signal) => newest.current(signal)),
        [key, revision, attempt],
    );
    useEffect(() => () => asker.current!.stop(), []);

    return {
        data: state.data,
        error: state.key === key ? state.error : null,
        loading: key !== null && state.key !== key,
        retry: () => setAttempt((old) => old + 1),
    };
}
