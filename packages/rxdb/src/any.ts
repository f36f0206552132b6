// Types for documents of any schema. Those of RxDB are invariant: with `unknown`, they accept no collection with a type.
/* oxlint-disable typescript/no-explicit-any -- the plugin does not know the schema; `Document` has what it uses */
import type { ObjectList, Selector } from '@coffer/client';
import type { RxCollection, RxReplicationPullStreamItem, RxReplicationWriteToMasterRow } from 'rxdb';
import type { RxReplicationState } from 'rxdb/plugins/replication';

export type AnyCollection = RxCollection;
export type AnyReplication = RxReplicationState<any, any>;
export type AnyDocument = any;
export type AnyList = ObjectList<any, any>;
export type AnyRow = RxReplicationWriteToMasterRow<any>;
export type AnySelector = Selector<any>;
export type AnyStreamItem<Checkpoint> = RxReplicationPullStreamItem<any, Checkpoint>;
