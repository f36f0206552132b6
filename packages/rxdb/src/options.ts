// Options of a replication, and what they must fulfil.
import type { Coffer, CofferError, LiveOptions } from '@coffer/client';
import type { ReplicationOptions, ReplicationPullOptions, ReplicationPushOptions, WithDeleted } from 'rxdb';
import type { AnyCollection, AnyList, AnySelector } from './any.ts';

/** How far a collection has pulled. */
export interface CofferCheckpoint {
  /** `ETag` of the list, or `last_modified` of the last record of a page. */
  readonly since: string;
}

/** Translates primary keys to ids of the service, which consist of letters, digits, `_` and `-`. */
export interface IdMapping {
  /** Returns the id of the record for a primary key. */
  readonly encode: (primary: string) => string;
  /** Returns the primary key for the id of a record. */
  readonly decode: (id: string) => string;
}

/** Options of the direction from the service to the collection. */
export interface CofferPullOptions<D> extends Pick<
  ReplicationPullOptions<D, CofferCheckpoint>,
  'batchSize' | 'modifier' | 'initialCheckpoint'
> {
  /** Limits the collection to records that match. Documents whose record no longer matches are removed. */
  readonly filter?: AnySelector;
  /** How live updates arrive; default `auto`. */
  readonly transport?: LiveOptions<object>['transport'];
}

/** What happens to a document that the service refuses. */
export type Refusal = 'retry' | 'revert';

/** Options of the direction from the collection to the service. */
export interface CofferPushOptions<D> extends Pick<
  ReplicationPushOptions<D>,
  'batchSize' | 'modifier' | 'initialCheckpoint' | 'waitBeforePersist'
> {
  /**
   * Called when the service refuses a document: invalid (400), forbidden (403), a unique value that another record has (409),
   * too large (413), quota exceeded (507). Also called for values that JSON does not have (kind `validation`). `retry`
   * (default) reports the error and sends the document again later; further documents wait. `revert` takes the state of the
   * service as that of a conflict, and the conflict handler of the collection decides.
   */
  readonly onRefused?: (error: CofferError, document: WithDeleted<D>) => Refusal | Promise<Refusal>;
}

/** Options of `replicateCoffer`: those of `replicateRxCollection`, and the list of the service. */
export interface CofferReplicationOptions<D> extends Omit<
  ReplicationOptions<D, CofferCheckpoint>,
  'pull' | 'push' | 'deletedField'
> {
  /** The client, with credentials. */
  readonly client: Coffer;
  /** The records: `client.bucket('app').collection('todos')`. A validator of it is not used. */
  readonly list: Pick<AnyList, 'path'>;
  readonly pull?: CofferPullOptions<D>;
  readonly push?: CofferPushOptions<D>;
  /** Required if the schema has attachments: they stay in the collection, and the documents are replicated without them. */
  readonly attachments?: false;
  /** Translation of primary keys; default `defaultIds`. */
  readonly ids?: IdMapping;
}

/** @throws Error for schemas that cannot be replicated */
export function checkCollection({ schema, name }: AnyCollection, attachmentsOption?: false): void {
  const { properties, attachments } = schema.jsonSchema as {
    readonly properties: Readonly<Record<string, unknown>>;
    readonly attachments?: unknown;
  };
  const fail = (text: string): never => {
    throw new Error(`The collection "${name}" cannot be replicated with Coffer: ${text}`);
  };
  if (Object.hasOwn(properties, 'deleted')) {
    fail('its schema has the property "deleted", which marks deleted records. Choose another name.');
  }
  if (Object.hasOwn(properties, 'id') && schema.primaryPath !== 'id') {
    fail(
      `its schema has the property "id", which is not the primary key ("${schema.primaryPath}"). Choose another name.`,
    );
  }
  if (schema.primaryPath === 'last_modified') fail('"last_modified" is the timestamp of records, and no primary key.');
  const { last_modified: timestamp } = properties as { readonly last_modified?: { readonly type?: unknown } };
  if (timestamp !== undefined && timestamp.type !== 'number' && timestamp.type !== 'integer') {
    fail(
      'its property "last_modified" is the timestamp of records, a number. Give it that type, or choose another name.',
    );
  }
  if (schema.jsonSchema.required?.some((property) => property === 'last_modified')) {
    fail('it requires "last_modified", which new documents do not have before the service has stored them.');
  }
  if (attachments !== undefined && attachmentsOption !== false) {
    fail('attachments are not replicated. Pass the option `attachments: false` for documents without them.');
  }
}
