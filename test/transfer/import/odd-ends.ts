// Both ends of an import from an odd server into memory, for tests.
import { onTestFinished } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { settingsOf } from '../../../src/backends/load-settings.ts';
import { openStores } from '../../../src/backends/open-backends.ts';
import type { OpenStores } from '../../../src/contracts/open-backends.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import type { Settings } from '../../../src/settings/settings.ts';
import { importInto, type ImportOptions, type ImportResult } from '../../../src/transfer/import/import.ts';
import type { TransportOptions } from '../../../src/transfer/import/transport.ts';
import { startOddServer, type OddOptions, type OddServer } from './odd-source.ts';

export interface Ends {
  readonly source: OddServer;
  readonly target: OpenStores;
  readonly settings: Settings;
  /** Milliseconds of each wait. */
  readonly waits: number[];
  run(options?: Partial<ImportOptions>): Promise<ImportResult>;
}

/** Starts the source and opens the target; both are closed after the test. */
export async function between(odd: OddOptions, more: Partial<TransportOptions> = {}): Promise<Ends> {
  const source = await startOddServer(odd);
  const settings = settingsOf({ userid_hmac_secret: 'secret' });
  const target = await openStores(settings, systemClock);
  onTestFinished(async () => {
    await target.close();
    await source.close();
  });
  const waits: number[] = [];
  const wait = (milliseconds: number): Promise<void> => {
    waits.push(milliseconds);
    return Promise.resolve();
  };
  const from = { root: source.root, headers: {}, concurrency: 2, wait, ...more };
  return {
    source,
    target,
    settings,
    waits,
    run: (options = {}) => importInto(target, settings, { from, mode: 'refuse', ...options }),
  };
}

export const bucket = '{"id":"b","last_modified":1000}';
/** The response to a request for one object. */
export const shown = (data: string, permissions = '{"write":["someone"]}'): string =>
  `{"data":${data},"permissions":${permissions}}`;

/** One bucket with one collection with these records, whose permissions are shown. */
export function withRecords(records: readonly string[], more: Partial<OddOptions> = {}): OddOptions {
  const collection = '{"id":"c","last_modified":2000}';
  const path = 'buckets/b/collections/c/records';
  const live = records.filter((text) => !/^{"id":"[^"]*","last_modified":\d+,"deleted":true}$/.test(text));
  return {
    lists: {
      buckets: { entries: [bucket] },
      'buckets/b/groups': { entries: [] },
      'buckets/b/collections': { entries: [collection] },
      [path]: { entries: records },
    },
    objects: {
      'buckets/b': shown(bucket),
      'buckets/b/collections/c': shown(collection),
      ...Object.fromEntries(live.map((text) => [`${path}/${/"id":"([^"]*)"/.exec(text)?.[1]}`, shown(text)])),
    },
    ...more,
  };
}

export const recordList = { kind: 'record', parent: storedParent('/buckets/b/collections/c') };

/** Returns the text of a record of the target. */
export async function textOf({ target }: Ends, id: string): Promise<string | undefined> {
  return (await target.storage.reader.get(recordList, id))?.text;
}
