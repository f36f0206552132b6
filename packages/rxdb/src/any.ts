// Types for documents of any schema, which the plugin does not know.
/* oxlint-disable typescript/no-explicit-any -- lists and selectors of any schema: these types are invariant */
import type { ObjectList, Selector } from '@coffer/client';
import type { RxCollection, RxConflictHandler, RxReplicationWriteToMasterRow } from 'rxdb';

/** Attributes of a document. */
export type Fields = Record<string, unknown>;
export type AnyCollection = RxCollection<Fields>;
export type AnyConflictHandler = RxConflictHandler<Fields>;
export type AnyList = ObjectList<any, any>;
export type AnyRow = RxReplicationWriteToMasterRow<Fields>;
export type AnySelector = Selector<any>;
