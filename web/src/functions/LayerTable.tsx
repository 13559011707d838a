// SPDX-License-Identifier: Apache-2.0
//
// The functions of the chart with their values at the pointer, or at the end. A click pins one.

import type { Labels, Metric, SeriesAnswer } from '../api';
import { amount, exact, METRIC_NAME, METRIC_UNIT, share } from '../format';
import { process, route, togglePin } from '../state';
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
    rate: boolean;
}

function Row({ layer, index, labels, color, value, total, rate }: RowProps) {
    const unit = METRIC_UNIT[route.value.metric];
    const name = layer.label === null ? 'Other functions' : labels.function[layer.label];
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
                <i class="swatch" aria-hidden="true" style={{ background: layerColor(color) }} />
                {id === null || layer.label === null ? (
                    <span class="fn">{name}</span>
                ) : (
                    <button
                        type="button"
                        class="fn"
                        aria-pressed={layer.pinned}
                        title={`${name}\n${labels.module[layer.label]}`}
                        onClick={() => togglePin(id)}
                    >
                        <span>{name}</span>
                        <small>{place(labels, layer.label)}</small>
                    </button>
                )}
                {layer.pinned && (
                    <span class="pin" title="Pinned">
                        pinned
                    </span>
                )}
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
    const stackedAreas = answer.by === 'self';
    return (
        <div class="functions-table">
            <table data-testid="functions-table">
                <thead>
                    <tr>
                        <th scope="col">
                            {at === last ? 'At the end' : `At ${shortSeconds(when, start, 1e6)}`}
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
                            rate={rate}
                        />
                    ))}
                </tbody>
                <tfoot>
                    <tr>
                        <td>All{stackedAreas ? '' : ' (rows overlap)'}</td>
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
