// SPDX-License-Identifier: Apache-2.0
//
// The functions of the chart with their values at the pointer, or at the end. A click pins one.

import type { Labels, Metric, SeriesAnswer, Unit } from '../api';
import { withoutArguments, withoutTemplates } from '../flame/names';
import { amount, exact, METRIC_NAME, METRIC_UNIT, share } from '../format';
import { process, route, running, span, togglePin } from '../state';
import { clock, shortSeconds } from '../times';
import { layerColor } from './chart';
import { focused } from './focus';
import type { Layer } from './stack';

function baseName(path: string | null | undefined): string {
    return (path ?? '').replace(/^.*\//, '');
}

function place(labels: Labels, i: number): string {
    const file = labels.file[i];
    const line = labels.line[i] as number;
    const source = file ? `${baseName(file)}${line > 0 ? `:${line}` : ''}` : '';
    return [source, baseName(labels.module[i])].filter((part) => part !== '').join(' · ');
}

interface RowProps {
    layer: Layer;
    index: number;
    labels: Labels;
    color: number | null;
    value: number;
    total: number;
    unit: Unit;
    rate: boolean;
}

function Row({ layer, index, labels, color, value, total, unit, rate }: RowProps) {
    const name = layer.label === null ? '' : (labels.function[layer.label] as string);
    const id = layer.id;
    return (
        <tr
            class={focused.value === index ? 'strong' : ''}
            data-testid="functions-row"
            data-label={id ?? 'other'}
            onPointerEnter={() => {
                focused.value = index;
            }}
            onPointerLeave={() => {
                focused.value = -1;
            }}
        >
            <td class="name">
                <div>
                    <i
                        class="swatch"
                        aria-hidden="true"
                        style={{ background: layerColor(color) }}
                    />
                    {id === null || layer.label === null ? (
                        <span class="fn soft">All other {route.value.granularity}s</span>
                    ) : (
                        <button
                            type="button"
                            class="fn"
                            aria-pressed={layer.pinned}
                            title={`${name}\n${labels.module[layer.label]}`}
                            onClick={() => togglePin(id)}
                        >
                            <span>{withoutArguments(withoutTemplates(name))}</span>
                            <small>{place(labels, layer.label)}</small>
                        </button>
                    )}
                    {layer.pinned && (
                        <span class="pin" title="Pinned">
                            pinned
                        </span>
                    )}
                </div>
            </td>
            <td class="number" title={exact(value, unit)} data-value={value}>
                {amount(value, unit)}
                {rate ? '/s' : ''}
            </td>
            <td class="number soft">{share(value, total)}</td>
        </tr>
    );
}

interface TableProps {
    answer: SeriesAnswer;
    layers: Layer[];
    /** Index of the colour of each layer; null: other. */
    colors: (number | null)[];
    /** Index of the column whose values are shown. */
    at: number;
    total: number;
    metric: Metric;
    /** Values are per second. */
    rate: boolean;
}

export function LayerTable({ answer, layers, colors, at, total: all, metric, rate }: TableProps) {
    const start = process.value?.start ?? 0;
    const last = answer.time.length - 1;
    const when = answer.time[at] ?? start;
    const unit = METRIC_UNIT[metric];
    const atEnd = running.value && span.value?.open ? 'Now' : 'At the end';
    const stackedAreas = answer.by === 'self';
    return (
        <div class="functions-table">
            <table data-testid="functions-table">
                <thead>
                    <tr>
                        <th scope="col">
                            {at === last ? atEnd : `At ${shortSeconds(when, start, when - start)}`}
                            <small> {clock(when)}</small>
                        </th>
                        <th scope="col" class="number">
                            {METRIC_NAME[metric]}
                        </th>
                        <th scope="col" class="number">
                            Share
                        </th>
                    </tr>
                </thead>
                <tbody>
                    {layers.map((layer, i) => (
                        <Row
                            key={layer.id ?? 'other'}
                            layer={layer}
                            index={i}
                            labels={answer.labels}
                            color={colors[i] ?? null}
                            value={layer.values[at] ?? 0}
                            total={all}
                            unit={unit}
                            rate={rate}
                        />
                    ))}
                </tbody>
                <tfoot>
                    <tr>
                        <td>All {stackedAreas ? '' : <small>rows overlap</small>}</td>
                        <td class="number" data-testid="functions-total" data-value={all}>
                            {amount(all, unit)}
                            {rate ? '/s' : ''}
                        </td>
                        <td />
                    </tr>
                </tfoot>
            </table>
            <p class="hint">Click a function to pin it; its callers appear below.</p>
        </div>
    );
}
