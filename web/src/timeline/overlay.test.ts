// SPDX-License-Identifier: Apache-2.0
import { describe, expect, it } from 'vitest';
import { laneWindows } from './overlay';

describe('lanes of windows', () => {
    it('come in order of their first span, those never at work have none', () => {
        const names = laneWindows([
            { title: 'late', spans: [[50, 60]] },
            { title: 'never', spans: [] },
            {
                title: 'early',
                spans: [
                    [1, 2],
                    [90, 99],
                ],
            },
        ]).map((window) => window.title);
        expect(names).toEqual(['early', 'late']);
    });

    it('are five at most, and leave the list of the API as it is', () => {
        const all = [7, 6, 5, 4, 3, 2, 1].map((n) => ({
            title: `${n}`,
            spans: [[n, n + 1]] as [number, number][],
        }));
        expect(laneWindows(all).map((window) => window.title)).toEqual(['1', '2', '3', '4', '5']);
        expect(all[0]?.title).toBe('7');
    });
});
