// Checks the configured backends without changing them: availability, pending migrations, damage, secrets that differ from
// those of the data, and principals that name nothing.
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { builtInBackends } from '../backends/built-in-backends.ts';
import { BackendOpener } from '../backends/open-backends.ts';
import { systemClock } from '../base/clock.ts';
import { messageOf } from '../base/message-of.ts';
import { backendKinds } from '../settings/backend-description.ts';
import { findBackend } from '../settings/backend-settings.ts';
import type { Problem } from '../settings/problems.ts';
import type { Settings } from '../settings/settings.ts';
import { tablesOfBackends } from '../settings/table.ts';
import { describeFilling } from './filling.ts';
import { withBackends } from './units.ts';
import { describeOtherSecrets, fingerprintsOf, keepFingerprints, readFingerprints } from './secret-fingerprints.ts';
import { describePrincipals, findUnknownPrincipals } from './unknown-principals.ts';

export interface Finding {
  /** `pending`: a migration that has to be run first. */
  readonly kind: 'ok' | 'warning' | 'pending' | 'problem';
  readonly text: string;
  /** `false`: a backend that the start has to prepare before anything can be read from it. */
  readonly isReady?: boolean;
}

export interface BackendCheckOptions {
  /** Maximum number of objects whose permissions are checked for principals that name nothing, and of users in groups; 0: none. */
  readonly maxObjects: number;
  /** Reported problems of the settings. Backends are not opened when one of them concerns backends. */
  readonly problems: readonly Problem[];
}

/** The checked interface of databases, caches and security state. */
interface Store {
  readonly needsMigration?: boolean;
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  checkIntegrity?(): Promise<readonly string[]>;
  close(): Promise<void>;
}

type Report = (finding: Finding) => void;

/** Reports each finding as soon as it is known. */
export async function checkBackends(settings: Settings, report: Report, options: BackendCheckOptions): Promise<void> {
  if (options.problems.some(isAboutBackends)) return;
  await new BackendCheck(settings, report).run(options.maxObjects);
}

function isAboutBackends({ name = '' }: Problem): boolean {
  const key = name.toLowerCase().replace(/^(?:svc|kinto)[._]/, '');
  const isOwn = tablesOfBackends(builtInBackends).some((table) => Object.hasOwn(table, key));
  return isOwn || /^(?:storage|permission|cache|security_state)_/.test(key);
}

class BackendCheck {
  readonly #settings: Settings;
  readonly #report: Report;
  readonly #opener: BackendOpener;
  /** Checked stores, which backends may share, and whether they responded. */
  readonly #stores = new Map<Store, boolean>();

  constructor(settings: Settings, report: Report) {
    this.#settings = settings;
    this.#report = report;
    this.#opener = new BackendOpener(settings, systemClock);
  }

