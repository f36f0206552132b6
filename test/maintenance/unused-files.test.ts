// Cleaning of attachments without a record while the names of files are reused.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { databaseSettings } from '../support/backends.ts';
import { S3Server, type StoredFile } from '../support/s3-server.ts';
import { settingsOf } from '../../src/backends/load-settings.ts';
import { cleanAttachments } from '../../src/maintenance/deletions.ts';

function stored(text: string, lastModified: Date): StoredFile {
  return { bytes: Buffer.from(text), type: 'text/plain', acl: undefined, lastModified };
}

test('cleaning keeps a file that has got the name of an unused file meanwhile.', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'coffer-unused-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const server = await S3Server.start();
  onTestFinished(() => server.close());
  for (const name of ['a.txt', 'b.txt']) server.files.set(name, stored('unused', new Date(1_000_000)));
  server.delays = {
    async DELETE() {
      server.files.set('b.txt', stored('new', new Date()));
    },
  };
  const settings = settingsOf({
    ...databaseSettings('sqlite', `sqlite://${join(folder, 'coffer.sqlite3')}`),
    ...server.settings,
    'multiauth.policies': '',
  });
  const deleted = await cleanAttachments(settings, { olderThanHours: 1, dryRun: false });
  expect(deleted.map(({ name }) => name)).toEqual(['a.txt']);
  expect(server.files.get('b.txt')?.bytes.toString()).toBe('new');
  expect([...server.files.keys()]).toEqual(['b.txt']);
});
