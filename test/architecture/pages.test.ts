// The pages of the project: their links lead somewhere and the code map names what is there.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot, readSourceTree, roomOf } from './source-tree.ts';

const markdown = (folder: string): string[] =>
  readdirSync(path.join(projectRoot, folder), { recursive: folder !== '.', encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join(folder, name));

const read = (page: string): string => readFileSync(path.join(projectRoot, page), 'utf8');

const pages = [...markdown('.'), ...markdown('docs')];
const architecture = read('docs/architecture.md');

/** What a page can be linked at: its headings as anchors, and anchors written out. */
function anchorsOf(page: string): readonly string[] {
  const text = read(page);
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  return [...headings, ...[...text.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, name = '']) => name)];
}

/** The sections of the code map by the room they tell of. */
function codeMap(): ReadonlyMap<string, string> {
  const rooms = architecture.slice(
    architecture.indexOf('## The rooms'),
    architecture.indexOf('## The way of a request'),
  );
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
      [...read(page).matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, link = '']) => link)
        .filter((link) => !/^[a-z]+:/.test(link))
        .filter((link) => {
          const [file = '', anchor] = link.split('#');
          const target = file === '' ? page : path.join(path.dirname(page), file);
          if (!existsSync(path.join(projectRoot, target))) return true;
          return anchor !== undefined && !anchorsOf(target).includes(anchor);
        })
        .map((link) => `${page} links to ${link}`),
    );
    expect(dead).toEqual([]);
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
