// Builds the documentation site and reads its pages: their links, their anchors and their blocks of code.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import path from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { send } from '@fastify/send';
import { onTestFinished } from 'vitest';
import { projectRoot } from '../architecture/source-tree.ts';
import { terminalEnvironment } from '../support/npm.ts';

const run = promisify(execFile);

/** Builds the site into a folder; throws with the messages of the build when a page is broken or a link is dead. */
export async function buildSite(target: string): Promise<void> {
  const program = path.join(projectRoot, 'node_modules', 'vitepress', 'bin', 'vitepress.js');
  const args = [program, 'build', projectRoot, '--outDir', target];
  await run(process.execPath, args, { cwd: projectRoot, env: terminalEnvironment(), maxBuffer: 2 ** 26 });
}

/** Serves the site on a free port of this machine until the test ends, and returns its origin. */
export async function serveSite(site: string): Promise<string> {
  const server = createServer((request, response) => {
    void send(request, request.url ?? '/', { root: site }).then(({ statusCode, headers, stream }) => {
      response.writeHead(statusCode, headers);
      stream.pipe(response);
    });
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
    });
  });
}

/** Returns the names of all files of the site, with slashes. */
export function listSite(site: string): readonly string[] {
  return readdirSync(site, { recursive: true, encoding: 'utf8' }).map((name) => name.split(path.sep).join('/'));
}

export interface SitePage {
  /** Path in the site: `docs/guides/tour.html`. */
  readonly name: string;
  readonly html: string;
}

/** Reads every page of the site. */
export function readPages(site: string): readonly SitePage[] {
  return listSite(site)
    .filter((name) => name.endsWith('.html'))
    .map((name) => ({ name, html: readFileSync(path.join(site, name), 'utf8') }));
}

const entities: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'", '#x27': "'" };

/** Returns the text of HTML: without tags, and with its character references resolved. */
export function textOf(html: string): string {
  return html.replaceAll(/<[^>]*>/g, '').replaceAll(/&(#?\w+);/g, (reference, name: string) => {
    if (entities[name] !== undefined) return entities[name];
    const code = /^#(?:x([\da-f]+)|(\d+))$/i.exec(name);
    if (code === null) throw new Error(`unknown character reference ${reference}`);
    return String.fromCodePoint(code[1] === undefined ? Number(code[2]) : Number.parseInt(code[1], 16));
  });
}

/** Returns the addresses that a page refers to: links, images, scripts and styles. */
export function referencesOf({ html }: SitePage): readonly string[] {
  return [...html.matchAll(/<[a-z][^>]*? (?:href|src)="([^"]*)"/g)].map(([, address = '']) => textOf(address));
}

/** Returns the anchors of a page. */
export function anchorsOf({ html }: SitePage): ReadonlySet<string> {
  return new Set([...html.matchAll(/<[a-z][^>]*? (?:id|name)="([^"]*)"/g)].map(([, anchor = '']) => textOf(anchor)));
}

export interface CodeBlock {
  /** As the page names it: `sh`, `json`, `js`. */
  readonly language: string;
  readonly text: string;
}

/** Returns the blocks of code of a page, in their order. */
export function codeBlocksOf({ name, html }: SitePage): readonly CodeBlock[] {
  const blocks = [...html.matchAll(/<div class="language-([\w-]*)[^"]*">.*?<pre[^>]*>(.*?)<\/pre>/gs)];
  const expected = html.match(/<pre/g)?.length ?? 0;
  if (blocks.length !== expected)
    throw new Error(`${name} has ${expected} blocks of code, and ${blocks.length} were read`);
  return blocks.map(([, language = '', code = '']) => ({ language, text: textOf(code) }));
}
