// A permission backend on a server of Redis of its own, which each test finds empty.
import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { findRedisAddress } from '../../src/backends/redis/address.ts';
import { openRedisDatabase, type RedisDatabase } from '../../src/backends/redis/database.ts';
import { createRedisPermission } from '../../src/backends/redis/permission.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { PermissionBackend, PermissionWriter } from '../../src/testing/contract/plain-contracts.ts';
import { inUnit } from '../../src/testing/contract/unit-of-work.ts';
import { RedisProcess } from './redis.ts';

export class RedisPermissionTest {
  server!: RedisProcess;
  /** A connection of another client. */
  outside!: Redis;
  database!: RedisDatabase;
  permission!: PermissionBackend;

  /** @param prefix of the keys */
  constructor(prefix: string) {
    beforeAll(async () => {
      this.server = await RedisProcess.start();
      this.outside = new Redis(this.server.url);
      const address = findRedisAddress(this.server.url)!;
      this.database = await openRedisDatabase({ address, clock: systemClock, prefix });
      this.permission = createRedisPermission(this.database);
    }, 120_000);
    afterAll(async () => {
      this.outside.disconnect();
      await this.database.close();
      await this.server.remove();
    });
    beforeEach(async () => {
      await this.outside.flushall();
    });
  }

  /** Runs writes in a unit of work. */
  async write(work: (writer: PermissionWriter) => Promise<unknown>): Promise<void> {
    await inUnit(this.database, (transaction) => work(this.permission.writer(transaction)));
  }

  /** Counts the executions of each of the commands during the work. */
  async countCalls(commands: readonly string[], work: () => Promise<unknown>): Promise<readonly number[]> {
    await this.outside.config('RESETSTAT');
    await work();
    const stats = await this.outside.info('commandstats');
    return commands.map((name) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0));
  }
}
