// Many writers change a list while clients follow it, lose their connections and return with the last id.
import { afterEach, describe, expect, it } from 'vitest';
import { forEachBackend } from '../support/backends.ts';
import type { EventClient } from './event-client.ts';
import { ListCopy } from './list-copy.ts';
import { records, Stage } from './stage.ts';

const writers = 8;
const writesOfEach = 40;

forEachBackend((backend) => {
  describe(`followers next to many writers on ${backend.name}`, () => {
    let stage: Stage;
    afterEach(() => stage.close());

    it('hold the list at the end, and receive nothing twice', async () => {
      stage = await Stage.start(backend);
      const writing = Array.from({ length: writers }, async (_, writer) => {
        for (let n = 0; n < writesOfEach; n++) {
          // Each record is written once, so that none that was lost is received later.
          if (n % 5 === 4) await stage.remove(`w${writer}-${n - 1}`);
          else await stage.put(`w${writer}-${n}`, { n });
        }
      });
      const following = [3, 10, 1000].map((framesOfConnection) => followUntilLast(stage, framesOfConnection));
      await Promise.all(writing);
      await stage.put('last');
      const copies = await Promise.all(following);
      const { body } = await stage.write('GET', `${records}?_sort=id`);
      for (const copy of copies) expect(copy.objects).toEqual((body as { data: unknown[] }).data);
    });
  });
});

/** Follows until the record `last` is there, by connections of so many frames each. */
async function followUntilLast(stage: Stage, framesOfConnection: number): Promise<ListCopy> {
  const copy = new ListCopy();
  let lastId: string | undefined;
  let seenTo = 0;
  let stream: EventClient | undefined;
  for (let frames = 0; !copy.objects.some(({ id }) => id === 'last'); frames++) {
    if (stream === undefined || frames % framesOfConnection === 0) {
      stream?.close();
      stream = await stage.follow('_since=0', lastId === undefined ? {} : { headers: { 'last-event-id': lastId } });
    }
    const event = await stream.next();
    for (const { last_modified: timestamp } of (event.data.data ?? []) as { last_modified: number }[]) {
      expect(timestamp).toBeGreaterThan(seenTo);
      seenTo = timestamp;
    }
    await copy.apply(event);
    lastId = event.id ?? lastId;
    seenTo = Math.max(seenTo, Number(lastId));
  }
  stream?.close();
  return copy;
}
