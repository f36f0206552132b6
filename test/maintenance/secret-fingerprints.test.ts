// Secrets that ids are derived from, and the data that was written with them: the start and the check warn when they do not
// belong together, wherever the data is kept and however it got there.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { openStores } from '../../src/backends/open-backends.ts';
import { checkService } from '../../src/app/check.ts';
import { acceptSecrets, type Finding } from '../../src/maintenance/check-backends.ts';
import { copyStores } from '../../src/transfer/copy/copy.ts';
import { exportInto, importFrom } from '../../src/transfer/export/export.ts';
import { fingerprintsOf, readFingerprints, type Fingerprints } from '../../src/maintenance/secret-fingerprints.ts';
import { createService } from '../../src/app/service.ts';
import { silentLogger, type Logger } from '../../src/contracts/logger.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import type { Settings } from '../../src/settings/settings.ts';
import { openDurable, type DurableBackend } from '../support/durable-stores.ts';
import { inExtent } from '../support/extent.ts';

const first = 'the first secret, which is long enough';
const second = 'the second secret, which is long enough';

/** Settings of a service on an empty database of its own. */
async function emptyDatabase(backend: DurableBackend): Promise<(more: Readonly<Record<string, string>>) => Settings> {
  const { settings } = await openDurable(backend);
  const url = settings.get('storage_url')!;
  // Tables of caches and of security state are of no concern here.
  const name = settings.get('storage_backend')!;
  const kept = { storage_backend: name, permission_backend: name, storage_url: url, permission_url: url };

  return (more) => settingsOf({ ...kept, security_state_backend: 'memory', includes: 'default_bucket', ...more });
}

/** Starts and stops a service; returns what it warns of. */
async function warningsOf(settings: Settings): Promise<readonly string[]> {
  const warnings: string[] = [];
  const logger: Logger = {
    ...silentLogger,
    warn: (fields: object | string, message?: string) =>
      void warnings.push(typeof fields === 'string' ? fields : (message ?? '')),
  };
  const service = await createService({ settings, logger });
  await service.close();
  return warnings.filter((text) => text.includes('secret'));
}

async function findingsOf(settings: Settings): Promise<readonly string[]> {
  const findings: Finding[] = [];
  await checkService(settings, (finding) => findings.push(finding), { maxObjects: 0, problems: [] });
  return findings.filter(({ kind, text }) => kind === 'warning' && text.includes('secret')).map(({ text }) => text);
}

async function keptIn(settings: Settings): Promise<Fingerprints> {
  const stores = await openStores(settings, systemClock);
  try {
    return await readFingerprints(stores.storage.reader);
  } finally {
    await stores.close();
  }
}

const otherUsers = expect.stringMatching(/^The data was written with another userid_hmac_secret.*--accept-secrets$/);
const otherBuckets = expect.stringMatching(
  /^The data was written with another default_bucket_hmac_secret.*--accept-secrets$/,
);

const backends = ['sqlite', 'postgresql', 'redis', 'redis-cluster'] as const;

// A cluster starts in many seconds, so only the complete run has one.
describe.each(inExtent<readonly (typeof backends)[number][]>(backends.slice(0, -1), backends))(
  'Data in %s',
  (backend) => {
    test('is reported as written with another secret, until that is accepted.', async () => {
      const place = await emptyDatabase(backend);
      const [ours, others] = [place({ userid_hmac_secret: first }), place({ userid_hmac_secret: second })];
      for (const settings of [ours, ours]) expect(await warningsOf(settings)).toEqual([]);
      expect(await findingsOf(ours)).toEqual([]);
      for (let start = 1; start <= 2; start++) expect(await warningsOf(others)).toEqual([otherUsers]);
      expect(await findingsOf(others)).toEqual([otherUsers]);
      expect(await warningsOf(ours)).toEqual([]);
      await acceptSecrets(others);
      expect(await warningsOf(others)).toEqual([]);
      expect(await findingsOf(ours)).toEqual([otherUsers]);
    });
  },
);

