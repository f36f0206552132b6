// What a plugin is: a module that declares what it adds. Built-in features beyond the core hierarchy use the same
// interface as anybody else's. See docs/guides/writing-a-plugin.md.
import type { Clock } from '../base/clock.ts';
import type { JsonObject } from '../base/json.ts';
import type { PolicyFactory } from '../contracts/authentication.ts';
import type { BlobPlace, BlobStore } from '../contracts/blobs.ts';
import type { CacheBackend } from '../contracts/cache.ts';
import type { Logger } from '../contracts/logger.ts';
import type { Mailer } from '../contracts/mailer.ts';
import type { Observer } from '../contracts/observer.ts';
import type { SecurityState } from '../contracts/security-state.ts';
import type { IdGenerator } from '../core/objects/ids.ts';
import type { AuthorizationPolicy } from '../engine/access.ts';
import type { Caller } from '../engine/caller.ts';
import type { Endpoint } from '../engine/endpoint.ts';
import type { ListenerFactory } from '../engine/events/listener.ts';
import type { Subscriber } from '../engine/events/subscriber.ts';
import type { AddedPermission, ResourceKind } from '../engine/kind.ts';
import type { Objects } from '../engine/objects.ts';
import type { ResourceAction } from '../engine/resource-endpoints.ts';
import type { EngineOptions } from '../engine/scope.ts';
import type { Stores } from '../engine/unit-of-work.ts';
import type { SettingsTable } from '../settings/definition.ts';
import type { SettingsFamily } from '../settings/families.ts';
import type { Settings } from '../settings/settings.ts';
import type { Alias } from './alias.ts';
import type { PrincipalSource } from './identity.ts';
import type { HealthCheck } from './views/heartbeat.ts';
import type { Capability, CurrentCapability } from './views/root.ts';

/** What a plugin sees of the service it becomes part of. */
export interface PluginHost {
  readonly settings: Settings;
  readonly stores: Stores;
  /** Values that may be lost at any time. */
  readonly cache: CacheBackend;
  /** Counters of failures, one-time codes and the like, which must not get lost. */
  readonly securityState: SecurityState;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Set up when it is first used. */
  readonly mailer: Mailer;
  /** Objects of every kind, for a plugin's own reads and writes. Usable once the service is put together. */
  readonly objects: Objects;
  /** Opens a store of files; the plugin closes it when it stops. */
  readonly openBlobStore: (place: BlobPlace) => Promise<BlobStore>;
  /** Limits and keys that lists and pages are made with. */
  readonly engine: EngineOptions;
  /** Path that all addresses start with, `/v1`, or with a path before it `/api/v1`. */
  readonly versionPrefix: string;
  /** Link into the documentation of the service, for capabilities. */
  readonly documentationUrl: (topic: string) => string;
}

/**
 * Makes an authorization policy.
 *
 * @throws Error when it cannot be made; the service does not start then
 */
export type AuthorizationFactory = (host: PluginHost) => AuthorizationPolicy | Promise<AuthorizationPolicy>;

/** What a plugin adds; everything is optional. */
export interface PluginParts {
  /** Kinds of objects, parents first; they come after the built-in ones. */
  readonly kinds?: readonly ResourceKind[];
  /** What else can be done with objects of a kind. */
  readonly actions?: readonly ResourceAction[];
  /** Permissions added to kinds that are declared elsewhere. */
  readonly permissions?: readonly AddedPermission[];
  /** For settings such as `record_id_generator`, by name. */
  readonly idGenerators?: Readonly<Record<string, IdGenerator>>;
  readonly endpoints?: readonly Endpoint[];
  readonly aliases?: readonly Alias[];
  /**
   * Features shown in the root view, by key; a key that another plugin has taken is an error at start. A function is
   * asked each time, and may have nothing to show.
   */
  readonly capabilities?: Readonly<Record<string, Capability | CurrentCapability>>;
  /** Added to `user` in the root view. */
  readonly userInfo?: (caller: Caller) => JsonObject;
  /** Implementations for `multiauth.policy.<name>.use`, by name. */
  readonly policies?: Readonly<Record<string, PolicyFactory>>;
  readonly principals?: PrincipalSource;
  /** Implementations for `multiauth.authorization_policy`, by name. */
  readonly authorizations?: Readonly<Record<string, AuthorizationFactory>>;
  /** Those who hear of changes and reads. */
  readonly subscribers?: readonly Subscriber[];
  /** Implementations for `event_listeners.<name>.use`, by name. */
  readonly listeners?: Readonly<Record<string, ListenerFactory>>;
  /** Is told of everything that happens. Calls to backends are measured only when the plugin `observes`. */
  readonly observer?: Observer;
  /**
   * Path below the version prefix, such as `/admin/`, to which browsers are redirected from the root of the site. Of several
   * plugins the first counts.
   */
  readonly frontPage?: string;
  /** Switches `GET /permissions` on. */
  readonly showsPermissions?: boolean;
  /** Added to the heartbeat, by name. */
  readonly healthChecks?: Readonly<Record<string, HealthCheck>>;
  /** Called before the service listens, when everything is put together. An error keeps it from starting. */
  readonly start?: () => void | Promise<void>;
  /** Called when nothing is in flight any more, while the backends are still there. */
  readonly stop?: () => void | Promise<void>;
}

export interface Plugin {
  /** By which `includes` asks for it, when it is built in; and what messages call it. */
  readonly name: string;
  /** Settings of its own: read together with all others, listed in messages, known when names are misspelt. */
  readonly settings?: SettingsTable;
  /** Settings whose names hold ids, so that no table can list them. */
  readonly families?: readonly SettingsFamily[];
  /** Whether it brings an observer that wants to know of calls to backends, which are measured then. */
  readonly observes?: boolean;
  /** Called once, before the service listens. An error keeps the service from starting. */
  readonly setup: (host: PluginHost) => PluginParts | Promise<PluginParts>;
}

/** Declares a plugin; the call gives editors and the compiler something to hold on to. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
