import { describe, expect, it } from 'vitest';
import { Folders, replaceEntries } from '../../../src/backends/sqlite/entry-rows.ts';
import { applyNextMigration, databaseMigrations } from '../../../src/backends/sqlite/schema.ts';
import { storedUri } from '../../../src/core/objects/uris.ts';
import { toPrincipals } from '../../../src/core/permissions/principals.ts';
import { openConnection, temporaryPath } from './temporary.ts';

describe('replaceEntries', () => {
  it('reads and changes many principals in steps', async () => {
    const connection = openConnection(await temporaryPath());
    while (applyNextMigration(connection, databaseMigrations) !== undefined);
    const selected = (): readonly string[] =>
      connection.all<[string]>('SELECT principal FROM entries ORDER BY principal').map(([principal]) => principal);
    const countSteps = (read: readonly string[]): number => {
      const steps = replaceEntries(connection, storedUri('/buckets/b'), { read: toPrincipals(read) }, new Folders());
      let count = 1;
      while (steps.next().done !== true) count++;
      return count;
    };
    const many = Array.from({ length: 3000 }, (_, n) => `user:${String(n).padStart(4, '0')}`);
    expect(countSteps(many)).toBeGreaterThan(30);
    expect(selected()).toEqual(many);
    expect(countSteps(many)).toBeGreaterThan(5);
    expect(selected()).toEqual(many);
    const fewer = [...many.filter((_, n) => n % 3 === 0), 'user:new'];
    expect(countSteps(fewer)).toBeGreaterThan(20);
    expect(selected()).toEqual(fewer);
    expect(countSteps([])).toBeGreaterThan(10);
    expect(selected()).toEqual([]);
  });
});
