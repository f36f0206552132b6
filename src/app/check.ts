// Looks at everything that a start needs without starting: settings, plugins, backends, pending migrations, and what is
// risky. Changes nothing; goes on after the first problem, so that all are told at once.
import { accessSync, constants, existsSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { setTimeout as wait } from 'node:timers/promises';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../contracts/logger.ts';
import { noPermissionBackend } from '../engine/no-permission-backend.ts';
import { describeProblem, type Problem } from '../settings/problems.ts';
import { findSqliteFile } from '../settings/sqlite-file.ts';
import type { Settings } from '../settings/settings.ts';
import { BackendOpener, openMemory, openMemoryCache, openMemorySecurityState, type OpenBackends } from './backends.ts';
import { describeExposedFiles } from './data-files.ts';
import { Faults } from './faults.ts';
import { withBackends } from './maintenance.ts';
import { messageOf } from './modules.ts';
import { Observation } from './observation.ts';
import { Observers } from './observers.ts';
import { gatherPlugins } from './plugins.ts';
import { findRisks } from './risks.ts';
import { assemble, familiesOf, tablesOf } from './service.ts';
import { describeOtherSecrets, fingerprintsOf, keepFingerprints, readFingerprints } from './secret-fingerprints.ts';
import { findTracing } from './tracing/environment.ts';
import { describePrincipals, findUnknownPrincipals } from './unknown-principals.ts';

export interface Finding {
  /** `pending`: a migration that has to be run first. */
  readonly kind: 'ok' | 'warning' | 'pending' | 'problem';
  readonly text: string;
  /** `false`: a backend that the start has to prepare before anything can be read from it. */
  readonly isReady?: boolean;
}

export interface CheckOptions {
  /** Objects whose permissions are looked at for principals that name nothing, and users in groups; 0: none. */
  readonly maxObjects: number;
  /** Problems of the settings, which are told already; backends that one of them is about are not looked at. */
  readonly problems: readonly Problem[];
}

/** Tells what it finds, as it finds it. */
export async function checkService(
  settings: Settings,
  tell: (finding: Finding) => void,
  options: CheckOptions,
): Promise<void> {
  const exposed = await describeExposedFiles(settings);
  for (const text of [...settings.warnings, ...findRisks(settings), ...exposed]) tell({ kind: 'warning', text });
  checkTracing(tell);
  await checkAssembly(settings, tell);
  if (!options.problems.some(isAboutBackends)) await checkBackends(settings, tell, options);
}

function isAboutBackends({ name = '' }: Problem): boolean {
  return /^(?:(?:svc|kinto)[._])?(?:storage|permission|cache|sqlite|postgresql|redis|security_state)_/i.test(name);
}

/**
 * Returns what keeps the service from being put together, beyond the problems of the core's settings: plugins, their
 * settings, policies, listeners. Backends are not looked at.
 */
export async function findAssemblyProblems(settings: Settings): Promise<readonly Problem[]> {
  const ignore = (): void => undefined;
  return (await tryAssembly(settings, { debug: ignore, info: ignore, warn: ignore, error: ignore })).problems;
}

function checkTracing(tell: (finding: Finding) => void): void {
  const wish = findTracing(process.env);
  if (typeof wish === 'object') tell({ kind: 'warning', text: `There would be no traces: ${wish.unusable}.` });
  else if (wish === 'on') tell({ kind: 'ok', text: 'traces: sent, as OTEL_… in the environment says' });
}

/** Reports what is wrong with plugins, policies and listeners. */
async function checkAssembly(settings: Settings, tell: (finding: Finding) => void): Promise<void> {
  const { problems, names } = await tryAssembly(settings, tellingLogger(tell));
  for (const problem of problems) tell({ kind: 'problem', text: describeProblem(problem) });
  if (problems.length === 0) tell({ kind: 'ok', text: `plugins: ${names.length === 0 ? 'none' : names.join(', ')}` });
}

interface Trial {
  readonly problems: readonly Problem[];
  /** Names of the plugins. */
  readonly names: readonly string[];
}

/** Puts the service together on backends in memory, and takes it apart. */
async function tryAssembly(settings: Settings, logger: Logger): Promise<Trial> {
  const faults = new Faults();
  const plugins = await gatherPlugins(settings, [], faults);
  faults.attempt(() => settings.check(tablesOf(plugins), familiesOf(plugins)));
  // What is thrown repeats the faults, or is one that came after them.
  await faults.attemptAsync(async () => {
    const observation = new Observation(new Observers(logger), undefined, false);
    const backends = await inMemory(settings);
    const service = await assemble({ settings, logger, clock: systemClock, faults }, plugins, backends, observation);
    await service.close();
  });
  return { problems: faults.problems, names: plugins.map(({ name }) => name) };
}

async function inMemory(settings: Settings): Promise<OpenBackends> {
  const { database, storage, permission } = await openMemory(systemClock);
  const hasPermissions = settings.get('permission_backend') !== undefined;
  return {
    storage: storage(),
    permission: hasPermissions ? permission() : noPermissionBackend(database),
    cache: await openMemoryCache(settings, systemClock),
    securityState: await openMemorySecurityState(settings, systemClock),
    databases: [database],
    hasPermissions,
    close: () => database.close(),
  };
}

/** What a plugin warns of at start is worth knowing before. */
function tellingLogger(tell: (finding: Finding) => void): Logger {
  const ignore = (): void => undefined;
  const say =
    (kind: 'warning' | 'problem') =>
    (fields: object | string, message?: string): void =>
      tell({ kind, text: typeof fields === 'string' ? fields : (message ?? '') });
  return { debug: ignore, info: ignore, warn: say('warning'), error: say('problem') };
}

/** A database or a cache, as far as it is looked at. */
interface Store {
  readonly needsMigration?: boolean;
  initializeSchema(options: { readonly dryRun: boolean }): Promise<readonly string[]>;
  checkIntegrity?(): Promise<readonly string[]>;
  close(): Promise<void>;
}

async function checkBackends(
  settings: Settings,
  report: (finding: Finding) => void,
  options: CheckOptions,
): Promise<void> {
  const opener = new BackendOpener(settings, systemClock);
  const stores = new Map<Store, boolean>();
  const obstacles: Finding[] = [];
  const tell = (finding: Finding): void => {
    // Backends with a warning can still be read.
    const isReady = finding.kind === 'warning' || (finding.kind === 'ok' && finding.isReady !== false);
    if (!isReady) obstacles.push(finding);
    report(finding);
  };
  for (const kind of ['storage', 'permission', 'cache'] as const) {
    const name = settings.get(`${kind}_backend`);
    if (name === undefined) {
      const isNeeded = kind === 'storage';
      const text = isNeeded ? 'storage_backend is empty: the service needs one.' : `${kind}: none`;
      tell({ kind: isNeeded ? 'problem' : 'ok', text });
      continue;
    }
    const missing = name === 'sqlite' ? findMissingFile(settings, kind) : undefined;
    if (missing !== undefined) {
      tell(describeMissing(kind, missing));
      continue;
    }
    const open = (): Promise<Store> =>
      kind === 'cache' ? opener.openCache(name) : opener.open(name, kind).then(({ database }) => database);
    const isReady = await checkStore(`${kind}: ${name}`, { name, open, stores, settings, tell });
    if (isReady && kind === 'storage') await checkSecrets(opener, { name, settings, tell });
  }
  if (obstacles.length === 0 && options.maxObjects > 0) await checkPrincipals(opener, settings, report, options);
  // Without its database the security state has no place, and that was told.
  if ((await opener.databases()).length > 0) await checkSecurityState(opener, { stores, settings, tell });
  // A server that does not answer does not say goodbye either.
  await Promise.race([
    Promise.allSettled([...stores.keys()].map((store) => store.close())),
    wait(1000, undefined, { ref: false }),
  ]);
}

/** Looks for principals that name nothing, where there is something to look at. */
async function checkPrincipals(
  opener: BackendOpener,
  settings: Settings,
  tell: (finding: Finding) => void,
  { maxObjects }: CheckOptions,
): Promise<void> {
  const names = { storage: settings.get('storage_backend'), permission: settings.get('permission_backend') };
  if (names.storage === undefined || names.permission === undefined || names.permission === 'memory') return;
  const endsAt = performance.now() + settings.get('heartbeat_timeout_seconds') * 1000;
  try {
    const storage = (await opener.open(names.storage, 'storage')).storage?.();
    const permission = (await opener.open(names.permission, 'permission')).permission?.();
    if (storage === undefined || permission === undefined) return;
    const { faults, doubtful, objects, isComplete } = await findUnknownPrincipals({
      ...describePrincipals(settings),
      storage: storage.reader,
      permission: permission.reader,
      maxObjects,
      isOver: () => performance.now() > endsAt,
    });
    for (const fault of faults) tell({ kind: 'warning', text: `permissions: ${fault}` });
    const untold = doubtful - faults.length;
    if (untold > 0) tell({ kind: 'warning', text: `permissions: ${untold} more principals name nothing` });
    const extent = `${objects} objects and users looked at${isComplete ? '' : ', not all: see --max-objects'}`;
    const result = doubtful === 0 ? 'all principals name something' : 'not all principals name something';
    tell({ kind: 'ok', text: `permissions: ${result} (${extent})` });
  } catch (error) {
    tell({ kind: 'problem', text: `permissions: ${describeFailure(error)}` });
  }
}

/** Whether ids of users are still derived as those in the data were. */
async function checkSecrets(
  opener: BackendOpener,
  { name, settings, tell }: Pick<StoreCheck, 'name' | 'settings' | 'tell'>,
): Promise<void> {
  try {
    const { database, storage } = await opener.open(name, 'storage');
    if (storage === undefined || !database.abilities.durable) return;
    const kept = await readFingerprints(storage().reader);
    for (const text of describeOtherSecrets(kept, settings)) tell({ kind: 'warning', text });
  } catch (error) {
    tell({ kind: 'problem', text: `storage: ${name}: ${describeFailure(error)}` });
  }
}

/**
 * Keeps fingerprints of the secrets in force with the data, in place of those that are kept.
 *
 * @throws Error when the storage cannot be used
 */
export async function acceptSecrets(settings: Settings): Promise<void> {
  await withBackends(settings, ({ storage }) =>
    keepFingerprints(storage, fingerprintsOf(settings), { replaces: true }),
  );
}

/** The security state has tables, or a file, of its own. */
async function checkSecurityState(opener: BackendOpener, check: Omit<StoreCheck, 'name' | 'open'>): Promise<void> {
  const { settings, tell } = check;
  const isInStorage = settings.get('security_state_backend') === 'storage';
  const name = isInStorage ? (settings.get('storage_backend') ?? 'memory') : 'memory';
  if (name === 'sqlite') {
    const { companionPath } = await import('../backends/sqlite/companion-file.ts');
    const database = findSqliteFile(settings.get('storage_url'));
    const file = database === undefined ? undefined : companionPath(database, 'security');
    if (file !== undefined && !existsSync(file)) {
      tell({ kind: 'ok', text: `security state: sqlite, the start will make ${file}` });
      return;
    }
  }
  await checkStore(`security state: ${name}`, { ...check, name, open: () => opener.openSecurityState() });
}

interface StoreCheck {
  readonly name: string;
  readonly open: () => Promise<Store>;
  /** Stores that were looked at already, because backends share them, and whether they answered. */
  readonly stores: Map<Store, boolean>;
  readonly settings: Settings;
  readonly tell: (finding: Finding) => void;
}

/** Looks at a store and reports what it finds; returns whether the store can be used as it is. */
async function checkStore(what: string, { open, stores, settings, tell }: StoreCheck): Promise<boolean> {
  const seconds = settings.get('heartbeat_timeout_seconds');
  const startedAt = performance.now();
  const look = async (): Promise<readonly [isReady: boolean, findings: readonly Finding[]]> => {
    const store = await open();
    const hasAnswered = stores.get(store);
    if (hasAnswered !== undefined) {
      return [hasAnswered, [{ kind: hasAnswered ? 'ok' : 'problem', text: `${what}, as above` }]];
    }
    stores.set(store, false);
    const lines = await store.initializeSchema({ dryRun: true });
    stores.set(store, true);
    const answered: Finding = { kind: 'ok', text: `${what} answers (${Math.ceil(performance.now() - startedAt)} ms)` };
    const isPending = store.needsMigration === true;
    const faults = (await store.checkIntegrity?.()) ?? [];
    const findings = [
      answered,
      ...faults.map((fault): Finding => ({ kind: 'problem', text: `${what} is damaged: ${fault}` })),
      ...lines.map((line): Finding =>
        isPending
          ? { kind: 'pending', text: `${what}: ${line}` }
          : { kind: 'ok', text: `${what}: the start will ${line}`, isReady: false },
      ),
    ];
    return [lines.length === 0 && faults.length === 0, findings];
  };
  const tooLate = wait(seconds * 1000, 'late' as const, { ref: false });
  try {
    const found = await Promise.race([look(), tooLate]);
    if (found === 'late') {
      tell({ kind: 'problem', text: `${what}: no answer within ${seconds} seconds` });
      return false;
    }
    const [isReady, findings] = found;
    for (const finding of findings) tell(finding);
    return isReady;
  } catch (error) {
    tell({ kind: 'problem', text: `${what}: ${describeFailure(error)}` });
    return false;
  }
}

/** With what the driver says, which tells an operator more than what clients are told. */
function describeFailure(error: unknown): string {
  const { cause } = error instanceof Error ? error : { cause: undefined };
  return cause instanceof Error ? `${messageOf(error)} (${cause.message || cause.name})` : messageOf(error);
}

/** The file that a SQLite backend would make: looking at it would make it. */
function findMissingFile(settings: Settings, kind: 'storage' | 'permission' | 'cache'): string | undefined {
  const file = findSqliteFile(settings.get(`${kind}_url`));
  return file === undefined || existsSync(file) ? undefined : file;
}

function describeMissing(kind: string, file: string): Finding {
  let folder = dirname(file);
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
  try {
    accessSync(folder, constants.W_OK | constants.X_OK);
    return { kind: 'ok', text: `${kind}: sqlite, the start will make ${file}`, isReady: false };
  } catch {
    return { kind: 'problem', text: `${kind}: sqlite cannot make ${file}: the folder ${folder} cannot be written` };
  }
}