describe('The fingerprints of secrets', () => {
  let place: Awaited<ReturnType<typeof emptyDatabase>>;
  beforeEach(async () => {
    place = await emptyDatabase('sqlite');
  });

  test('distinguish the secret of personal buckets from that of users.', async () => {
    const ours = place({ userid_hmac_secret: first, default_bucket_hmac_secret: second });
    expect(await warningsOf(ours)).toEqual([]);
    expect(await warningsOf(place({ userid_hmac_secret: first }))).toEqual([otherBuckets]);
    const both = place({ userid_hmac_secret: second, default_bucket_hmac_secret: first });
    expect(await warningsOf(both)).toEqual([otherUsers, otherBuckets]);
    expect(await warningsOf(place({ userid_hmac_secret: first, includes: '' }))).toEqual([]);
  });

  test('are ignored when no id is derived from the secret.', async () => {
    expect(await warningsOf(place({ userid_hmac_secret: first }))).toEqual([]);
    const accounts = { 'multiauth.policies': 'account', includes: 'accounts', userid_hmac_secret: second };
    expect(await warningsOf(place(accounts))).toEqual([]);
  });

  test('are added when a plugin or a policy begins to use a secret, and others stay.', async () => {
    const before = place({ userid_hmac_secret: first, includes: '' });
    await warningsOf(before);
    const { store, ...secrets } = await keptIn(before);
    expect([store, Object.keys(secrets)]).toEqual([expect.stringMatching(/^[0-9a-f]{12}$/), ['userid_hmac_secret']]);
    const after = place({ userid_hmac_secret: first });
    await warningsOf(after);
    expect(await keptIn(after)).toEqual({ ...fingerprintsOf(after), store });
  });

  test('are not written by a read-only service, but compared.', async () => {
    const ours = place({ userid_hmac_secret: first });
    await warningsOf(place({ userid_hmac_secret: first, readonly: 'true' }));
    expect(await keptIn(ours)).toEqual({});
    await warningsOf(ours);
    expect(await warningsOf(place({ userid_hmac_secret: second, readonly: 'true' }))).toEqual([otherUsers]);
  });

  test('reveal nothing about the secret.', async () => {
    const ours = place({ userid_hmac_secret: first });
    await warningsOf(ours);
    const kept = await keptIn(ours);
    for (const value of Object.values(kept)) expect(value).toMatch(/^[0-9a-f]{12}$/);
    expect(new Set(Object.values(kept)).size).toBe(3);
  });

  test('are the same for processes that start concurrently: those of the first process win.', async () => {
    const all = await Promise.all(
      [first, second, second].map((secret) =>
        warningsOf(place({ userid_hmac_secret: secret, sqlite_allow_several_processes: 'true' })),
      ),
    );
    const kept = await keptIn(place({ userid_hmac_secret: first }));
    const isFirst = kept.userid_hmac_secret === fingerprintsOf(place({ userid_hmac_secret: first })).userid_hmac_secret;
    expect(all.map((warnings) => warnings.length)).toEqual(isFirst ? [0, 1, 1] : [1, 0, 0]);
  });

  test('are part of a copy, also to a database on which a service was started.', async () => {
    const ours = place({ userid_hmac_secret: first });
    await warningsOf(ours);
    const target = await emptyDatabase('sqlite');
    const other = target({ userid_hmac_secret: second });
    expect(await warningsOf(other)).toEqual([]);
    expect(await copyStores({ source: ours, target: other, mode: 'refuse' })).toMatchObject({ isEqual: true });
    expect(await warningsOf(other)).toEqual([otherUsers]);
    expect(await copyStores({ source: ours, target: other, mode: 'resume' })).toMatchObject({ isEqual: true });
  });

  test('are part of an export, but not counted as list or object.', async () => {
    const ours = place({ userid_hmac_secret: first });
    await warningsOf(ours);
    const folder = mkdtempSync(join(tmpdir(), 'coffer-export-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'all.ndjson');
    expect(await exportInto(file, ours)).toMatchObject({ lists: 0, objects: 0 });
    const target = await emptyDatabase('sqlite');
    const other = target({ userid_hmac_secret: second });
    expect(await importFrom(file, other, { mode: 'refuse', verifies: true })).toMatchObject({ differences: [] });
    expect(await warningsOf(other)).toEqual([otherUsers]);
  });
});
