// SPDX-License-Identifier: Apache-2.0
//
// The timeline: curves of the run, the interval chosen on it, marks, the peak. The interval is in
// the route; what is in view (zoom) and which curves are shown are its own. A view that is not the
// whole run is asked for in more detail, which is joined into the columns of the run.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { api, isAbort } from '../api';
import { loadProcess } from '../live';
import { bounds, columns, detail, peak, process, route, span, timelineError } from '../state';
import { length } from '../times';
import { marked } from '../windows/marked';
import { Chart } from './Chart';
import { columnsOf, join, peakIndex } from './columns';
import type { Columns } from './columns';
import { Buttons, CHART_WORDS, CurveSwitches, SecondChoice } from './Controls';
import * as curves from './curves';
import type { Curve } from './curves';
import { listenGestures, pressKey } from './gestures';
import { preview, timelineHost, visible, zoom } from './host';
import { IntervalBar } from './IntervalBar';
import { drawOverlay } from './overlay';
import type { OverlayState } from './overlay';
import { cursorTime, Readout } from './Readout';

const KEYS =
    'Timeline: arrow keys move the interval, with shift they size it, plus and minus zoom, ' +
    'Escape shows the whole run';
const HEIGHT = 210;
const SECOND_HEIGHT = 74;
const DETAIL_DELAY_MS = 120;
const DETAIL_POINTS = 1600;

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

function useOverlay(start: number, data: Columns): OverlayState {
    const s = span.value;
    const chosen = preview.value ?? (s && !s.whole ? s : null);
    const marks = detail.value?.marks;
    const windows = marked.value;
    const r = route.value;
    const moment = r.show === 'moment' ? r.moment : null;
    const top = peak.value;
    return useMemo(() => {
        const i = chosen ? peakIndex(data, chosen.from, chosen.to) : -1;
        const chosenPeak =
            i < 0
                ? null
                : { time: data.time[i] as number, live_bytes: data.live_bytes[i] as number };
        return { start, chosen, moment, marks: marks ?? [], windows, peak: top, chosenPeak };
    }, [start, chosen?.from, chosen?.to, moment, marks, windows, top, data]);
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
    const listen = (u: uPlot): void => listenGestures(u, timelineHost);
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
                aria-label={KEYS}
                onKeyDown={(event) => {
                    if (pressKey(event, timelineHost)) {
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
