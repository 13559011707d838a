// SPDX-License-Identifier: Apache-2.0
//
// The chosen interval in words (start, end, length, clock times, change of live bytes), its ends
// as text fields in seconds since the start of the run: shown to the millisecond, or where that is
// no use to the microsecond, as they are read.

import { useRef, useState } from 'preact/hooks';
import { api, ApiError } from '../api';
import { signed } from '../format';
import { useQuery } from '../query';
import { bounds, chooseInterval, go, namesVersion, process, route, running, span } from '../state';
import { clock, clocks, length, parseTime, seconds } from '../times';

/** Shorter than this, milliseconds tell too little. */
const FINE_US = 20000;

interface TimeFieldProps {
    label: string;
    time: number;
    start: number;
    /** To the microsecond. */
    fine: boolean;
    end: 'start' | 'end';
    testId: string;
    onTime(time: number | null): void;
}

function TimeField({ label, time, start, fine, end, testId, onTime }: TimeFieldProps) {
    const [draft, setDraft] = useState<string | null>(null);
    const parsed = draft === null ? null : parseTime(draft, start, end);
    const wrong = parsed === undefined;
    const unit = fine ? 1 : 1000;
    const shown = seconds(start + Math.round((time - start) / unit) * unit, start);
    // A focused field stands still while the run goes on; only what was typed is taken.
    const given = useRef('');
    const commit = (): void => {
        if (draft !== null && draft !== given.current && parsed !== undefined) {
            onTime(parsed);
        }
        setDraft(null);
    };
    return (
        <label class="field">
            <span>{label}</span>
            <input
                class="time"
                type="text"
                inputMode="decimal"
                spellcheck={false}
                autocomplete="off"
                value={draft ?? shown}
                aria-invalid={wrong}
                title={`Seconds since the start of the run, or minutes:seconds, or "${end}"`}
                data-testid={testId}
                onInput={(event) => setDraft(event.currentTarget.value)}
                onFocus={() => {
                    given.current = shown;
                    setDraft(shown);
                }}
                onBlur={commit}
                onKeyDown={(event) => {
                    if (event.key === 'Enter') {
                        commit();
                        event.currentTarget.blur();
                    } else if (event.key === 'Escape') {
                        setDraft(null);
                        event.currentTarget.blur();
                    }
                }}
            />
            <span class="unit">s</span>
        </label>
    );
}

/** Live bytes as of a moment: columns are a choice of the snapshots, so the server is asked. */
async function liveAt(id: number, start: number, time: number, signal: AbortSignal) {
    try {
        const upTo = await api.timeline(id, { from: start, to: time, points: 2 }, signal);
        return upTo.live_bytes.at(-1) ?? 0;
    } catch (error) {
        if (error instanceof ApiError && error.code === 'no-snapshot') {
            return 0; // before the first one
        }
        throw error;
    }
}

/** How much live bytes changed over the interval. */
function Change({ from, to, open }: { from: number; to: number; open: boolean }) {
    const p = process.value;
    const id = p?.id ?? 0;
    const start = p?.start ?? 0;
    // The newest snapshot is known already: an open end costs no question.
    const query = useQuery(
        `${id} ${from} ${open ? '' : to}`,
        namesVersion.value,
        async (signal) => ({
            before: await liveAt(id, start, from, signal),
            after: open ? null : await liveAt(id, start, to, signal),
        }),
    );
    if (!query.data) {
        return null;
    }
    const change = (query.data.after ?? p?.live_bytes ?? 0) - query.data.before;
    const kind = change > 0 ? 'grew' : change < 0 ? 'shrank' : '';
    return (
        <span
            class={`change${query.loading ? ' stale' : ''}`}
            data-testid="interval-change"
            data-value={change}
        >
            live <b class={kind}>{signed(change, 'bytes')}</b>
        </span>
    );
}

function MomentChip({ start }: { start: number }) {
    const { moment, show } = route.value;
    if (moment === null || show !== 'moment') {
        return null;
    }
    return (
        <span class="chip" data-testid="moment">
            moment {seconds(moment, start)} s
            <button
                type="button"
                aria-label="Forget the moment"
                data-testid="moment-clear"
                onClick={() => go({ moment: null, show: 'peak' })}
            >
                ×
            </button>
        </span>
    );
}

export function IntervalBar({ start }: { start: number }) {
    const s = span.value;
    const run = bounds.value;
    if (!s || !run) {
        return null;
    }
    // One end is typed, the other stays; an end that was open stays open.
    const setFrom = (time: number | null): void => {
        const to = route.value.to;
        chooseInterval(time, to !== null && time !== null ? Math.max(to, time) : to);
    };
    const setTo = (time: number | null): void => {
        const from = s.from <= run.from ? null : s.from;
        chooseInterval(from !== null && time !== null ? Math.min(from, time) : from, time);
    };
    const fine = s.to - s.from < FINE_US;
    const what = s.whole ? 'Whole run' : route.value.last !== null ? 'Following' : 'Interval';
    return (
        <div class="interval" data-testid="interval" data-from={s.from} data-to={s.to}>
            <b class="what">{what}</b>
            <TimeField
                label="from"
                time={s.from}
                start={start}
                fine={fine}
                end="start"
                testId="interval-from"
                onTime={setFrom}
            />
            <TimeField
                label="to"
                time={s.to}
                start={start}
                fine={fine}
                end="end"
                testId="interval-to"
                onTime={setTo}
            />
            <span class="words" data-testid="interval-words">
                {length(s.to - s.from)} long,{' '}
                {s.open && running.value
                    ? `${clock(s.from, true)} – now`
                    : clocks(s.from, s.to)}
            </span>
            {!s.whole && <Change from={s.from} to={s.to} open={s.open} />}
            <MomentChip start={start} />
        </div>
    );
}
