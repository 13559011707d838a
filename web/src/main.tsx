// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './theme.css';
import './shell/shell.css';
import './timeline/timeline.css';
import './functions/functions.css';
import './process/process.css';
import { startLive } from './live';
import { App } from './shell/App';
import { watchLocation } from './state';
import { startTheme } from './theme';

watchLocation();
startTheme();
startLive();
const root = document.getElementById('app');
if (root) {
    render(<App />, root);
}
