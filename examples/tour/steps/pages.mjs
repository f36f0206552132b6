// Walking through everything in pages: follow `Next-Page` until there is none, and each record was seen once.
import { totalOf } from '../client.mjs';

/** @typedef {import('../tour.mjs').Tour} Tour */

/**
 * Walks in the default order and in one of our own.
 *
 * @param {Tour} tour
 */
export async function walkPages({ alice, narrator, records }) {
  narrator.chapter('Walk through all of it');
  const total = totalOf(await alice.request('HEAD', records));
  narrator.say('A list in pages: each answer names the address of the next one in the header Next-Page.');
  const newestFirst = await walk('_limit=1000');
  narrator.say('The same by name, and only the living: the token in the address remembers order and filters.');
  const byName = await walk('type=living&_sort=name&_limit=2000&_fields=name');
  const names = byName.objects.map(({ name }) => String(name));
  return {
    total,
    newestFirst: {
      ...countsOf(newestFirst),
      isInOrder: isFalling(newestFirst.objects.map((one) => one.last_modified)),
    },
    byName: {
      ...countsOf(byName),
      isInOrder: names.every((name, index) => index === 0 || (names[index - 1] ?? '') <= name),
    },
  };

  /** @param {string} parameters */
  async function walk(parameters) {
    let pages = 0;
    const objects = await alice.readAll(`${records}?${parameters}`, (answer) => {
      pages += 1;
      if (pages === 1) narrator.show(answer);
    });
    narrator.result(`${objects.length} records on ${pages} pages, ${distinct(objects)} different ones`);
    return { pages, objects };
  }
}

/** @param {{ pages: number, objects: readonly { id: string }[] }} walk */
function countsOf({ pages, objects }) {
  return { pages, seen: objects.length, distinct: distinct(objects) };
}

/** @param {readonly { id: string }[]} objects */
function distinct(objects) {
  return new Set(objects.map(({ id }) => id)).size;
}

/** @param {readonly number[]} numbers */
function isFalling(numbers) {
  return numbers.every((number, index) => index === 0 || (numbers[index - 1] ?? 0) > number);
}
