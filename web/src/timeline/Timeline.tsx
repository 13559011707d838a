// SPDX-License-Identifier: Apache-2.0
//
// The timeline: curves of the run, the interval chosen on it, marks, the peak. The interval is in
// the route; what is in view (zoom) and which curves are shown are its own. A view that is not the
// whole run is asked for in more detail, which is joined into the columns of the run.

import { signal } from '@preact/signals';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { api, isAbort } from '../api';
import { bytes, count } from '../format';
import { loadProcess } from '../live';
import type { Chart as ChartName } from '../route';
import { bounds, chooseInterval, columns, detail, go, peak, process, route } from '../state';
import { running, span, timelineError } from '../state';
import { clock, length } from '../times';
import { shortCount, tick } from './axes';
import { Chart } from './Chart';
import { columnsOf, join, peakIndex, rates } from './columns';
import type { Columns } from './columns';
import * as curves from './curves';
import type { Curve } from './curves';
import { listenGestures, pressKey } from './gestures';
import { preview, showAll, timelineHost as host, visible, zoom } from './host';
import { viewAround } from './interval';
import { IntervalBar } from './IntervalBar';
import { drawOverlay } from './overlay';
import type { OverlayState } from './overlay';

const HEIGHT = 210;
const SECOND_HEIGHT = 74;
const DETAIL_DELAY_MS = 120;
const DETAIL_POINTS = 1600;

const cursorTime = signal<number | null>(null);

/** More points of the view, once it stays for a moment. */
function useDetail(id: number | null): Columns | null {
    const [fine, setFine] = useState<Columns | null>(null);
    const view = zoom.value;
    useEffect(() => setFine(null), [id]);
    useEffect(() => {
        if (id === null || view === null) {
            setFine(null);
            return undefined;
        }
        const controller = new AbortController();
        const timer = setTimeout(() => {
            api.timeline(id, { ...view, points: DETAIL_POINTS }, controller.signal).then(
                (answer) => setFine(columnsOf(answer)),
                (error: unknown) => {
                    if (!isAbort(error)) {
                        setFine(null); // the coarse curve stays; the next zoom asks again
                    }
                },
            );
        }, DETAIL_DELAY_MS);
        return () => {
            clearTimeout(timer);
            controller.abort();
        };
    }, [id, view]);
    return fine;
}

/** While an interval follows the end, a zoomed view that touched the end goes along. */
function useFollowingView(): void {
    const end = bounds.value?.to ?? 0;
    const before = useRef(end);
    useEffect(() => {
        const view = zoom.peek();
        const moved = end - before.current;
        if (view && route.peek().last !== null && moved > 0 && view.to >= before.current - moved) {
            zoom.value = { from: view.from + moved, to: view.to + moved };
        }
        before.current = end;
    }, [end]);
}

function Readout({ data, start }: { data: Columns; start: number }) {
    const perSecond = useMemo(() => rates(data.time, data.total_count), [data]);
    const at = cursorTime.value;
    const found = at === null ? data.time.length - 1 : data.time.indexOf(at);
    const i = found < 0 ? data.time.length - 1 : found;
    const time = data.time[i] as number;
    const live = data.live_bytes[i] as number;
    const rss = data.rss_bytes[i] as number;
    const rate = perSecond[i];
    const threads = data.threads[i] as number;
    return (
        <dl class="readout" data-testid="timeline-readout" data-hover={at === null ? '0' : '1'}>
            <div class="when">
                <dt>{at !== null ? 'At' : running.value ? 'Now' : 'At the end'}</dt>
                <dd>
                    {tick((time - start) / 1e6, 0.01)} <small>{clock(time)}</small>
                </dd>
            </div>
            <div>
                <dt>Live</dt>
                <dd data-testid="readout-live">{bytes(live)}</dd>
            </div>
            <div>
                <dt>Usable</dt>
                <dd>{bytes(live + (data.overhead[i] as number))}</dd>
            </div>
            <div>
                <dt>RSS</dt>
                <dd>{rss > 0 ? bytes(rss) : 'not known'}</dd>
            </div>
            <div>
                <dt>Blocks</dt>
                <dd>{count(data.live_count[i] as number)}</dd>
            </div>
            <div>
                <dt>Allocations</dt>
                <dd>{typeof rate === 'number' ? `${shortCount(rate)}/s` : '–'}</dd>
            </div>
            {threads > 0 && (
                <div>
                    <dt>Threads</dt>
                    <dd>{count(threads)}</dd>
                </div>
            )}
        </dl>
    );
}

