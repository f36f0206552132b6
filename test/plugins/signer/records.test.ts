// Work on all records of a collection: other requests run meanwhile, however small the records are.
import { expect, it } from 'vitest';
import { createMemoryDatabase } from '../../../src/backends/memory/database.ts';
import { createMemoryStorage } from '../../../src/backends/memory/storage.ts';
import { storedParent } from '../../../src/core/objects/uris.ts';
import { compareLists, formatSignedText } from '../../../src/plugins/signer/records.ts';
import { createTestClock } from '../../../src/testing/index.ts';
import { countTurns } from '../../support/turns.ts';

const count = 5000;

async function joined(pieces: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

it('makes the signed text and compares collections in steps', async () => {
  const database = createMemoryDatabase({ clock: createTestClock() });
  const storage = createMemoryStorage(database);
  const unit = await database.begin();
  const [from, to] = ['a', 'b'].map((id) => ({
    kind: 'record',
    parent: storedParent(`/buckets/main/collections/${id}`),
  }));
  for (const [list, attributes] of [
    [from!, '{"title":"old","n":1}'],
    [to!, '{"n":1,"title":"old"}'],
  ] as const) {
    const objects = Array.from({ length: count }, (_, n) => ({ id: `r${n}`, text: attributes }));
    await storage.writer(unit).createAll(list, objects);
  }
  await unit.commit();
  const source = { storage: storage.reader, requireRoom: undefined };

  const signed = await countTurns(joined(formatSignedText(source, from!, 7)));
  expect(JSON.parse(signed.result)).toMatchObject({ data: { length: count }, last_modified: '7' });
  expect(signed.turns).toBeGreaterThan(20);

  const compared = await countTurns(compareLists(source, { from: from!, to: to! }));
  expect(compared.result).toEqual({ put: [], removed: [] });
  expect(compared.turns).toBeGreaterThan(20);
});
