// SPDX-License-Identifier: Apache-2.0
import { render } from 'preact';
import './theme.css';

const root = document.getElementById('app');
if (root) {
    render(<p>MemHawk</p>, root);
}