function CurveSwitches({
    hidden,
    onToggle,
}: {
    hidden: ReadonlySet<Curve>;
    onToggle(curve: Curve): void;
}) {
    return (
        <div class="switches" role="group" aria-label="Curves">
            {curves.CURVES.map((curve) => (
                <button
                    key={curve}
                    type="button"
                    class={`switch curve-${curve}`}
                    aria-pressed={!hidden.has(curve)}
                    title={curves.CURVE_HINT[curve]}
                    data-testid={`curve-${curve}`}
                    onClick={() => onToggle(curve)}
                >
                    <i aria-hidden="true" />
                    {curves.CURVE_NAME[curve]}
                </button>
            ))}
        </div>
    );
}

const CHART_WORDS: Record<ChartName, string> = {
    rate: 'Allocations per second',
    count: 'Live blocks',
    none: 'No second chart',
};

function SecondChoice() {
    return (
        <label class="field">
            <span>Below</span>
            <select
                value={route.value.chart}
                data-testid="timeline-second"
                onChange={(event) => go({ chart: event.currentTarget.value as ChartName }, 'replace')}
            >
                {(Object.keys(CHART_WORDS) as ChartName[]).map((name) => (
                    <option key={name} value={name}>
                        {CHART_WORDS[name]}
                    </option>
                ))}
            </select>
        </label>
    );
}

function toPeak(): void {
    const top = peak.peek();
    const run = bounds.peek();
    const now = span.peek();
    if (top && run && now) {
        const from = now.from < top.time ? now.from : run.from;
        chooseInterval(from <= run.from ? null : from, top.time);
    }
}

function toggleFollow(): void {
    const now = span.peek();
    const r = route.peek();
    if (!now) {
        return;
    }
    if (now.open) {
        chooseInterval(now.whole ? null : now.from, now.to);
    } else if (r.from === null) {
        showAll();
    } else {
        go({ from: null, to: null, last: now.to - now.from });
    }
}

function Buttons() {
    const s = span.value;
    const live = running.value;
    return (
        <div class="buttons" role="group" aria-label="Interval">
            <button
                type="button"
                data-testid="whole-run"
                aria-pressed={s?.whole ?? false}
                onClick={showAll}
            >
                Whole run
            </button>
            <button
                type="button"
                data-testid="follow"
                disabled={!live}
                aria-pressed={live && (s?.open ?? false)}
                title={live ? 'Keep the end of the interval at now' : 'The program has ended'}
                onClick={toggleFollow}
            >
                Follow
            </button>
            <button
                type="button"
                data-testid="to-peak"
                title="From the start of the interval (or of the run) to the peak"
                onClick={toPeak}
            >
                To peak
            </button>
            <button
                type="button"
                data-testid="zoom-interval"
                disabled={!s || (s.whole && zoom.value === null)}
                onClick={() => {
                    zoom.value = s && !s.whole && bounds.value ? viewAround(s, bounds.value) : null;
                }}
            >
                {s?.whole && zoom.value ? 'Zoom out' : 'Zoom to it'}
            </button>
        </div>
    );
}

function useOverlay(start: number, data: Columns): OverlayState {
    const s = span.value;
    const chosen = preview.value ?? (s && !s.whole ? s : null);
    const marks = detail.value?.marks;
    const r = route.value;
    const moment = r.show === 'moment' ? r.moment : null;
    const top = peak.value;
    return useMemo(() => {
        const i = chosen ? peakIndex(data, chosen.from, chosen.to) : -1;
        const chosenPeak =
            i < 0
                ? null
                : { time: data.time[i] as number, live_bytes: data.live_bytes[i] as number };
        return { start, chosen, moment, marks: marks ?? [], peak: top, chosenPeak };
    }, [start, chosen?.from, chosen?.to, moment, marks, top, data]);
}

