// SPDX-License-Identifier: Apache-2.0
//
// The measurement windows of the shown process, for those who only want to know that they are there
// (tabs) and when they were at work (timeline). Asked for with every tenth snapshot.

import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { api } from '../api';
import type { WindowRow } from '../api';
import { useQuery } from '../query';
import { namesVersion, process, snapshotVersion } from '../state';

const NONE: WindowRow[] = [];

export const marked = signal<WindowRow[]>(NONE);

/** Keeps `marked` up to date; for one component that is always there. */
export function useMarkedWindows(): WindowRow[] {
    const id = process.value?.id ?? null;
    const asked = namesVersion.value + Math.floor(snapshotVersion.value / 10);
    const query = useQuery(id === null ? null : `${id}`, asked, (signal) =>
        api.windows(id as number, signal),
    );
    const rows = query.data && !query.loading ? query.data.windows : NONE;
    useEffect(() => {
        marked.value = rows;
    }, [rows]);
    return rows;
}
