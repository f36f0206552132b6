// A browser for benchmarks, with a server of its own for pages, which passes requests for the API on and counts bytes.
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import path from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { chromium } from 'playwright-core';
import { withTestModule } from '../../scripts/test-modules.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Starts the browser of this machine, as the tests find it. @returns {Promise<import('playwright-core').Browser>} */
export function openBrowser() {
  return withTestModule('/test/support/chromium.ts', async ({ findChromium }) => {
    const { path: executablePath, environment } = await findChromium();
    return chromium.launch({ executablePath, env: { ...process.env, ...environment } });
  });
}

/**
 * Bundles a program for browsers.
 *
 * @param {string} code
 * @returns {Promise<{ text: string, gzipBytes: number }>}
 */
export async function bundle(code) {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: root, loader: 'ts' },
    // The package for persistence depends on an older version, which would be a second copy.
    alias: { '@tanstack/db': path.join(root, 'node_modules', '@tanstack', 'db') },
    define: { 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'error',
  });
  const text = outputFiles[0]?.text ?? '';
  return { text, gzipBytes: gzipSync(text, { level: 9 }).length };
}

/**
 * Serves programs as `/<number>.js` and a page for each as `/<number>`, with the API of a service on the same origin.
 *
 * @param {string} service origin of the service
 * @param {readonly string[]} programs
 */
export async function servePrograms(service, programs) {
  const { hostname, port } = new URL(service);
  /** @type {Set<import('node:net').Socket>} */
  const sockets = new Set();
  let closedBytes = 0;
  const server = createServer((incoming, response) => {
    const { url = '/', method, headers } = incoming;
    if (url.startsWith('/v1/')) {
      const outgoing = request({ hostname, port, path: url, method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      });
      outgoing.on('error', () => response.destroy());
      response.on('close', () => outgoing.destroy());
      incoming.pipe(outgoing);
      return;
    }
    const { number = '', script } = /^\/(?<number>\d+)(?<script>\.js)?$/.exec(url)?.groups ?? {};
    const program = programs.at(Number(number));
    if (number === '' || program === undefined) response.writeHead(404).end();
    else if (script !== '.js') {
      response.setHeader('Content-Type', 'text/html');
      response.end('<!doctype html><title>Program</title><link rel="icon" href="data:,">');
    } else response.setHeader('Content-Type', 'text/javascript').end(program);
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => {
      sockets.delete(socket);
      closedBytes += socket.bytesRead + socket.bytesWritten;
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = /** @type {import('node:net').AddressInfo} */ (server.address());
  return {
    origin: `http://127.0.0.1:${address.port}`,
    /** Bytes between browsers and this server up to now, in both directions, with the headers of HTTP. */
    bytes: () => [...sockets].reduce((sum, { bytesRead, bytesWritten }) => sum + bytesRead + bytesWritten, closedBytes),
    /** Breaks all connections. */
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