export function Timeline() {
    const base = columns.value;
    const id = process.value?.id ?? null;
    useEffect(() => {
        zoom.value = null;
    }, [id]);
    const fine = useDetail(id);
    useFollowingView();
    const start = process.value?.start;
    if (!base || !bounds.value || start === undefined) {
        return <TimelineEmpty />;
    }
    return <TimelineCharts key={id} base={base} fine={fine} start={start} />;
}

function firstSnapshot(): string {
    const ms = detail.value?.interval_ms;
    return ms ? length(ms * 1000) : 'the interval of the profile';
}

function TimelineEmpty() {
    const error = timelineError.value;
    const none = process.value?.snapshots === 0;
    return (
        <section class="card timeline" data-testid="timeline" data-state="empty">
            {error ? (
                <div class="problem" role="alert" data-testid="timeline-error">
                    {error.message}
                    <button type="button" onClick={loadProcess}>
                        Try again
                    </button>
                </div>
            ) : (
                <div class="placeholder tall" aria-busy={!none} data-testid="timeline-waiting">
                    {none
                        ? `No snapshot yet: the first one comes within ${firstSnapshot()}.`
                        : 'Loading the timeline …'}
                </div>
            )}
        </section>
    );
}

interface ChartsProps {
    base: Columns;
    fine: Columns | null;
    start: number;
}

function TimelineCharts({ base, fine, start }: ChartsProps) {
    const data = useMemo(() => (fine ? join(base, fine) : base), [base, fine]);
    const [choice, setChoice] = useState<ReadonlySet<Curve> | null>(null);
    const atFirst = useMemo(() => curves.hiddenAtFirst(base), [base]);
    const hidden = choice ?? new Set(atFirst);
    const overlay = useOverlay(start, data);
    const newest = useRef({ overlay, data });
    newest.current = { overlay, data };
    const what = route.value.chart;
    const main = useMemo(() => curves.bytesData(data, start), [data, start]);
    const second = useMemo(() => curves.secondData(data, start, what), [data, start, what]);
    const view = visible();
    const min = (view.from - start) / 1e6;
    const max = Math.max((view.to - start) / 1e6, min + 1e-5);

    const hooks = (large: boolean): curves.CurveHooks => ({
        draw: (u) => drawOverlay(u, newest.current.overlay, large),
        cursor: (index) => {
            cursorTime.value = index === null ? null : (newest.current.data.time[index] ?? null);
        },
    });
    const listen = (u: uPlot): void => listenGestures(u, host);
    const toggle = (curve: Curve): void => {
        const next = new Set(hidden);
        if (!next.delete(curve)) {
            next.add(curve);
        }
        setChoice(next);
    };

    return (
        <section class="card timeline" data-testid="timeline" aria-label="Timeline">
            <div class="card-head">
                <h2>Timeline</h2>
                <CurveSwitches hidden={hidden} onToggle={toggle} />
                <SecondChoice />
                <Buttons />
            </div>
            <Readout data={data} start={start} />
            <div
                class="charts"
                tabIndex={0}
                role="group"
                data-testid="timeline-charts"
                aria-label="Timeline: arrow keys move the interval, with shift they size it, plus and
                    minus zoom, Escape shows the whole run"
                onKeyDown={(event) => {
                    if (pressKey(event, host)) {
                        event.preventDefault();
                    }
                }}
            >
                <Chart
                    shape={`bytes ${[...hidden].join()}`}
                    height={HEIGHT}
                    options={(w, h) => curves.bytesChart(w, h, hidden, hooks(true))}
                    data={main}
                    min={min}
                    max={max}
                    overlay={overlay}
                    onChart={listen}
                    testId="timeline-chart"
                    label="Live bytes, usable size and RSS over time"
                />
                {what !== 'none' && (
                    <>
                        <p class="chart-title">{CHART_WORDS[what]}</p>
                        <Chart
                            shape={what}
                            height={SECOND_HEIGHT}
                            options={(w, h) => curves.secondChart(w, h, hooks(false))}
                            data={second}
                            min={min}
                            max={max}
                            overlay={overlay}
                            onChart={listen}
                            testId="timeline-second-chart"
                            label={`${CHART_WORDS[what]} over time`}
                        />
                    </>
                )}
            </div>
            <IntervalBar start={start} />
        </section>
    );
}
