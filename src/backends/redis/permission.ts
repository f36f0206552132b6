// The permission backend of a Redis database.
import type { PermissionBackend } from '../../contracts/permission.ts';
import type { RedisDatabase } from './database.ts';
import { RedisPermissionReader } from './permission-reader.ts';
import { RedisPermissionWriter } from './permission-writer.ts';

export function createRedisPermission(database: RedisDatabase): PermissionBackend {
  const { client, keys } = database;
  return {
    database,
    reader: new RedisPermissionReader(client, keys),
    writer: (transaction) => new RedisPermissionWriter(client, keys, database.requireUnit(transaction)),
  };
}
