// SPDX-License-Identifier: Apache-2.0
//
// Which colour is which: the modules of the largest share (a click shows one module alone), or
// for a comparison the scale from gone to new.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { share } from '../format';
import { growthColour, moduleColour, neutral } from './colours';
import { baseName, moduleShares } from './model';
import type { ModuleShare, Tree } from './model';

const SHOWN = 8;

function Swatch({ colour }: { colour: string }): JSX.Element {
    return <i class="flame-swatch" style={{ backgroundColor: colour }} />;
}

export function ModuleLegend({ trees, inverted, dark, chosen, onChoose }: {
    trees: Tree[];
    inverted: boolean;
    dark: boolean;
    chosen: string | null;
    onChoose(module: string | null): void;
}): JSX.Element {
    const shares = useMemo(() => {
        const sums = new Map<string, ModuleShare>();
        for (const one of trees.flatMap((tree) => moduleShares(tree, inverted))) {
            const { self = 0, widest = 0 } = sums.get(one.module) ?? {};
            sums.set(one.module, {
                module: one.module,
                self: self + one.self,
                widest: Math.max(widest, one.widest),
            });
        }
        return [...sums.values()].sort((a, b) => b.self - a.self || b.widest - a.widest);
    }, [trees, inverted]);
    const whole = trees.reduce((sum, tree) => sum + (tree.weight[0] ?? 0), 0);
    const rest = shares.slice(SHOWN).reduce((sum, { self }) => sum + self, 0);
    const nameless = whole - shares.reduce((sum, { self }) => sum + self, 0);
    return (
        <div class="flame-legend" role="group" aria-label="Modules by their own share">
            {shares.slice(0, SHOWN).map(({ module, self }) => (
                <button
                    type="button"
                    key={module}
                    title={`${module || 'no module'}: what its own functions allocated`}
                    aria-pressed={chosen === module}
                    onClick={() => onChoose(chosen === module ? null : module)}
                >
                    <Swatch colour={moduleColour(module, dark)} />
                    {baseName(module) || 'no module'}
                    {self > 0 && <span class="soft">{share(self, whole)}</span>}
                </button>
            ))}
            {shares.length > SHOWN && (
                <span class="soft">
                    {`${shares.length - SHOWN} more modules ${share(rest, whole)}`}
                </span>
            )}
            {nameless > whole / 1000 && (
                <span class="soft" title="Nodes that stand for others, or stacks that were cut">
                    <Swatch colour={neutral(dark)} />
                    {`hidden or cut ${share(nameless, whole)}`}
                </span>
            )}
        </div>
    );
}

const SCALE: [growth: number, text: string][] = [
    [-1, 'gone'],
    [-0.4, 'shrunk'],
    [0, 'same'],
    [0.4, 'grown'],
    [1, 'new'],
];

export function GrowthLegend({ dark }: { dark: boolean }): JSX.Element {
    return (
        <div class="flame-legend" role="group" aria-label="Colours of the comparison">
            {SCALE.map(([growth, text]) => (
                <span key={text}>
                    <Swatch colour={growthColour(growth, dark)} />
                    {text}
                </span>
            ))}
            <span class="soft">width: the larger of before and after</span>
        </div>
    );
}
