// Runs the black-box scenarios of the protocol, which belong to no implementation, against the built command line: once
// for each backend, every server with an empty store. They are expected in a folder next to this checkout. Without them,
// only the tests in test/http check the protocol.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cloneDatabase } from '../support/postgresql.ts';
import { inExtent } from '../support/extent.ts';
import { requireRedisUrl } from '../support/redis.ts';
import { backends, type Backend } from '../support/server-process.ts';

const root = path.resolve(import.meta.dirname, '..', '..');
const suite = path.resolve(
  root,
  process.env['COFFER_CONFORMANCE_SUITE'] ?? path.join('..', 'shared', 'conformance', 'run.mjs'),
);
/** File with the counts, which `scripts/check.mjs` adds up. */
const countsFile = path.resolve(
  root,
  process.env['COFFER_CONFORMANCE_COUNTS'] ?? path.join('dist', 'conformance-counts.json'),
);
const minutes = 60_000;

/** Settings profiles of plugins that this version does not have. */
const missingProfiles: readonly string[] = [];

interface Report {
  readonly scenarios: readonly {
    readonly file: string;
    readonly name: string;
    readonly profile: string;
    readonly ok: boolean;
    readonly failures: readonly { readonly step: number; readonly line: string; readonly diffs: readonly string[] }[];
  }[];
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** Scenarios of profiles that were not run. */
  readonly left: number;
}

describe('the black-box scenarios of the protocol', () => {
  if (!existsSync(suite)) {
    it('pass on every backend', ({ skip }) => {
      skip('the scenarios are not next to this checkout; name their run.mjs in COFFER_CONFORMANCE_SUITE');
    });
    return;
  }
  const counts: Record<string, Counts> = {};
  let folder = '';

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'coffer-conformance-'));
    // A configuration file, even an empty one, keeps the server from using the profile for first steps.
    writeFileSync(path.join(folder, 'empty.ini'), '');
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    mkdirSync(path.dirname(countsFile), { recursive: true });
    writeFileSync(countsFile, `${JSON.stringify(counts)}\n`);
  });

  for (const backend of inExtent(['sqlite'], backends)) {
    it.concurrent(`All scenarios pass on the ${backend} backend.`, { timeout: 15 * minutes }, async () => {
      const database = backend === 'postgresql' ? await cloneDatabase() : undefined;
      const report = await runSuite(folder, backend, database?.url);
      await database?.drop();
      const run = report.scenarios.filter(({ profile }) => !missingProfiles.includes(profile));
      const failures = run.filter(({ ok }) => !ok);
      const result = {
        passed: run.length - failures.length,
        failed: failures.length,
        left: report.scenarios.length - run.length,
      };
      counts[backend] = result;
      console.log(
        `Conformance on ${backend}: ${result.passed} passed, ${result.failed} failed, ${result.left} left out`,
      );
      expect(run.length).toBeGreaterThan(0);
      expect(failures.map(describeFailure)).toEqual([]);
    });
  }
});

/** Runs all scenarios; a profile whose server does not start is in the report as failed. */
function runSuite(folder: string, backend: Backend, url?: string): Promise<Report> {
  const reportFile = path.join(folder, `${backend}.json`);
  const args = [suite, '--cmd', startCommand(folder, backend, url), '--report', reportFile];
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] });
    let complaints = '';
    child.stderr.on('data', (chunk: Buffer) => (complaints += chunk.toString('utf8')));
    child.on('error', reject);
    child.on('close', () => {
      if (existsSync(reportFile)) resolve(JSON.parse(readFileSync(reportFile, 'utf8')) as Report);
      else reject(new Error(`the suite left no report: ${complaints}`));
    });
  });
}

/**
 * A shell command that starts the server as configured by the environment, with an empty store.
 *
 * @param url of a PostgreSQL database, which the servers of all profiles share: the scenarios leave each other alone
 */
function startCommand(folder: string, backend: Backend, url?: string): string {
  const config = path.join(folder, 'empty.ini');
  const run = (command: string): string =>
    [process.execPath, path.join(root, 'bin', 'coffer.js'), command, '--config', config].map(quote).join(' ');
  const start = `exec ${run('start')}`;
  if (backend === 'memory') return start;
  const place =
    backend === 'sqlite' ? '"$data/coffer.sqlite3"' : quote(backend === 'redis' ? requireRedisUrl() : (url ?? ''));
  const exports = ['STORAGE', 'PERMISSION', 'CACHE'].map(
    (kind) => `export SVC_${kind}_BACKEND=${backend} SVC_${kind}_URL=${place}`,
  );
  // The Redis server is that of all tests; keys of its own are an empty store.
  exports.push('export SVC_REDIS_PREFIX="$(basename "$data"):"');
  return [`data=$(mktemp -d ${quote(path.join(folder, 'data-XXXXXX'))})`, ...exports, start].join('; ');
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

function describeFailure({ file, name, profile, failures }: Report['scenarios'][number]): string {
  const [first] = failures;
  return `${file} (${profile}): ${name}: step ${first?.step} ${first?.line}: ${first?.diffs.slice(0, 3).join('; ')}`;
}
