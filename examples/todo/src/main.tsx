// Starts the application.
import { render } from 'preact';
import { App } from './views/app.tsx';
import './style.css';

const place = document.getElementById('app');
if (place === null) throw new Error('The page has no place for the application.');
render(<App />, place);

// While the application is developed, Vite serves its files.
if (import.meta.env.PROD) await navigator.serviceWorker.register('/service-worker.js');
