// SPDX-License-Identifier: Apache-2.0
//
// The figures under the pointer, or the newest ones.

import { signal } from '@preact/signals';
import { useMemo } from 'preact/hooks';
import { bytes, count } from '../format';
import { running } from '../state';
import { clock, shortSeconds } from '../times';
import { shortCount } from './axes';
import { rates } from './columns';
import type { Columns } from './columns';

/** Time of the column under the pointer; null: the pointer is elsewhere. */
export const cursorTime = signal<number | null>(null);

export function Readout({ data, start }: { data: Columns; start: number }) {
    const perSecond = useMemo(() => rates(data.time, data.total_count), [data]);
    const at = cursorTime.value;
    const found = at === null ? data.time.length - 1 : data.time.indexOf(at);
    const i = found < 0 ? data.time.length - 1 : found;
    const time = data.time[i] as number;
    const live = data.live_bytes[i] as number;
    const rss = data.rss_bytes[i] as number;
    const rate = perSecond[i];
    const threads = data.threads[i] as number;
    const run = (data.time[data.time.length - 1] as number) - start;
    return (
        <dl class="readout" data-testid="timeline-readout" data-hover={at === null ? '0' : '1'}>
            <div class="when">
                <dt>{at !== null ? 'At' : running.value ? 'Now' : 'At the end'}</dt>
                <dd>
                    {shortSeconds(time, start, run)} <small>{clock(time)}</small>
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
