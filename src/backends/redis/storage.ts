// The storage backend of a Redis database.
import type { StorageBackend } from '../../contracts/storage.ts';
import type { RedisDatabase } from './database.ts';
import { HeldReads } from './held-reads.ts';
import { LongReads } from './long-reads.ts';
import { RedisStorageReader } from './storage-reader.ts';
import { RedisStorageWriter } from './storage-writer.ts';

export function createRedisStorage(database: RedisDatabase): StorageBackend {
  const { client, keys, reads, smallLists } = database;
  const shared = { client, keys, reads, longReads: new LongReads() };
  const committed = { ...shared, heldReads: new HeldReads(database), smallLists };
  return {
    database,
    reader: new RedisStorageReader(committed),
    readerFor: (requester) => new RedisStorageReader({ ...committed, requester }),
    writer: (transaction) => new RedisStorageWriter(shared, database.requireUnit(transaction)),
  };
}
