// Creates subscribers from the listeners in `event_listeners`.
import { messageOf } from '../base/message-of.ts';
import { actions as knownActions, type Action } from '../core/events/payload.ts';
import type { Listener, ListenerContext, ListenerFactory } from '../engine/events/listener.ts';
import type { Subscriber } from '../engine/events/subscriber.ts';
import type { PluginHost, PluginParts } from '../http/plugin.ts';
import { list } from '../settings/readers.ts';
import type { Settings } from '../settings/settings.ts';
import { isWebhook, webhookListener, type Webhook } from '../webhooks/listener.ts';
import type { Faults } from './faults.ts';
import { isModulePath, loadModule } from '../loader/modules.ts';
import { redisListener } from '../backends/redis-listener.ts';

export interface ConfiguredListeners {
  readonly webhooks: readonly Webhook[];
  readonly subscribers: readonly Subscriber[];
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
}

/** Built-in listeners, by the last segment of `use`. */
const builtIn: Readonly<Record<string, ListenerFactory>> = {
  redis: redisListener,
  webhook: webhookListener,
};

/**
 * Creates the configured listeners, in their order. Failures are collected as faults, and those listeners are left out.
 *
 * @param kinds all kinds by name, to check filters against; `undefined` while they are not known
 */
export async function createListeners(
  host: PluginHost,
  parts: readonly PluginParts[],
  kinds: ReadonlyMap<string, unknown> | undefined,
  faults: Faults,
): Promise<ConfiguredListeners> {
  const { settings } = host;
  const listeners: (readonly [name: string, listener: Listener])[] = [];
  const subscribers: Subscriber[] = [];
  const webhooks: Webhook[] = [];
  const names = new Set<string>();
  for (const alias of settings.lookupList('event_listeners') ?? []) {
    const name = nameOf(alias);
    const prefix = `event_listeners.${name}`;
    if (names.has(name)) {
      faults.add(new Error(`event_listeners names two listeners ${name}.`));
      continue;
    }
    names.add(name);
    try {
      const factory = await findFactory(findUse(settings, prefix, alias), parts);
      const listener = await factory(contextOf(host, name, prefix));
      listeners.push([name, listener]);
      if (isWebhook(listener)) webhooks.push(listener.webhook);
      subscribers.push(...subscribersOf(name, listener, filtersOf(settings, prefix, kinds)));
    } catch (error) {
      faults.add(new Error(`The event listener ${name} could not be created: ${messageOf(error)}`, { cause: error }));
    }
  }
  return {
    webhooks,
    subscribers,
    async start() {
      for (const [name, listener] of listeners) {
        try {
          await listener.start?.();
        } catch (error) {
          throw new Error(`The event listener ${name} could not be started: ${messageOf(error)}`, { cause: error });
        }
      }
    },
    async stop() {
      for (const [name, listener] of listeners.toReversed()) {
        try {
          await listener.stop?.();
        } catch (error) {
          host.logger.error({ err: error, listener: name }, 'An event listener could not be stopped');
        }
      }
    },
  };
}

/** Returns the names of the configured listeners. */
export function listenerNames(settings: Settings): readonly string[] {
  return (settings.lookupList('event_listeners') ?? []).map(nameOf);
}

/** Returns the last segment of an alias that is a module: of a path without its ending, of a dotted path, of a package. */
function nameOf(alias: string): string {
  const isPath = isModulePath(alias) || alias.startsWith('@');
  const text = isPath ? alias.slice(alias.lastIndexOf('/') + 1).replace(/\.[cm]?[jt]s$/, '') : alias;
  return text.slice(text.lastIndexOf('.') + 1);
}

function findUse(settings: Settings, prefix: string, alias: string): string {
  const use = settings.lookup(`${prefix}.use`) || (/^\w+$/.test(alias) ? '' : alias);
  if (use === '') {
    throw new Error(`${prefix}.use is not set; built in are ${Object.keys(builtIn).join(', ')}.`);
  }
  return use;
}

function contextOf(host: PluginHost, name: string, prefix: string): ListenerContext {
  const { stores, objects, clock, logger, settings } = host;
  const parameter = (key: string): string | undefined => settings.lookup(`${prefix}.${key}`);
  const isReadonly = settings.get('readonly');
  return { name, parameter, stores, objects, clock, logger, isReadonly };
}

async function findFactory(use: string, parts: readonly PluginParts[]): Promise<ListenerFactory> {
  for (const { listeners } of parts)
    if (listeners !== undefined && Object.hasOwn(listeners, use)) return listeners[use]!;
  // Existing deployments also use `kinto_redis.listeners`.
  const name =
    /^(?:(?:svc|kinto\.core)\.listeners\.)?(\w+)$/.exec(use)?.[1] ?? (use === 'kinto_redis.listeners' ? 'redis' : '');
  if (Object.hasOwn(builtIn, name)) return builtIn[name]!;
  const module = await loadModule(use);
  for (const candidate of [module['default'], module['createListener']]) if (isFactory(candidate)) return candidate;
  throw new Error(`the module ${use} exports no function createListener.`);
}

function isFactory(value: unknown): value is ListenerFactory {
  return typeof value === 'function';
}

interface ListenerFilters {
  readonly actions: readonly Action[];
  readonly kinds?: readonly string[];
  /** Names of events of plugins. */
  readonly events: readonly string[];
  /** Value of the setting; `undefined`: the listener decides. */
  readonly isSync: boolean | undefined;
}

function filtersOf(
  settings: Settings,
  prefix: string,
  kinds: ReadonlyMap<string, unknown> | undefined,
): ListenerFilters {
  const actions = settings.lookupWith(list(), `${prefix}.actions`) ?? ['create', 'update', 'delete'];
  const wrong = actions.find((action) => !knownActions.some((known) => known === action));
  if (wrong !== undefined) {
    throw new Error(`${prefix}.actions names ${wrong}; accepted are ${knownActions.join(', ')}.`);
  }
  const resources = settings.lookupWith(list(), `${prefix}.resources`) ?? [];
  const unknown = kinds === undefined ? undefined : resources.find((kind) => !kinds.has(kind));
  if (kinds !== undefined && unknown !== undefined)
    throw new Error(`${prefix}.resources names ${unknown}; accepted are ${[...kinds.keys()].join(', ')}.`);
  return {
    actions: knownActions.filter((action) => actions.includes(action)),
    ...(resources.length === 0 ? {} : { kinds: resources }),
    events: settings.lookupList(`${prefix}.events`) ?? [],
    isSync: settings.lookupFlag(`${prefix}.sync`),
  };
}

function subscribersOf(
  name: string,
  { handle, handleNamed, isSync: isPreferred = true }: Listener,
  { actions, kinds, events, isSync = isPreferred }: ListenerFilters,
): readonly Subscriber[] {
  const filters = { name, actions, ...(kinds === undefined ? {} : { kinds }) };
  const changed: Subscriber = isSync
    ? { ...filters, on: 'ResourceChanged', handle }
    : { ...filters, on: 'AfterResourceChanged', handle: (event) => handle(event) };
  const read: Subscriber = isSync
    ? { ...filters, on: 'ResourceRead', handle }
    : { ...filters, on: 'AfterResourceRead', handle: (event) => handle(event) };
  if (events.length === 0) return [changed, read];
  if (handleNamed === undefined)
    throw new Error(`it does not handle ${events.join(', ')}: it handles changes and reads only.`);
  const named: Subscriber = isSync
    ? { name, events, on: 'NamedEvent', handle: handleNamed }
    : { name, events, on: 'AfterNamedEvent', handle: (event) => handleNamed(event) };
  return [changed, read, named];
}
