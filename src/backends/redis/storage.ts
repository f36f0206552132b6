// The storage backend of a Redis database.
import type { StorageBackend } from '../../contracts/storage.ts';
import type { RedisDatabase } from './database.ts';
import { RedisStorageReader } from './storage-reader.ts';
import { RedisStorageWriter } from './storage-writer.ts';

export function createRedisStorage(database: RedisDatabase): StorageBackend {
  const { client, keys, reads } = database;
  return {
    database,
    reader: new RedisStorageReader(client, keys, reads),
    writer: (transaction) => new RedisStorageWriter(client, keys, reads, database.requireUnit(transaction)),
  };
}
