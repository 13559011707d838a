// SPDX-License-Identifier: Apache-2.0
import { defineConfig } from 'vitest/config';

// The server embeds the four files by name and sends a CSP without inline script or style:
// fixed names, one chunk, nothing inlined.
export default defineConfig({
    base: './',
    esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
    build: {
        target: 'es2022',
        assetsInlineLimit: 0,
        cssCodeSplit: false,
        modulePreload: false,
        reportCompressedSize: false,
        rollupOptions: {
            output: {
                inlineDynamicImports: true,
                entryFileNames: 'app.js',
                assetFileNames: (asset) =>
                    asset.names.some((name) => name.endsWith('.css'))
                        ? 'app.css'
                        : '[name][extname]',
            },
        },
    },
    test: { include: ['src/**/*.test.ts', 'src/**/*.test.tsx'] },
});
