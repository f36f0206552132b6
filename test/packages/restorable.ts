// A service on a file of SQLite that a test backs up, and restores from the backup, as an operator does. It keeps its address.
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { resyncAll } from '../../src/maintenance/resync.ts';
import { startTestService, type TestBackend, type TestService } from '../../src/testing/index.ts';
import { settingsOfUrl } from '../../src/transfer/copy/places.ts';
import { databaseSettings } from '../support/backends.ts';
import { FaultyProxy } from './client/faulty-proxy.ts';

export class Restorable {
  /** Starts the service, for the worlds of the tests. */
  readonly backend: TestBackend = { name: 'sqlite', start: () => this.#start() };
  /** Milliseconds that the clock of the service is ahead. */
  aheadMs = 0;
  #service: TestService | undefined;
  #proxy: FaultyProxy | undefined;
  #folder = '';
  #restores = 0;

  /** Copies the file while it is in use. */
  backUp(): void {
    const database = new DatabaseSync(this.#file);
    database.exec(`VACUUM INTO '${this.#backup}'`);
    database.close();
  }

  /** Puts the copy in the place of the file. The clock of the service is right from now on. */
  async restore({ resync }: { readonly resync: boolean }): Promise<void> {
    this.#proxy!.rule = () => 'cut';
    this.#proxy!.cutAll();
    await this.#service!.close();
    this.aheadMs = 0;
    this.#restores += 1;
    await mkdir(path.dirname(this.#file));
    await cp(this.#backup, this.#file);
    if (resync) await resyncAll(settingsOfUrl(`sqlite://${this.#file}`));
    await this.#serve();
  }

  get #backup(): string {
    return path.join(this.#folder, 'backup.sqlite3');
  }

  /** In a folder of its own after each restore: no logs of the file before. */
  get #file(): string {
    return path.join(this.#folder, `data${this.#restores}`, 'coffer.sqlite3');
  }

  async #start(): Promise<TestService> {
    this.#folder = await mkdtemp(path.join(tmpdir(), 'coffer-restorable-'));
    await this.#serve();
    return {
      ...this.#service!,
      origin: this.#proxy!.origin,
      close: async () => {
        await this.#proxy!.close();
        await this.#service!.close();
        await rm(this.#folder, { recursive: true, force: true });
      },
    };
  }

  async #serve(): Promise<void> {
    const settings = { sqlite_synchronous: 'OFF', ...databaseSettings('sqlite', this.#file) };
    const clock = { now: () => Date.now() + this.aheadMs };
    this.#service = await startTestService({ settings, clock });
    this.#proxy ??= await FaultyProxy.start(this.#service.origin);
    this.#proxy.target = this.#service.origin;
    this.#proxy.rule = undefined;
  }
}

const hour = 3_600_000;
/** With `resync`, all clients learn of it. Without, those do that are ahead of the list. */
export const restoreCases = [
  ['and an operator has run `coffer resync`', { resync: true, aheadMs: 0 }],
  ['and an operator has run `coffer resync`, with a clock that was ahead', { resync: true, aheadMs: hour }],
  ['and nothing else, with a clock that was ahead', { resync: false, aheadMs: hour }],
] as const;
