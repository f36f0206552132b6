// The public API: build a service of your own, and declare plugins for it.
export { createService, type Service, type ServiceOptions } from './app/service.ts';
export { createLogger, type LoggerSettings } from './observability/logger.ts';
export { loadSettings, settingsOf, type LoadOptions } from './backends/load-settings.ts';
export type { Settings } from './settings/settings.ts';
export { setting, type Setting, type SettingsTable, type ValuesOf } from './settings/definition.ts';
export type { SettingsFamily } from './settings/families.ts';
export * as readers from './settings/readers.ts';
export type { Reader as SettingReader, Reading as SettingReading } from './settings/readers.ts';
export {
  definePlugin,
  type AuthorizationFactory,
  type Plugin,
  type PluginHost,
  type PluginParts,
} from './http/plugin.ts';
export type { Alias, AliasedRequest, AliasRequest } from './http/alias.ts';
export type { PrincipalSource } from './http/identity.ts';
export type { HealthCheck } from './http/views/heartbeat.ts';
export type { Capability } from './http/views/root.ts';
export { serveFile, type FileOptions } from './http/static-files.ts';
export type {
  AddedPermission,
  AttributeDeclaration,
  Complain,
  PendingWrite,
  ResourceKind,
  SentAttributes,
} from './engine/kind.ts';
export type { Change, ChangeEvent, FlushEvent, ReadEvent, ResourceEvent } from './engine/events/event.ts';
export type { Actor, ObjectPlace, Objects } from './engine/objects.ts';
export type { EventScope, Subscriber } from './engine/events/subscriber.ts';
export type { Listener, ListenerContext, ListenerFactory } from './engine/events/listener.ts';
export { formatImpact, formatPayload, type Action, type ChangeAction } from './core/events/payload.ts';
export type { Context, PathParameters } from './engine/context.ts';
export {
  forReading,
  plainText,
  type Endpoint,
  type Method,
  type Operation,
  type ParameterRule,
} from './engine/endpoint.ts';
export { jsonResponse, RequestBody, type ServiceRequest, type ServiceResponse } from './engine/exchange.ts';
export type { AccessQuestion, AuthorizationPolicy } from './engine/access.ts';
export type { Caller } from './engine/caller.ts';
export type { Reader, UnitOfWork, Stores, Writer } from './engine/unit-of-work.ts';
export { ServiceError, invalidParameters, type Issue } from './core/errors.ts';
export { entryValue, StoredObject, type ListKey, type StoredEntry, type Tombstone } from './core/objects/stored.ts';
export type { IdGenerator } from './core/objects/ids.ts';
export { storedId, type IdRule, type ObjectId, type PathIds } from './core/objects/object-id.ts';
export {
  listFolder,
  storedParent,
  storedUri,
  uriBelow,
  type ListFolder,
  type ListParent,
  type ObjectUri,
} from './core/objects/uris.ts';
export type { GrantingEntry, PermissionDeclaration } from './core/permissions/inheritance.ts';
export {
  AUTHENTICATED,
  EVERYONE,
  formatUserId,
  storedUserId,
  toPrincipal,
  toPrincipals,
  type Principal,
  type UserId,
} from './core/permissions/principals.ts';
export { ExactNumber, formatJson, parseJson, type JsonObject, type JsonValue } from './base/json.ts';
export type { Clock } from './base/clock.ts';
export type {
  AuthenticationPolicy,
  Credentials,
  Identity,
  PolicyContext,
  PolicyFactory,
} from './contracts/authentication.ts';
export type {
  BackendContext,
  BackendModule,
  BackendParts,
  CacheContext,
  DatabaseContext,
} from './contracts/backend-module.ts';
export type { CacheBackend } from './contracts/cache.ts';
export type { Database, Transaction } from './contracts/database.ts';
export type {
  BoundPattern,
  BoundPermission,
  ObjectPermissions,
  PermissionBackend,
  PermissionReader,
  PermissionWriter,
} from './contracts/permission.ts';
export type { SecurityEntry, SecurityKey, SecurityState, SecurityStateLimits } from './contracts/security-state.ts';
export type {
  Deletion,
  ListClocks,
  LockedState,
  Page,
  StorageBackend,
  StorageReader,
  StorageWriter,
} from './contracts/storage.ts';
export type { ChangeHint, ChangeHints } from './contracts/change-hints.ts';
export {
  BackendError,
  BackendUnavailable,
  IntegrityError,
  ReadonlyError,
  SecurityStateFull,
  TransactionConflict,
  requireStorable,
  UnicityError,
  UnstorableText,
} from './contracts/errors.ts';
export type { Logger } from './contracts/logger.ts';
