// The documentation as readers get it: the built site, and the commands of its first pages, copied into a terminal.
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { projectRoot } from '../architecture/source-tree.ts';
import { openBrowser } from '../console/visitor.ts';
import { follow, withoutChance } from './newcomer.ts';
import {
  anchorsOf,
  buildSite,
  codeBlocksOf,
  listSite,
  readPages,
  referencesOf,
  serveSite,
  textOf,
  type SitePage,
} from './site.ts';

const folder = mkdtempSync(path.join(tmpdir(), 'coffer-docs-'));
const site = path.join(folder, 'site');
let pages: ReadonlyMap<string, SitePage>;

beforeAll(async () => {
  await buildSite(site);
  pages = new Map(readPages(site).map((page) => [page.name, page]));
}, 600_000);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const pageNamed = (name: string): SitePage => {
  const page = pages.get(name);
  if (page === undefined) throw new Error(`the site has no page ${name}`);
  return page;
};

describe('The documentation site', () => {
  test('has a page for the README, the index and each guide.', () => {
    const names = ['index.html', 'docs/index.html', 'docs/guides/tour.html', 'docs/reference/http-api/index.html'];
    expect([...pages.keys()]).toEqual(expect.arrayContaining(names));
    expect(textOf(pageNamed('index.html').html)).toContain('needs nothing but Node.js');
  });

  test('refers only to pages, anchors and files that exist, and loads nothing from other hosts.', () => {
    const files = new Set(listSite(site));
    const anchors = new Map([...pages].map(([name, page]) => [name, anchorsOf(page)]));
    const dead = [...pages.values()].flatMap((page) =>
      referencesOf(page)
        .filter((reference) => !/^(?:https?|mailto|data):/.test(reference))
        .filter((reference) => {
          const [file = '', anchor] = decodeURI(reference).split('#');
          const joined = file.startsWith('/') ? `.${file}` : path.posix.join(path.posix.dirname(page.name), file);
          const isFolder = joined.endsWith('/') || joined === '.';
          const plain = file === '' ? page.name : path.posix.join(joined, isFolder ? 'index.html' : '');
          if (!files.has(plain)) return true;
          return anchor !== undefined && anchor !== '' && anchors.get(plain)?.has(anchor) !== true;
        })
        .map((reference) => `${page.name} refers to ${reference}`),
    );
    expect(dead).toEqual([]);
    const loaded = [...pages.values()].flatMap(
      ({ html }) => html.match(/<(?:script|link|img|iframe)\b[^>]*"https?:[^>]*>/g) ?? [],
    );
    expect(loaded).toEqual([]);
  });

  test('searches all pages in the browser, without asking another host.', { timeout: 300_000 }, async () => {
    const origin = await serveSite(site);
    const browser = await openBrowser();
    try {
      const page = await browser.newPage();
      const faults: string[] = [];
      page.on('pageerror', ({ message }) => faults.push(message));
      page.on('request', (request) => {
        if (!request.url().startsWith(`${origin}/`)) faults.push(request.url());
      });
      await page.goto(`${origin}/docs/`);
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByPlaceholder('Search').fill('rate_limits');
      await page.getByRole('option', { name: 'rate_limits' }).first().click();
      await page.waitForURL(/#rate_limits$/);
      expect([new URL(page.url()).pathname, faults]).toEqual(['/docs/reference/settings.html', []]);
    } finally {
      await browser.close();
    }
  });
});

/** What a clone of the repository does not have. */
const notCloned = new Set(['node_modules', 'dist', 'data', 'coverage', 'site', '.git']);

describe('A newcomer', () => {
  test(
    'gets from a fresh clone to a synchronised store by the README and "Getting started".',
    { timeout: 900_000 },
    async () => {
      const clone = path.join(folder, 'coffer');
      cpSync(projectRoot, clone, {
        recursive: true,
        filter: (file) => !notCloned.has(path.relative(projectRoot, file)),
      });
      const read = (page: string, notes: string): ReturnType<typeof follow> =>
        follow({ blocks: codeBlocksOf(pageNamed(page)), cwd: clone, notes: path.join(folder, notes) });

      const readme = await read('index.html', 'readme');
      expect(readme.steps.map(({ commands }) => commands.split('\n'))).toEqual([['npm ci && npm start']]);

      const started = await read('docs/guides/getting-started.html', 'getting-started');
      const shown = started.steps.filter((step) => step.shown !== undefined);
      expect(shown.length).toBeGreaterThan(4);
      for (const { commands, output, shown: response = '' } of shown) {
        const expected = withoutChance(response);
        expect([commands, withoutChance(output).slice(-expected.length)]).toEqual([commands, expected]);
      }

      expect(readme.logs).toHaveLength(1);
      expect(started.logs).toHaveLength(2);
      for (const log of [...readme.logs, ...started.logs]) expect(log).toContain('"Stopped"');
    },
  );
});
