// How the application is built, and served on this machine: the API is below the same origin.
import process from 'node:process';
import { defineConfig, type Plugin } from 'vite';

/** Writes the names of all built files into the service worker, which keeps them for use without a network. */
const listFilesInServiceWorker: Plugin = {
  name: 'list-files-in-service-worker',
  generateBundle(_options, bundle) {
    const worker = bundle['service-worker.js'];
    const place = /([`'"])__FILES__\1/;
    if (worker?.type !== 'chunk' || !place.test(worker.code))
      throw new Error('The service worker has no list of files.');
    const built = Object.keys(bundle).filter((name) => name !== 'service-worker.js');
    // The page and public files may not be part of the bundle yet.
    const files = new Set(['index.html', 'icon.svg', ...built]);
    worker.code = worker.code.replace(place, JSON.stringify([...files]));
  },
};

export default defineConfig({
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // The package for persistence depends on an older version of TanStack DB. Two copies would not know each other.
  resolve: { dedupe: ['@tanstack/db'] },
  plugins: [listFilesInServiceWorker],
  build: {
    target: 'es2022',
    rolldownOptions: {
      input: ['index.html', 'src/service-worker.ts'],
      output: {
        entryFileNames: ({ name }) => (name === 'service-worker' ? '[name].js' : 'assets/[name]-[hash].js'),
      },
    },
  },
  // While the application is developed: `npx vite`, next to a service.
  server: { proxy: { '/v1': { target: process.env['COFFER'] ?? 'http://127.0.0.1:8888' } } },
});
