// Lists that are computed for each request, such as /permissions: other requests run while a long page is sorted and written.
import { expect, it } from 'vitest';
import { parseParameters } from '../../src/core/query/parameters.ts';
import { resolveQuery } from '../../src/core/query/resolve.ts';
import type { Context } from '../../src/engine/context.ts';
import type { EngineOptions } from '../../src/engine/scope.ts';
import { virtualPage } from '../../src/engine/virtual-list.ts';
import { countTurns } from '../support/turns.ts';

const count = 10_000;

it('sorts and writes a long page in steps', async () => {
  const entries = Array.from({ length: count }, (_, n) => ({
    id: `e${n}`,
    n: (n * 7919) % count,
    text: 'x'.repeat(150),
  }));
  const parameters = parseParameters([['_sort', 'n']], { now: 0, use: 'list' });
  const query = resolveQuery(parameters, { traits: { knownFields: ['n'] }, limits: { maxFetchSize: count }, now: 0 });
  const context = { request: { method: 'GET' }, query: [] } as unknown as Context;
  const { result, turns } = await countTurns(virtualPage(context, {} as EngineOptions, entries, query, {}));
  const { data } = JSON.parse((result.body as readonly string[]).join('')) as { data: readonly { n: number }[] };
  expect(data.map(({ n }) => n)).toEqual(Array.from(entries, (_, n) => n));
  expect(turns).toBeGreaterThan(50);
});
