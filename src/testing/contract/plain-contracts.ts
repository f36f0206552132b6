// The contracts as the suites call them: with plain texts as URIs, principals, user ids and parents of lists, so that cases
// read well. Every backend can be used as one of these types. No text is converted.
import type * as hints from '../../contracts/change-hints.ts';
import type * as database from '../../contracts/database.ts';
import type * as permission from '../../contracts/permission.ts';
import type * as storage from '../../contracts/storage.ts';
import type * as stored from '../../core/objects/stored.ts';
import type { ListFolder, ObjectUri } from '../../core/objects/uris.ts';
import type { Principal } from '../../core/permissions/principals.ts';
import type { Selection } from '../../core/query/ast.ts';

/** Interfaces whose methods take plain texts. Their results keep the branded types, except keys of maps and items of sets. */
type Contract =
  | hints.ChangeHints
  | database.Database
  | database.Transaction
  | permission.PermissionBackend
  | permission.PermissionReader
  | storage.StorageBackend
  | storage.StorageReader;

/** Values without branded texts. */
type Kept = string | stored.StoredEntry | Selection | Buffer | ((...args: never[]) => unknown);

/** The type with `string` in place of each branded text. */
export type Plain<T> = T extends ObjectUri | ListFolder | Principal
  ? string
  : T extends Contract
    ? { [K in keyof T]: PlainMember<T[K]> }
    : T extends Kept
      ? T
      : T extends object
        ? { [K in keyof T]: Plain<T[K]> }
        : T;

/** Methods, and no functions: the parameters of methods are compared in both directions. */
type PlainMember<M> = M extends (...args: infer Args) => infer Result
  ? { method(...args: { [K in keyof Args]: Plain<Args[K]> }): PlainResult<Result> }['method']
  : PlainResult<M>;

type PlainResult<R> =
  R extends Promise<infer Value>
    ? Promise<PlainResult<Value>>
    : R extends ReadonlyMap<infer Key, infer Value>
      ? ReadonlyMap<Plain<Key>, Value>
      : R extends ReadonlySet<infer Item>
        ? ReadonlySet<Plain<Item>>
        : R extends Contract
          ? Plain<R>
          : R;

export type ChangeHint = Plain<hints.ChangeHint>;
export type ChangeHints = Plain<hints.ChangeHints>;
export type ConditionalWrite = Plain<database.ConditionalWrite>;
export type Database = Plain<database.Database>;
export type ExpectedObjects = Plain<database.ExpectedObjects>;
export type ListKey = Plain<stored.ListKey>;
export type ObjectEntries = Plain<permission.ObjectEntries>;
export type ObjectPermissions = Plain<permission.ObjectPermissions>;
export type PermissionBackend = Plain<permission.PermissionBackend>;
export type PermissionReader = Plain<permission.PermissionReader>;
export type PermissionWriter = Plain<permission.PermissionWriter>;
export type StorageBackend = Plain<storage.StorageBackend>;
export type StorageReader = Plain<storage.StorageReader>;
export type StorageWriter = Plain<storage.StorageWriter>;
export type Transaction = Plain<database.Transaction>;
