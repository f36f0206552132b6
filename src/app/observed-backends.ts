// Wraps backends once, when the service is put together, so that every call to them is observed. Without observers
// nothing is wrapped, and nothing is paid.
import type { CacheBackend } from '../contracts/cache.ts';
import type { BeginOptions, Database, Transaction } from '../contracts/database.ts';
import type { Observer, OperationObservation } from '../contracts/observer.ts';
import type { PermissionBackend, PermissionReader, PermissionWriter } from '../contracts/permission.ts';
import type { SecurityState } from '../contracts/security-state.ts';
import type { StorageBackend, StorageReader, StorageWriter } from '../contracts/storage.ts';
import type { ListKey } from '../core/objects/stored.ts';
import { noPermissionBackend } from '../engine/no-permission-backend.ts';
import type { OpenBackends } from './backends.ts';
import { withMethods } from './with-methods.ts';

/** The same backends, observed. Databases that were shared are shared still. */
export function observeBackends(backends: OpenBackends, observer: Observer): OpenBackends {
  const storageDatabase = backends.storage.database;
  const database = observeDatabase(storageDatabase, new Watch(observer, 'storage', storageDatabase.name));
  return {
    ...backends,
    storage: observeStorage(backends.storage, database, observer),
    permission: observePermission(backends, database, observer),
    cache: observeCache(backends.cache, new Watch(observer, 'cache', backends.cache.name)),
    securityState: observeSecurityState(
      backends.securityState,
      new Watch(observer, 'storage', backends.securityState.name),
    ),
  };
}

class Watch {
  readonly observer: Observer;
  readonly #backend: OperationObservation['backend'];
  readonly #engine: string;

  constructor(observer: Observer, backend: OperationObservation['backend'], engine: string) {
    this.observer = observer;
    this.#backend = backend;
    this.#engine = engine;
  }

  /** Calls at once, since calls take effect in their order, and hands on the very promise that the backend returns. */
  run<T>(method: string, list: ListKey | undefined, call: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const promise = call();
    const end = (error: unknown): void => {
      const milliseconds = performance.now() - startedAt;
      const [backend, engine] = [this.#backend, this.#engine];
      this.observer.observe({ kind: 'operation', backend, engine, method, list, startedAt, milliseconds, error });
    };
    promise.then(() => end(undefined), end);
    return promise;
  }
}

class ObservedTransaction implements Transaction {
  readonly inner: Transaction;
  readonly #watch: Watch;

  constructor(inner: Transaction, watch: Watch) {
    this.inner = inner;
    this.#watch = watch;
  }

  commit(): Promise<void> {
    return this.#watch.run('commit', undefined, () => this.inner.commit());
  }

