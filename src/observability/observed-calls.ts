// Wraps backends, policies and subscribers when the service is assembled, so that observers see each call to them. Without
// such observers nothing is wrapped, and calls have no extra cost.
import { interceptCalls } from '../base/intercept-calls.ts';
import type { AuthenticationPolicy } from '../contracts/authentication.ts';
import type { BeginOptions, Database, ExpectedObjects, Transaction } from '../contracts/database.ts';
import type { Observer, OperationObservation } from '../contracts/observer.ts';
import type { OpenBackends } from '../contracts/open-backends.ts';
import type { PermissionBackend } from '../contracts/permission.ts';
import type { Requester } from '../contracts/requester.ts';
import type { ListKey } from '../core/objects/stored.ts';
import type { Subscriber } from '../engine/events/subscriber.ts';
import { noPermissionBackend } from '../engine/no-permission-backend.ts';

/** Wraps all backends. Backends that share a database still share it. */
export function observeBackends(backends: OpenBackends, observer: Observer): OpenBackends {
  const { storage, cache, securityState } = backends;
  const watch = new Watch(observer, 'storage', storage.database.name);
  const database = observeDatabase(storage.database, watch);
  const cacheWatch = new Watch(observer, 'cache', cache.name);
  const observedCache = observeMethods(cache, cacheWatch, { skips: lifecycle });
  return {
    ...backends,
    storage: observeStores(storage, database, watch),
    permission: observePermission(backends, database, observer),
    cache: withMethods(observedCache, {
      get(key) {
        const lookUp = observedCache.get(key);
        // A failed call does not show whether the key exists. The caller handles its error.
        lookUp.then((value) => observer.observe({ kind: 'lookup', isHit: value !== undefined }), ignore);
        return lookUp;
      },
    }),
    securityState: observeMethods(securityState, new Watch(observer, 'storage', securityState.name), {
      skips: lifecycle,
      prefix: 'security_',
    }),
  };
}

/** Methods that no request calls. */
const lifecycle: readonly PropertyKey[] = ['initializeSchema', 'close'];

function ignore(): void {}

class Watch {
  readonly #observer: Observer;
  readonly #backend: OperationObservation['backend'];
  readonly #engine: string;

  constructor(observer: Observer, backend: OperationObservation['backend'], engine: string) {
    this.#observer = observer;
    this.#backend = backend;
    this.#engine = engine;
  }

  /** Calls at once, because calls take effect in their order, and returns the promise of the backend itself. */
  run<T>(method: string, list: ListKey | undefined, call: () => Promise<T>): Promise<T> {
    const startedAt = performance.now();
    const promise = call();
    const end = (error: unknown): void => {
      const milliseconds = performance.now() - startedAt;
      const [backend, engine] = [this.#backend, this.#engine];
      this.#observer.observe({ kind: 'operation', backend, engine, method, list, startedAt, milliseconds, error });
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

  expect(objects: ExpectedObjects): void {
    this.inner.expect?.(objects);
  }
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

function observePermission(backends: OpenBackends, ofStorage: Database, observer: Observer): PermissionBackend {
  if (!backends.hasPermissions) return noPermissionBackend(ofStorage);
  const { permission: inner, storage } = backends;
  const watch = new Watch(observer, 'permission', inner.database.name);
  const database = inner.database === storage.database ? ofStorage : observeDatabase(inner.database, watch);
  return observeStores(inner, database, watch);
}

interface Stores<R, W> {
  readonly reader: R;
  readonly readerFor?: (requester: Requester) => R;
  readonly writer: (transaction: Transaction) => W;
}

/** Wraps the readers and each writer of storage or permissions. */
function observeStores<R extends object, W extends object>(
  inner: Stores<R, W>,
  database: Database,
  watch: Watch,
): Stores<R, W> & { readonly database: Database } {
  const { readerFor } = inner;
  return {
    database,
    reader: observeMethods(inner.reader, watch),
    ...(readerFor !== undefined && { readerFor: (requester) => observeMethods(readerFor(requester), watch) }),
    // The backend knows the transaction that its own database has opened.
    writer: (transaction) => {
      const own = transaction instanceof ObservedTransaction ? transaction.inner : transaction;
      return observeMethods(inner.writer(own), watch);
    },
  };
}

interface MethodOptions {
  /** Methods that are not observed. */
  readonly skips?: readonly PropertyKey[];
  /** Prefix of method names in observations. */
  readonly prefix?: string;
}

/** Wraps all methods, each of which returns a promise. Observations name `listAll` as `list_all`. */
function observeMethods<T extends object>(target: T, watch: Watch, { skips = [], prefix = '' }: MethodOptions = {}): T {
  return interceptCalls(target, (key, given, call) => {
    if (typeof key === 'symbol' || skips.includes(key)) return call();
    return watch.run(prefix + observedName(key), listOf(given[0]), call as () => Promise<unknown>);
  });
}

const names = new Map<string, string>();

function observedName(key: string): string {
  let name = names.get(key);
  if (name === undefined) {
    name = key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    names.set(key, name);
  }
  return name;
}

/** Returns the list of a call, which is its first argument. */
function listOf(argument: unknown): ListKey | undefined {
  return typeof argument === 'object' && argument !== null && 'kind' in argument && 'parent' in argument
    ? (argument as ListKey)
    : undefined;
}

/** Wraps an authentication policy. */
export function observePolicy(policy: AuthenticationPolicy, observer: Observer): AuthenticationPolicy {
  return withMethods(policy, {
    async authenticate(credentials) {
      const startedAt = performance.now();
      let isRecognised = false;
      try {
        const found = await policy.authenticate(credentials);
        isRecognised = found !== undefined;
        return found;
      } finally {
        const milliseconds = performance.now() - startedAt;
        observer.observe({ kind: 'authentication', policy: policy.name, milliseconds, isRecognised });
      }
    },
  });
}

/** Wraps a subscriber to events. */
export function observeSubscriber(
  subscriber: Subscriber,
  part: 'listeners' | 'plugins',
  observer: Observer,
): Subscriber {
  const { name } = subscriber;
  const handle = subscriber.handle as (...args: readonly unknown[]) => void | Promise<void>;
  const timed = async (...args: readonly unknown[]): Promise<void> => {
    const startedAt = performance.now();
    try {
      await handle.apply(subscriber, [...args]);
    } finally {
      observer.observe({ kind: 'timing', part, name, milliseconds: performance.now() - startedAt });
    }
  };
  return { ...subscriber, handle: timed };
}

/**
 * Returns the target with some of its methods replaced. All other members remain, including those that later versions of
 * its interface add.
 */
function withMethods<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(_, key): unknown {
      if (Object.hasOwn(own, key)) return own[key as keyof T];
      const value: unknown = Reflect.get(target, key, target);
      // Only the target itself has its private fields.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
