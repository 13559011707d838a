// SPDX-License-Identifier: Apache-2.0
//
// A uPlot chart as a component. The chart is made once per `shape` (its series and axes) and then
// fed: new data, another view, theme and size changes never make it anew, so that a live tick
// costs one redraw.

import { useLayoutEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { palette } from '../theme';

export interface ChartProps {
    /** Another text: another chart. */
    shape: string;
    height: number;
    options(width: number, height: number): uPlot.Options;
    data: uPlot.AlignedData;
    /** What is in view, in seconds since the start of the run. */
    min: number;
    max: number;
    /** Anything that the chart's hooks draw; a new value redraws. */
    overlay?: unknown;
    onChart?(chart: uPlot): void;
    testId: string;
    label: string;
}

export function Chart(props: ChartProps) {
    const box = useRef<HTMLDivElement>(null);
    const chart = useRef<uPlot | null>(null);
    const { shape, height, data, min, max, overlay } = props;
    const colors = palette.value;

    useLayoutEffect(() => {
        const element = box.current as HTMLDivElement;
        const made = new uPlot(props.options(element.clientWidth, height), data, element);
        chart.current = made;
        made.setScale('x', { min, max });
        props.onChart?.(made);
        const observer = new ResizeObserver(() => {
            const width = Math.max(element.clientWidth, 50);
            if (width !== made.width) {
                made.setSize({ width, height });
            }
        });
        observer.observe(element);
        return () => {
            observer.disconnect();
            made.destroy();
            chart.current = null;
        };
    }, [shape, height]);

    useLayoutEffect(() => {
        const u = chart.current;
        u?.batch(() => {
            u.setData(data, false);
            u.setScale('x', { min, max }); // draws anew, also when the scale is the same
        });
    }, [data, min, max]);

    useLayoutEffect(() => {
        chart.current?.redraw(false, true);
    }, [overlay, colors]);

    return (
        <div
            class="chart"
            ref={box}
            role="img"
            aria-label={props.label}
            data-testid={props.testId}
        />
    );
}
