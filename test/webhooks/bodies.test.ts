// Bodies of webhooks with many objects: other requests run while they are made, however small the objects are.
import { expect, it } from 'vitest';
import type { Steps } from '../../src/base/steps.ts';
import { formatAttributes, StoredObject } from '../../src/core/objects/stored.ts';
import { storedParent } from '../../src/core/objects/uris.ts';
import type { ReadEvent } from '../../src/engine/events/event.ts';
import { formatBodies } from '../../src/webhooks/bodies.ts';

const count = 5000;

/** Returns the result of the steps and their number. */
function runSteps<T>(steps: Steps<T>): { readonly result: T; readonly count: number } {
  for (let taken = 1; ; taken++) {
    const step = steps.next();
    if (step.done === true) return { result: step.value, count: taken };
  }
}

it('makes bodies with many small objects in steps', () => {
  const entries = Array.from({ length: count }, (_, n) => new StoredObject(`r${n}`, n, formatAttributes({ n })));
  const event = {
    action: 'read',
    kind: 'record',
    list: { kind: 'record', parent: storedParent('/buckets/b/collections/c') },
    timestamp: count,
    path: '/buckets/b/collections/c/records',
    userId: undefined,
    ids: {},
    entries,
  } as unknown as ReadEvent;
  const { result, count: steps } = runSteps(formatBodies(event, { maxBytes: 100_000, hiddenFields: [] }));
  const objects = result.flatMap((body) => (JSON.parse(body) as { read_objects: { n: number }[] }).read_objects);
  expect(objects.map(({ n }) => n)).toEqual(entries.map((_, n) => n));
  expect(steps).toBeGreaterThan(20);
});
