// The interface of plugins, both built-in and external. See docs/guides/writing-a-plugin.md.
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
import type { ListKey } from '../core/objects/stored.ts';
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
import type { EffectiveSetting } from '../settings/effective.ts';
import type { SettingsFamily } from '../settings/families.ts';
import type { Settings } from '../settings/settings.ts';
import type { Alias } from './alias.ts';
import type { PrincipalSource } from './identity.ts';
import type { HealthCheck, HealthCheckOptions } from './views/heartbeat.ts';
import type { Capability, CurrentCapability } from './views/root.ts';

/** The part of the service that a plugin can use. */
export interface PluginHost {
  readonly settings: Settings;
  readonly stores: Stores;
  /** Cache, whose values may be evicted at any time. */
  readonly cache: CacheBackend;
  /** Store of counters and one-time codes, which must not be lost. */
  readonly securityState: SecurityState;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Created at the first use. */
  readonly mailer: Mailer;
  /** Objects of all kinds, for reads and writes by the plugin itself. Usable after the start of the service. */
  readonly objects: Objects;
  /** Opens a store of files; the plugin closes it in `stop`. */
  readonly openBlobStore: (place: BlobPlace) => Promise<BlobStore>;
  /** Limits and keys of lists and pages. */
  readonly engine: EngineOptions;
  /** Prefix of all paths: `/v1`, or `/api/v1` with a path prefix. */
  readonly versionPrefix: string;
  /** Returns a URL in the documentation of the service, for capabilities. */
  readonly documentationUrl: (topic: string) => string;
}

/**
 * Creates an authorization policy.
 *
 * @throws Error on failure; the service then does not start
 */
export type AuthorizationFactory = (host: PluginHost) => AuthorizationPolicy | Promise<AuthorizationPolicy>;

/** Endpoints without a check of access, by the name of their area. */
export type OperatorAreas = Readonly<Record<string, readonly Endpoint[]>>;

/** The assembled service, as the plugin `operations` reports on it. */
export interface OperatedService {
  /** The areas of all parts of the service. */
  readonly areas: OperatorAreas;
  /** Runs the checks of the heartbeat; returns by name whether the part is healthy. */
  readonly checkHealth: (options: HealthCheckOptions) => Promise<Readonly<Record<string, boolean>>>;
  readonly listSettings: () => readonly EffectiveSetting[];
}

/** Parts of a plugin, all optional. */
export interface PluginParts {
  /** Kinds of objects, parents first; they follow the built-in ones. */
  readonly kinds?: readonly ResourceKind[];
  /** Further actions on objects of a kind. */
  readonly actions?: readonly ResourceAction[];
  /** Permissions for kinds of other declarations. */
  readonly permissions?: readonly AddedPermission[];
  /** Id generators by name, for settings such as `record_id_generator`. */
  readonly idGenerators?: Readonly<Record<string, IdGenerator>>;
  readonly endpoints?: readonly Endpoint[];
  readonly aliases?: readonly Alias[];
  /**
   * Capabilities in the root view by key. A key that another plugin uses is an error at the start. A function is called for
   * each view and may return `undefined`.
   */
  readonly capabilities?: Readonly<Record<string, Capability | CurrentCapability>>;
  /** Returns members for `user` in the root view. The groups of the caller are known. */
  readonly userInfo?: (caller: Caller) => JsonObject;
  /** Authentication policies by name, for `multiauth.policy.<name>.use`. */
  readonly policies?: Readonly<Record<string, PolicyFactory>>;
  readonly principals?: PrincipalSource;
  /** Authorization policies by name, for `multiauth.authorization_policy`. */
  readonly authorizations?: Readonly<Record<string, AuthorizationFactory>>;
  /**
   * Returns whether the changes of a list become visible in the order of their timestamps, together with those of all other such
   * lists, for clients that follow them as one. Such writes wait for each other.
   */
  readonly ordersTimestampsOf?: (list: ListKey) => boolean;
  /** Subscribers to changes and reads. */
  readonly subscribers?: readonly Subscriber[];
  /** Event listeners by name, for `event_listeners.<name>.use`. */
  readonly listeners?: Readonly<Record<string, ListenerFactory>>;
  /** Receives all observations. Calls to backends are measured only when `observes` of the plugin is true. */
  readonly observer?: Observer;
  /**
   * Path below the version prefix, such as `/admin/`, to which the root of the site redirects browsers. The first plugin with
   * one wins.
   */
  readonly frontPage?: string;
  /**
   * Endpoints for operators below `/operations`, by the name of their area. The plugin `operations` serves them with a check
   * of access; without it they do not exist.
   */
  readonly operatorAreas?: OperatorAreas;
  /** Returns the endpoints of all areas, its own included, with a check of access. Called once, when all parts exist. */
  readonly openAreas?: (service: OperatedService) => readonly Endpoint[];
  /** Whether to enable `GET /permissions`. */
  readonly showsPermissions?: boolean;
  /** Checks of the heartbeat by name. */
  readonly healthChecks?: Readonly<Record<string, HealthCheck>>;
  /** Called before the service listens, when all parts exist. An error prevents the start. */
  readonly start?: () => void | Promise<void>;
  /** Called after the last request, before the backends are closed. */
  readonly stop?: () => void | Promise<void>;
}

export interface Plugin {
  /** Name in messages, and of a built-in plugin in `includes`. */
  readonly name: string;
  /** Settings of the plugin. */
  readonly settings?: SettingsTable;
  /** Settings with names that contain ids. */
  readonly families?: readonly SettingsFamily[];
  /** Names of its kinds, for messages about their settings while the plugin is not included. */
  readonly kindNames?: readonly string[];
  /** Whether its observer needs calls to backends, which are then measured. */
  readonly observes?: boolean;
  /** Called once, before the service listens. An error prevents the start. */
  readonly setup: (host: PluginHost) => PluginParts | Promise<PluginParts>;
}

/** Declares a plugin, with type checks. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
