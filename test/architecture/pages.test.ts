// The pages of the project: their links lead somewhere and the code map names what is there.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { anchorOf } from '../../.vitepress/anchors.mjs';
import { projectRoot, readSourceTree, roomOf } from './source-tree.ts';

const markdown = (folder: string): string[] =>
  readdirSync(path.join(projectRoot, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.includes('node_modules'))
    .map((name) => path.posix.join(folder, name.split(path.sep).join('/')));

const read = (page: string): string => readFileSync(path.join(projectRoot, page), 'utf8');

const pages = ['.', 'docs', 'examples', 'bench', 'packages'].flatMap(markdown);
const architecture = read('docs/architecture.md');
const index = 'docs/README.md';

/** Returns the text of a page without its code, where brackets are no links and `#` is no heading. */
const proseOf = (page: string): string => read(page).replaceAll(/^( *)```.*?^\1```$/gms, '');

/** Returns the targets of all links and images of a page, as they are written. */
const linksOf = (page: string): readonly string[] =>
  [
    ...proseOf(page).matchAll(
      /\]\(([^)\s]+)(?: "[^"]*")?\)|^\[[^\]]+\]: (\S+)$|<(?:a|img)[^>]* (?:href|src)="([^"]+)"/gm,
    ),
  ].map(([, inline, defined, tag]) => inline ?? defined ?? tag ?? '');

/** What a page can be linked at: its headings as anchors, and anchors written out. */
function anchorsOf(page: string): readonly string[] {
  const text = proseOf(page);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading));
  return [...headings, ...[...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, name = '']) => name)];
}

/** Returns the file or folder that a relative link of a page leads to. */
const targetOf = (page: string, link: string): string => {
  const [file = ''] = link.split('#');
  return file === '' ? page : path.posix.join(path.posix.dirname(page), decodeURI(file)).replace(/\/$/, '');
};

const isRelative = (link: string): boolean => !/^[a-z]+:/.test(link);

/** Returns the page at a target: the file itself, or the README of a folder. */
const pageAt = (target: string): string | undefined =>
  [target, path.posix.join(target, 'README.md')].find((name) => pages.includes(name));

/** Returns the sections of the code map by room. */
function codeMap(): ReadonlyMap<string, string> {
  const rooms = architecture.slice(architecture.indexOf('## The rooms'), architecture.indexOf('## Imports'));
  return new Map(
    rooms
      .split('\n### ')
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf('\n')), section]),
  );
}

describe('the pages of the project', () => {
  it('link only to what is there', () => {
    const dead = pages.flatMap((page) =>
      linksOf(page)
        .filter(isRelative)
        .filter((link) => {
          const target = targetOf(page, link);
          if (!existsSync(path.join(projectRoot, target))) return true;
          const [, anchor] = link.split('#');
          return anchor !== undefined && !anchorsOf(target).includes(anchor);
        })
        .map((link) => `${page} links to ${link}`),
    );
    expect(dead).toEqual([]);
  });

  it('are all reached by links from the index of the documentation', () => {
    const reached = new Set([index]);
    // A set visits what is added while it is walked through.
    for (const page of reached) {
      for (const link of linksOf(page).filter(isRelative)) {
        const next = pageAt(targetOf(page, link));
        if (next !== undefined) reached.add(next);
      }
    }
    expect(pages.filter((page) => !reached.has(page))).toEqual([]);
  });

  it('are in one of the four parts of the index, with a sentence, unless they belong to a page with a list of its own', () => {
    const [, ...parts] = read(index).split(/^## /m);
    expect(parts.map((part) => part.slice(0, part.indexOf('\n')))).toEqual([
      'Tutorials',
      'How-to guides',
      'Reference',
      'Explanation',
    ]);
    const listed = [...read(index).matchAll(/^- \[[^\]]+\]\(([^)]+)\): \S/gm)].map(([, link = '']) =>
      targetOf(index, link),
    );
    const entries = read(index)
      .split('\n')
      .filter((line) => line.startsWith('- '));
    expect(listed).toHaveLength(entries.length);
    const ownLists = ['docs/decisions/', 'docs/reference/http-api/'];
    const missing = pages
      .filter((page) => page.startsWith('docs/') && page !== index && !listed.includes(page))
      .filter((page) => !ownLists.some((folder) => page.startsWith(folder) && listed.includes(`${folder}README.md`)));
    expect(missing).toEqual([]);
  });

  it('say how the program is installed where they run it by npx, which else runs a stranger from the registry', () => {
    const silent = pages
      .filter((page) => page !== 'CHANGELOG.md' && /\bnpx (?:--?\S+ )*coffer\b/.test(read(page)))
      .filter((page) => {
        const guide = 'docs/guides/getting-started.md';
        return (
          page !== guide && !linksOf(page).some((link) => targetOf(page, link) === guide && link.endsWith('#install'))
        );
      });
    expect(silent).toEqual([]);
  });

  it('show pictures of at most 200 kB', () => {
    const pictures = pages.flatMap((page) =>
      linksOf(page)
        .filter((link) => isRelative(link) && /\.(?:png|jpe?g|gif|webp|svg)$/.test(link))
        .map((link) => targetOf(page, link)),
    );
    expect(pictures).toContain('docs/images/console.png');
    expect(pictures.filter((picture) => statSync(path.join(projectRoot, picture)).size > 200_000)).toEqual([]);
  });

  it('have what comments in the code send readers to', () => {
    const comments = ['src', 'test'].flatMap((folder) =>
      readdirSync(path.join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => path.join(folder, name)),
    );
    const dead = comments.flatMap((file) =>
      [...read(file).matchAll(/(?<=\/\/.*|\* .*)\b(docs\/[\w./-]+\.md)(?:#([\w-]+))?/g)]
        .filter(
          ([, page = '', anchor]) =>
            !existsSync(path.join(projectRoot, page)) || (anchor !== undefined && !anchorsOf(page).includes(anchor)),
        )
        .map(([link]) => `${file} sends to ${link}`),
    );
    expect(dead).toEqual([]);
  });

  it('name only files and folders of the project that are there', () => {
    const stale = ['README.md', 'CONTRIBUTING.md', 'docs/architecture.md'].flatMap((page) =>
      [...read(page).matchAll(/`((?:src|bin|scripts|test|docs)\/[\w./-]+)`/g)]
        .map(([, name = '']) => name)
        .filter((name) => !existsSync(path.join(projectRoot, name)))
        .map((name) => `${page} names ${name}`),
    );
    expect(stale).toEqual([]);
  });

  it('have a paragraph for each room, which names only files of that room', () => {
    const files = readSourceTree().map((file) => file.path);
    const rooms = [...new Set(files.map((file) => roomOf(file).split('/')[0] ?? ''))].filter(
      (room) => room !== 'index',
    );
    const map = codeMap();
    expect([...map.keys()].toSorted()).toEqual(rooms.toSorted());
    const stale = [...map].flatMap(([room, section]) => {
      const inside = files.filter((file) => file.startsWith(`${room}/`)).map((file) => file.slice(room.length));
      return [...section.matchAll(/`([a-z][\w-]*(?:\.ts|\/))`/g)]
        .map(([, name = '']) => `/${name}`)
        .filter((name) => !inside.some((file) => (name.endsWith('/') ? file.includes(name) : file.endsWith(name))))
        .map((name) => room + name);
    });
    expect(stale).toEqual([]);
  });
});
