// What a plugin is: a module that declares what it adds. Built-in features beyond the core hierarchy use the same
// interface as anybody else's.
import type { Clock } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import type { PolicyFactory } from '../contracts/authentication.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Mailer } from '../contracts/mailer.ts';
import type { Caller } from '../engine/caller.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import type { ResourceKind } from '../engine/kind.ts';
import type { ResourceAction } from '../engine/resource-action.ts';
import type { Stores } from '../engine/session.ts';
import type { Settings } from '../settings/settings.ts';
import type { Alias } from './alias.ts';
import type { HealthCheck } from './views/heartbeat.ts';
import type { Capability } from './views/root.ts';

/** What a plugin sees of the service it becomes part of. */
export interface PluginHost {
  readonly settings: Settings;
  readonly stores: Stores;
  readonly cache: CacheBackend;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Set up when it is first used. */
  readonly mailer: Mailer;
  /** Link into the documentation of the service, for capabilities. */
  readonly documentationUrl: (topic: string) => string;
}

/** What a plugin adds; everything is optional. */
export interface PluginParts {
  /** Kinds of objects, parents first; they come after the built-in ones. */
  readonly kinds?: readonly ResourceKind[];
  /** What else can be done with objects of a kind. */
  readonly actions?: readonly ResourceAction[];
  readonly endpoints?: readonly Endpoint[];
  readonly aliases?: readonly Alias[];
  /** Features shown in the root view, by key; a key that another plugin has taken is an error at start. */
  readonly capabilities?: Readonly<Record<string, Capability>>;
  /** Added to `user` in the root view. */
  readonly userInfo?: (caller: Caller) => JsonObject;
  /** Implementations for `multiauth.policy.<name>.use`, by name. */
  readonly policies?: Readonly<Record<string, PolicyFactory>>;
  /** Added to the heartbeat, by name. */
  readonly healthChecks?: Readonly<Record<string, HealthCheck>>;
}

export interface Plugin {
  /** By which `includes` asks for it. */
  readonly name: string;
  /** Called once, before the service listens. An error keeps the service from starting. */
  readonly setup: (host: PluginHost) => PluginParts;
}

/** Declares a plugin; the call gives editors and the compiler something to hold on to. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
