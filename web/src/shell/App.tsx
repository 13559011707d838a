// SPDX-License-Identifier: Apache-2.0
//
// The page: top line, processes, and for the chosen one its head, timeline and tabs.

import { useEffect } from 'preact/hooks';
import { ComparePanel } from '../compare/ComparePanel';
import { FlamePanel } from '../flame/FlamePanel';
import { FunctionsPanel } from '../functions/FunctionsPanel';
import { ProcessPanel } from '../process/ProcessPanel';
import { compareView, flameView, fromCompareView } from '../route';
import type { View } from '../route';
import { go, interval, process, processList, revision, route } from '../state';
import { Timeline } from '../timeline/Timeline';
import { WindowsPanel } from '../windows/WindowsPanel';
import { Empty } from './Empty';
import { Header } from './Header';
import { Notices } from './Notices';
import { hasChoice, ProcessList } from './ProcessList';
import { goFlame } from './flame-route';
import { Tabs } from './Tabs';
import { TopBar } from './TopBar';

function Panel({ view }: { view: View }) {
    const p = process.value;
    const r = route.value;
    if (!p) {
        return null;
    }
    switch (view) {
        case 'functions':
            return <FunctionsPanel />;
        case 'process':
            return <ProcessPanel />;
        case 'compare':
            return (
                <ComparePanel
                    process={p}
                    processes={processList.value?.processes ?? []}
                    interval={interval.value}
                    revision={revision.value}
                    view={compareView(r)}
                    onView={(change) => go(fromCompareView(change))}
                />
            );
        case 'windows':
            return (
                <WindowsPanel
                    process={p}
                    revision={revision.value}
                    window={r.window}
                    onWindow={(window) => go({ window })}
                    view={flameView(r)}
                    onView={goFlame}
                />
            );
        default:
            return (
                <FlamePanel
                    process={p}
                    interval={interval.value}
                    moment={r.moment}
                    revision={revision.value}
                    view={flameView(r)}
                    onView={goFlame}
                />
            );
    }
}

function Panels() {
    if (process.value?.snapshots === 0) {
        return null; // there is nothing to ask for; the timeline says so
    }
    const view = route.value.view;
    return (
        <section class="card panel">
            <Tabs />
            <div
                role="tabpanel"
                id={`panel-${view}`}
                aria-labelledby={`tab-${view}`}
                data-testid="panel"
            >
                <Panel view={view} key={process.value?.id} />
            </div>
        </section>
    );
}

/** What the browser's tab says. */
function useTitle(): void {
    const p = process.value;
    useEffect(() => {
        document.title = p ? `${p.name} (${p.pid}) – MemHawk` : 'MemHawk';
    }, [p?.name, p?.pid]);
}

export function App() {
    useTitle();
    const chosen = process.value !== null;
    return (
        <div class="app">
            <TopBar />
            <Notices />
            <div class={`body${chosen && hasChoice() ? ' with-list' : ''}`}>
                {chosen && <ProcessList />}
                <main>
                    {chosen ? (
                        <>
                            <Header />
                            <Timeline />
                            <Panels />
                        </>
                    ) : (
                        <Empty />
                    )}
                </main>
            </div>
        </div>
    );
}
