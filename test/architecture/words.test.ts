// The words of the project: names and phrases that docs/glossary.md has dropped stay out of code and docs.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from './source-tree.ts';

/** The glossary lists what was dropped, and this file refuses it. */
const exempt = new Set(['docs/glossary.md', 'test/architecture/words.test.ts']);
const textual = /\.(?:ts|tsx|js|mjs|md|html|css)$/;

interface Text {
  readonly path: string;
  readonly lines: readonly string[];
}

/** Every file of code and prose below the given folders and files. */
function readTexts(...places: readonly string[]): readonly Text[] {
  return places
    .flatMap((place) =>
      textual.test(place)
        ? [place]
        : readdirSync(path.join(projectRoot, place), { recursive: true, encoding: 'utf8' })
            .filter((name) => textual.test(name) && !/(?:^|\/)(?:node_modules|dist)\//.test(name))
            .map((name) => path.posix.join(place, name.split(path.sep).join('/'))),
    )
    .filter((name) => !exempt.has(name))
    .map((name) => ({ path: name, lines: readFileSync(path.join(projectRoot, name), 'utf8').split('\n') }));
}

/** Places that match, as `path:line: text`. */
function findLines(texts: readonly Text[], pattern: RegExp): readonly string[] {
  return texts.flatMap((text) =>
    text.lines.flatMap((line, index) => (pattern.test(line) ? [`${text.path}:${index + 1}: ${line.trim()}`] : [])),
  );
}

/** Names that the glossary has dropped. Those that are also ordinary words, such as `Memory` or `Session`, are not here. */
const droppedNames = [
  'LoneWrite',
  'loneWrite',
  'writeAlone',
  'mayWriteAlone',
  'asksInside',
  'Gathering',
  'standInLine',
  'InLine',
  'Shelf',
  'keptEntries',
  'doomed',
  'bury',
  'LockedList',
  'ListDraft',
  'ListChanges',
];
const droppedFiles =
  /(?:^|[/-])(?:arrivals|departures|forgery|lone-writes?|write-alone|gathering|question|shelf|races|doomed|bury|locked-lists?|list-drafts?|list-changes)\./;

/**
 * Phrases of no manual: people for clients, `tell` for report, `beside` for in parallel, `hear` for subscribe, a reference for
 * a description, and the invented nouns of the glossary.
 */
const phrases = new RegExp(
  [
    /(?<!')\b(?:[Nn]obody|[Ss]omebody|[Aa]nybody|[Ww]hoever|[Ee]verybody)\b/,
    /\b[Ww]ho (?:asks|comes|writes|wants|knows)\b/,
    /\b(?:is|are|was|were|be|being) told\b/,
    /\b[Tt]ells? (?:of|about|whether|how|what|that|apart)\b/,
    /\b[Hh]ears? of\b/,
    /\b[Bb]eside\b/,
    /\bin peace\b/,
    /\bkept entries\b/,
    /\b[Ww]rites? alone\b/,
    /\b[Ll]ets? in(?:to)?\b/,
    /^\W*(?:\/\*\*|\/\/) The same /,
  ]
    .map(({ source }) => source)
    .join('|'),
);

/** Names of users and modules in tests, such as `nobody: GET /` or `@somebody/plugin`. They are not prose. */
const userNames = /(?<=['"`:/@.(]|Bearer )(?:[Nn]obody|[Ss]omebody)\b|\b(?:nobody|somebody)(?=[:@])/g;

const code = readTexts('src', 'admin', 'packages', 'scripts', 'bench', 'test', 'examples');
const prose = readTexts(
  'src',
  'docs',
  'README.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'admin',
  'packages',
  'scripts',
  'bench',
  'examples',
);
/** Comments and titles of tests. */
const tests = readTexts('test').map((text) => ({
  ...text,
  lines: text.lines.map((line) => line.replaceAll(userNames, '')),
}));

describe('Words', () => {
  it('reads code and docs', () => {
    expect(code.length).toBeGreaterThan(800);
    expect(prose.length).toBeGreaterThan(500);
  });

  it('finds a dropped name and a dropped phrase', () => {
    const text = { path: 'a.ts', lines: ['class LoneWrite {}', '// Nobody waits.', '/** The same as b. */'] };
    expect(findLines([text], new RegExp(`\\b(?:${droppedNames.join('|')})\\b`))).toHaveLength(1);
    expect(findLines([text], phrases)).toHaveLength(2);
    expect('src/http/arrivals.ts').toMatch(droppedFiles);
  });

  it('names nothing by a name that the glossary dropped', () => {
    expect(findLines(code, new RegExp(`\\b(?:${droppedNames.join('|')})\\b`))).toEqual([]);
    expect(code.map((text) => text.path).filter((name) => droppedFiles.test(name))).toEqual([]);
  });

  it('describes clients, requests and backends in standard terms', () => {
    expect(findLines(prose, phrases)).toEqual([]);
  });

  it('describes behaviour of tests in standard terms', () => {
    expect(findLines(tests, phrases)).toEqual([]);
  });
});
