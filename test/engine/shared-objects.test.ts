// The search for the objects that are shared with a caller: other requests run while very many ids are read.
import { expect, test } from 'vitest';
import { storedUri } from '../../src/core/objects/uris.ts';
import { findObjects, type AskedList } from '../../src/engine/access.ts';
import { anonymous } from '../../src/engine/caller.ts';
import type { Reader } from '../../src/engine/unit-of-work.ts';
import { countTurns } from '../support/turns.ts';

const uris = Array.from({ length: 50_000 }, (_, n) => storedUri(`/p/records/r${n}`));
const found = new Map(uris.map((uri) => [uri, new Set(['read'])]));
const reader = { permission: { getAccessibleObjects: () => Promise.resolve(found) } } as unknown as Reader;
const rule = { principals: new Set(), authenticated: false };
const list = {
  uri: '/p/records',
  idName: 'record_id',
  whole: rule,
  create: rule,
  own: { ...rule, entries: { bindList: () => [{}] } },
} as unknown as AskedList;

test('ids are read in several turns of the event loop', async () => {
  const { result, turns } = await countTurns(findObjects(list, anonymous, reader, {}));
  expect(result.at(-1)).toBe('r49999');
  expect(turns).toBeGreaterThan(3);
});
