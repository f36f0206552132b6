// The start of the console.
import { render } from 'preact';
import { App } from './app/app.tsx';

const outlet = document.getElementById('app');
if (outlet !== null) render(<App />, outlet);
