// Loading thousands of records: in batches, several on their way at the same time, and safe to repeat.

/** @typedef {import('../tour.mjs').Tour} Tour */
/** @typedef {import('../client.mjs').BatchEntry} BatchEntry */
/** @typedef {import('../languages.mjs').Language} Language */

const batchesAtOnce = 4;

/**
 * Makes a bucket and a collection and fills it.
 *
 * @param {Tour} tour
 * @param {{ batchSize: number }} limits
 */
export async function load(tour, { batchSize }) {
  const { alice, narrator, languages, bucket, collection, records } = tour;
  narrator.chapter('Load the languages of the world');
  narrator.say('A bucket holds collections, a collection holds records. They are mine until I share them.');
  narrator.show(await alice.request('PUT', bucket));
  narrator.show(await alice.request('PUT', collection));

  const batches = inGroupsOf(batchSize, languages);
  narrator.say(
    `${languages.length} records in ${batches.length} batches of at most ${batchSize} requests. "If-None-Match: *" says: create, but replace nothing.`,
  );
  const advance = narrator.progress('languages', languages.length);
  const begin = performance.now();
  let created = 0;
  await forEachAtOnce(batchesAtOnce, batches, async (batch) => {
    const entries = await alice.batch(creation(records, batch));
    created += countOf(entries, 201);
    advance(created);
  });
  narrator.result(`${created} created in ${((performance.now() - begin) / 1000).toFixed(1)} s`);

  narrator.say('Was the answer lost on its way? Then send the batch again: each entry says that it is there already.');
  const first = batches[0] ?? [];
  const repeated = await alice.request('POST', '/batch', { body: creation(records, first) });
  narrator.show(repeated);
  const again = repeated.body.responses ?? [];
  narrator.result(
    `${countOf(again, 412)} of ${again.length} entries answered 412 Precondition Failed, nothing changed`,
  );

  narrator.say('POST to the list does the same in another way: an id that is taken gives the record as it is.');
  const posted = await alice.batch({
    defaults: { method: 'POST', path: records },
    requests: first.map((language) => ({ body: { data: { ...language, name: 'Somebody else' } } })),
  });
  narrator.result(`${countOf(posted, 200)} of ${posted.length} entries answered 200 with the record that is there`);
  return {
    batches: batches.length,
    created,
    repeated: { sent: first.length, refused: countOf(again, 412), named: again.map(existingId) },
    posted: { sent: first.length, found: countOf(posted, 200), names: posted.map(nameOf) },
    firstNames: first.map(({ name }) => name),
    firstIds: first.map(({ id }) => id),
  };
}

/**
 * One batch that creates records under their own ids.
 *
 * @param {string} records
 * @param {readonly Language[]} languages
 */
function creation(records, languages) {
  return {
    defaults: { method: 'PUT', headers: { 'If-None-Match': '*' } },
    requests: languages.map((language) => ({ path: `${records}/${language.id}`, body: { data: language } })),
  };
}

/** @param {readonly BatchEntry[]} entries @param {number} status */
function countOf(entries, status) {
  return entries.filter((entry) => entry.status === status).length;
}

/** @param {BatchEntry} entry */
function existingId({ body }) {
  return body.details?.existing?.id;
}

/** @param {BatchEntry} entry */
function nameOf({ body }) {
  return Array.isArray(body.data) ? undefined : body.data?.['name'];
}

/**
 * @template T
 * @param {number} size
 * @param {readonly T[]} items
 * @returns {T[][]}
 */
function inGroupsOf(size, items) {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, index) =>
    items.slice(index * size, (index + 1) * size),
  );
}

/**
 * Works through the items with a few workers, so that the service always has something to do and never too much.
 *
 * @template T
 * @param {number} workers
 * @param {readonly T[]} items
 * @param {(item: T) => Promise<void>} work
 */
async function forEachAtOnce(workers, items, work) {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (const item of queue) await work(item);
    }),
  );
}