  async run(maxObjects: number): Promise<void> {
    let areReady = true;
    for (const kind of backendKinds) areReady = (await this.#checkKind(kind)) && areReady;
    if (areReady && maxObjects > 0) await this.#checkPrincipals(maxObjects);
    // The security state is in the database of the storage. A missing database was reported before.
    if ((await this.#opener.databases()).length > 0) await this.#checkSecurityState();
    // A server that does not respond does not close its connection either.
    await Promise.race([
      Promise.allSettled([...this.#stores.keys()].map((store) => store.close())),
      wait(1000, undefined, { ref: false }),
    ]);
  }

  /** Checks one backend, and returns whether it can be read as it is. */
  async #checkKind(kind: 'storage' | 'permission' | 'cache'): Promise<boolean> {
    const name = this.#settings.get(`${kind}_backend`);
    if (name === undefined) {
      const isNeeded = kind === 'storage';
      const text = isNeeded ? 'storage_backend is empty: the service needs a storage.' : `${kind}: none`;
      this.#report({ kind: isNeeded ? 'problem' : 'ok', text });
      return !isNeeded;
    }
    const place = findBackend(this.#settings, builtInBackends, kind)?.readPlace(this.#settings, kind);
    if (place?.file !== undefined && !existsSync(place.file)) {
      this.#report(describeMissing(kind, name, place.file));
      return false;
    }
    const open = async (): Promise<Store> =>
      kind === 'cache' ? this.#opener.openCache(name) : (await this.#opener.open(name, kind)).database;
    const isReady = await this.#checkStore(`${kind}: ${name}`, open);
    return kind === 'storage' && isReady ? this.#checkData(name) : isReady;
  }

  /** Checks a store, and returns whether it can be read as it is. */
  async #checkStore(what: string, open: () => Promise<Store>): Promise<boolean> {
    const seconds = this.#settings.get('heartbeat_timeout_seconds');
    try {
      const tooLate = wait(seconds * 1000, undefined, { ref: false });
      const findings = await Promise.race([this.#examine(what, open), tooLate]);
      if (findings === undefined) throw new Error(`no answer within ${seconds} seconds`);
      for (const finding of findings) this.#report(finding);
      return findings.every(({ kind, isReady }) => kind === 'ok' && isReady !== false);
    } catch (error) {
      this.#report({ kind: 'problem', text: `${what}: ${describeFailure(error)}` });
      return false;
    }
  }

  async #examine(what: string, open: () => Promise<Store>): Promise<readonly Finding[]> {
    const startedAt = performance.now();
    const store = await open();
    const hasAnswered = this.#stores.get(store);
    if (hasAnswered !== undefined) return [{ kind: hasAnswered ? 'ok' : 'problem', text: `${what}, as above` }];
    this.#stores.set(store, false);
    const lines = await store.initializeSchema({ dryRun: true });
    this.#stores.set(store, true);
    const milliseconds = Math.ceil(performance.now() - startedAt);
    const faults = (await store.checkIntegrity?.()) ?? [];
    return [
      { kind: 'ok', text: `${what} answers (${milliseconds} ms)` },
      ...faults.map((fault): Finding => ({ kind: 'problem', text: `${what} is damaged: ${fault}` })),
      ...lines.map((line): Finding =>
        store.needsMigration === true
          ? { kind: 'pending', text: `${what}: ${line}` }
          : { kind: 'ok', text: `${what}: the start will ${line}`, isReady: false },
      ),
    ];
  }

  /**
   * Checks whether user ids are still derived from the secrets of the data, and whether the data is complete; returns whether
   * the storage could be read.
   */
  async #checkData(name: string): Promise<boolean> {
    try {
      const { database, storage } = await this.#opener.open(name, 'storage');
      if (storage === undefined || !database.abilities.durable) return true;
      const { reader } = storage();
      const kept = await readFingerprints(reader);
      for (const text of describeOtherSecrets(kept, this.#settings)) this.#report({ kind: 'warning', text });
      const text = await describeFilling(reader);
      if (text !== undefined) this.#report({ kind: 'warning', text });
      return true;
    } catch (error) {
      this.#report({ kind: 'problem', text: `storage: ${name}: ${describeFailure(error)}` });
      return false;
    }
  }

  async #checkPrincipals(maxObjects: number): Promise<void> {
    const names = [this.#settings.get('storage_backend'), this.#settings.get('permission_backend')] as const;
    if (names[0] === undefined || names[1] === undefined) return;
    if (findBackend(this.#settings, builtInBackends, 'permission')?.isVolatile === true) return;
    const endsAt = performance.now() + this.#settings.get('heartbeat_timeout_seconds') * 1000;
    try {
      const storage = (await this.#opener.open(names[0], 'storage')).storage?.();
      const permission = (await this.#opener.open(names[1], 'permission')).permission?.();
      if (storage === undefined || permission === undefined) return;
      const { faults, doubtful, objects, isComplete } = await findUnknownPrincipals({
        ...describePrincipals(this.#settings),
        storage: storage.reader,
        permission: permission.reader,
        maxObjects,
        isOver: () => performance.now() > endsAt,
      });
      for (const fault of faults) this.#report({ kind: 'warning', text: `permissions: ${fault}` });
      const further = doubtful - faults.length;
      if (further > 0) this.#report({ kind: 'warning', text: `permissions: ${further} more principals name nothing` });
      const extent = `${objects} objects and users checked${isComplete ? '' : ', not all: see --max-objects'}`;
      const result = doubtful === 0 ? 'all principals name something' : 'not all principals name something';
      this.#report({ kind: 'ok', text: `permissions: ${result} (${extent})` });
    } catch (error) {
      this.#report({ kind: 'problem', text: `permissions: ${describeFailure(error)}` });
    }
  }

  /** Checks the tables or the file of the security state. */
  async #checkSecurityState(): Promise<void> {
    const isInStorage = this.#settings.get('security_state_backend') === 'storage';
    const name = isInStorage ? (this.#settings.get('storage_backend') ?? 'memory') : 'memory';
    const backend = isInStorage ? findBackend(this.#settings, builtInBackends, 'storage') : undefined;
    const file = backend?.readPlace(this.#settings, 'storage').securityStateFile;
    if (file !== undefined && !existsSync(file)) {
      this.#report({ kind: 'ok', text: `security state: ${name}, the start will create ${file}` });
      return;
    }
    await this.#checkStore(`security state: ${name}`, () => this.#opener.openSecurityState());
  }
}

/**
 * Replaces the stored fingerprints by those of the current secrets.
 *
 * @throws Error when the storage cannot be used
 */
export async function acceptSecrets(settings: Settings): Promise<void> {
  await withBackends(settings, ({ storage }) =>
    keepFingerprints(storage, fingerprintsOf(settings), { replaces: true }),
  );
}

/** Returns the message of an error with that of the driver, which has details for operators only. */
function describeFailure(error: unknown): string {
  const message = messageOf(error);
  const { cause } = error instanceof Error ? error : { cause: undefined };
  if (!(cause instanceof Error)) return message;
  const detail = cause.message || cause.name;
  return message.includes(detail) ? message : `${message} (${detail})`;
}

/** Describes a file that does not exist yet. Opening the backend would create it. */
function describeMissing(kind: string, name: string, file: string): Finding {
  let folder = dirname(file);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return { kind: 'ok', text: `${kind}: ${name}, the start will create ${file}`, isReady: false };
  } catch {
    return { kind: 'problem', text: `${kind}: ${name} cannot create ${file}: the folder ${folder} cannot be written` };
  }
}
