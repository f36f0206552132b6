// A service on a file of SQLite that a test backs up, and restores from the backup, as an operator does. It keeps its address.
import { cp, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
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

  /** Copies the file. */
  async backUp(): Promise<void> {
    await this.#service!.close();
    await copyDatabase(this.#data, this.#backup);
    await this.#serve();
  }

  /** Puts the copy in the place of the file. The clock of the service is right from now on. */
  async restore({ resync }: { readonly resync: boolean }): Promise<void> {
    this.#proxy!.rule = () => 'cut';
    this.#proxy!.cutAll();
    await this.#service!.close();
    this.aheadMs = 0;
    await rm(this.#data, { recursive: true });
    await copyDatabase(this.#backup, this.#data);
    if (resync) await resyncAll(settingsOfUrl(`sqlite://${this.#file}`));
    await this.#serve();
  }

  get #data(): string {
    return path.join(this.#folder, 'data');
  }

  get #backup(): string {
    return path.join(this.#folder, 'backup');
  }

  get #file(): string {
    return path.join(this.#data, 'coffer.sqlite3');
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

/** Copies the database and its log. The cache has files of its own, which need no backup. */
async function copyDatabase(from: string, to: string): Promise<void> {
  await mkdir(to);
  const names = (await readdir(from)).filter((name) => /^coffer\.sqlite3(?:-wal)?$/.test(name));
  await Promise.all(names.map((name) => cp(path.join(from, name), path.join(to, name))));
}