  rollback(): Promise<void> {
    return this.#watch.run('rollback', undefined, () => this.inner.rollback());
  }
}

/** What the database itself has opened. */
function unwrap(transaction: Transaction): Transaction {
  return transaction instanceof ObservedTransaction ? transaction.inner : transaction;
}

function observeDatabase(inner: Database, watch: Watch): Database {
  const begin = async (options?: BeginOptions): Promise<Transaction> =>
    new ObservedTransaction(await watch.run('begin', undefined, () => inner.begin(options)), watch);
  if (inner.writeConditionally === undefined) return withMethods(inner, { begin });
  return withMethods(inner, {
    begin,
    writeConditionally: (write) => watch.run('write_conditionally', write.list, () => inner.writeConditionally!(write)),
  });
}

function observeStorage(inner: StorageBackend, database: Database, observer: Observer): StorageBackend {
  const watch = new Watch(observer, 'storage', inner.database.name);
  return {
    database,
    reader: observeStorageReader(inner.reader, watch),
    writer: (transaction) => observeStorageWriter(inner.writer(unwrap(transaction)), watch),
  };
}

function observePermission(backends: OpenBackends, ofStorage: Database, observer: Observer): PermissionBackend {
  if (!backends.hasPermissions) return noPermissionBackend(ofStorage);
  const { permission: inner, storage } = backends;
  const watch = new Watch(observer, 'permission', inner.database.name);
  return {
    database: inner.database === storage.database ? ofStorage : observeDatabase(inner.database, watch),
    reader: observePermissionReader(inner.reader, watch),
    writer: (transaction) => observePermissionWriter(inner.writer(unwrap(transaction)), watch),
  };
}

function observeCache(inner: CacheBackend, watch: Watch): CacheBackend {
  const run = <T>(method: string, call: () => Promise<T>): Promise<T> => watch.run(method, undefined, call);
  const calls: CacheCalls = {
    get(key) {
      const lookUp = run('get', () => inner.get(key));
      // One that failed has found out nothing.
      lookUp.then((value) => watch.observer.observe({ kind: 'lookup', isHit: value !== undefined }), ignore);
      return lookUp;
    },
    set: (...args) => run('set', () => inner.set(...args)),
    delete: (...args) => run('delete', () => inner.delete(...args)),
    increment: (...args) => run('increment', () => inner.increment(...args)),
    advance: (...args) => run('advance', () => inner.advance(...args)),
    ttl: (...args) => run('ttl', () => inner.ttl(...args)),
    expire: (...args) => run('expire', () => inner.expire(...args)),
    flush: (...args) => run('flush', () => inner.flush(...args)),
  };
  return withMethods(inner, calls);
}

type CacheCalls = Pick<CacheBackend, 'get' | 'set' | 'delete' | 'increment' | 'advance' | 'ttl' | 'expire' | 'flush'>;

type SecurityCalls = Omit<SecurityState, 'name' | 'needsMigration' | 'initializeSchema' | 'close'>;

function observeSecurityState(inner: SecurityState, watch: Watch): SecurityState {
  const run = <T>(method: string, call: () => Promise<T>): Promise<T> =>
    watch.run(`security_${method}`, undefined, call);
  const calls: SecurityCalls = {
    increment: (...args) => run('increment', () => inner.increment(...args)),
    decrement: (...args) => run('decrement', () => inner.decrement(...args)),
    put: (...args) => run('put', () => inner.put(...args)),
    add: (...args) => run('add', () => inner.add(...args)),
    get: (...args) => run('get', () => inner.get(...args)),
    take: (...args) => run('take', () => inner.take(...args)),
    restore: (...args) => run('restore', () => inner.restore(...args)),
    remove: (...args) => run('remove', () => inner.remove(...args)),
    flush: () => run('flush', () => inner.flush()),
  };
  return withMethods(inner, calls);
}

function ignore(): void {
  // Whoever asked is told.
}

/** Every method of an interface, with the name that metrics know it by. */
type Methods<T> = { readonly [K in keyof T]-?: string };

type Call = (this: object, ...args: unknown[]) => Promise<unknown>;

/** Gives an object the methods of the target, each observed. */
type Observe<T> = (target: T, watch: Watch) => T;

/**
 * Prepares objects that have these methods, each observed. That an interface has no others is what `Methods` checks. The
 * methods are made once: each transaction has a writer of its own.
 */
function observing<T extends object>(methods: Methods<T>): Observe<T> {
  class Observed {
    readonly target: T;
    readonly watch: Watch;

    constructor(target: T, watch: Watch) {
      this.target = target;
      this.watch = watch;
    }
  }
  for (const [key, name] of Object.entries<string>(methods)) {
    const call = function (this: Observed, ...args: unknown[]): Promise<unknown> {
      const method = this.target[key as keyof T] as Call;
      return this.watch.run(name, listOf(args[0]), () => method.apply(this.target, args));
    };
    Object.defineProperty(Observed.prototype, key, { value: call, enumerable: true });
  }
  return (target, watch) => new Observed(target, watch) as unknown as T;
}

/** Calls that are about a list begin with it. */
function listOf(argument: unknown): ListKey | undefined {
  return typeof argument === 'object' && argument !== null && 'kind' in argument && 'parent' in argument
    ? (argument as ListKey)
    : undefined;
}

const storageReads: Methods<StorageReader> = {
  get: 'get',
  listAll: 'list_all',
  listText: 'list_text',
  countAll: 'count_all',
  countKinds: 'count_kinds',
  resourceTimestamp: 'resource_timestamp',
  allResourceTimestamps: 'all_resource_timestamps',
  listParents: 'list_parents',
  lists: 'lists',
};

const storageWrites: Methods<StorageWriter> = {
  ...storageReads,
  lock: 'lock',
  lockShared: 'lock_shared',
  touch: 'touch',
  create: 'create',
  createAll: 'create_all',
  update: 'update',
  delete: 'delete',
  deleteAll: 'delete_all',
  deleteChildren: 'delete_children',
  purgeDeleted: 'purge_deleted',
  trimObjects: 'trim_objects',
  restore: 'restore',
  flush: 'flush',
};

const permissionReads: Methods<PermissionReader> = {
  getUserPrincipals: 'get_user_principals',
  getObjectPermissionPrincipals: 'get_object_permission_principals',
  getAuthorizedPrincipals: 'get_authorized_principals',
  checkPermission: 'check_permission',
  getAccessibleObjects: 'get_accessible_objects',
  getObjectPermissions: 'get_object_permissions',
  getObjectsPermissions: 'get_objects_permissions',
  entries: 'entries',
  memberships: 'memberships',
};

const permissionWrites: Methods<PermissionWriter> = {
  ...permissionReads,
  addUserPrincipal: 'add_user_principal',
  removeUserPrincipal: 'remove_user_principal',
  removePrincipal: 'remove_principal',
  removePrincipalsBelow: 'remove_principals_below',
  addPrincipalToAce: 'add_principal_to_ace',
  addToAces: 'add_to_aces',
  removePrincipalFromAce: 'remove_principal_from_ace',
  removePrincipalFromAces: 'remove_principal_from_aces',
  replaceObjectPermissions: 'replace_object_permissions',
  deleteObjectPermissions: 'delete_object_permissions',
  deletePermissionsBelow: 'delete_permissions_below',
  flush: 'flush',
};

const observeStorageReader = observing<StorageReader>(storageReads);
const observeStorageWriter = observing<StorageWriter>(storageWrites);
const observePermissionReader = observing<PermissionReader>(permissionReads);
const observePermissionWriter = observing<PermissionWriter>(permissionWrites);
