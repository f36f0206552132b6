// The public API: build a service of your own, and declare plugins for it.
export { createService, type Service, type ServiceOptions } from './app/service.ts';
export { createLogger, type LoggerSettings } from './app/logger.ts';
export { loadSettings, settingsOf, type LoadOptions } from './settings/load.ts';
export type { Settings } from './settings/settings.ts';
export { definePlugin, type Plugin, type PluginHost, type PluginParts } from './http/plugin.ts';
export type { Alias, AliasedRequest, AliasRequest } from './http/alias.ts';
export type { Capability } from './http/views/root.ts';
export type { Change, Complain, PendingWrite, ResourceKind } from './engine/kind.ts';
export type { Context } from './engine/context.ts';
export type { Endpoint, Method, Operation } from './engine/endpoint.ts';
export { jsonResponse, RequestBody, type ServiceRequest, type ServiceResponse } from './engine/exchange.ts';
export type { Caller } from './engine/caller.ts';
export type { Reader, Session, Stores, Writer } from './engine/session.ts';
export { ServiceError, invalidParameters, type Issue } from './core/errors.ts';
export { StoredObject, type ListKey, type StoredEntry, type Tombstone } from './core/objects/stored.ts';
export type { IdGenerator } from './core/objects/ids.ts';
export type { GrantingEntry, PermissionDeclaration } from './core/permissions/inheritance.ts';
export { ExactNumber, type JsonObject, type JsonValue } from './base/json.ts';
export type { Clock } from './base/clock.ts';
export type {
  AuthenticationPolicy,
  Credentials,
  Identity,
  PolicyContext,
  PolicyFactory,
} from './contracts/authentication.ts';
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
export type { Deletion, LockedState, Page, StorageBackend, StorageReader, StorageWriter } from './contracts/storage.ts';
export {
  BackendError,
  BackendUnavailable,
  IntegrityError,
  ReadonlyError,
  TransactionConflict,
  UnicityError,
} from './contracts/errors.ts';
export type { Logger } from './contracts/logger.ts';
