// Following a list: ask what is new since last time, get changes and tombstones, and next to nothing when nothing is.
import { etagOf, listOf, objectOf, totalOf } from '../client.mjs';

/** @typedef {import('../tour.mjs').Tour} Tour */

/**
 * Changes a few records and asks for what has changed.
 *
 * @param {Tour} tour
 */
export async function follow({ alice, narrator, records }) {
  narrator.chapter('Follow what changes');
  const before = await alice.request('HEAD', records);
  const seen = etagOf(before);
  narrator.say(`The ETag of the list stands for its state. I have seen ${seen}. Is there anything new?`);
  const unchanged = await alice.request('GET', records, { headers: { 'If-None-Match': seen }, expect: [304] });
  narrator.show(unchanged);

  narrator.say('Alice changes one record, adds one, and removes all that are not languages.');
  const changed = await alice.request('PATCH', `${records}/epo`, { body: { data: { speakers: 'many' } } });
  narrator.show(changed);
  const added = await alice.request('POST', records, { body: { data: { name: 'Tourese', type: 'constructed' } } });
  narrator.show(added);
  const removed = await alice.request('DELETE', `${records}?scope=special`);
  narrator.show(removed);

  narrator.say('"_since" gives exactly that, the newest first. What was deleted is there as a tombstone.');
  const news = await alice.request('GET', `${records}?_since=${encodeURIComponent(seen)}`);
  narrator.show(news);
  const changes = listOf(news);
  narrator.result(`${changes.length} changes, ${changes.filter(({ deleted }) => deleted).length} of them deletions`);

  narrator.say('The new ETag is where the next question starts.');
  const latest = etagOf(news);
  const quiet = await alice.request('GET', `${records}?_since=${encodeURIComponent(latest)}`);
  narrator.show(quiet);
  const still = await alice.request('GET', records, { headers: { 'If-None-Match': latest }, expect: [304] });
  narrator.show(still);
  const after = await alice.request('HEAD', records);
  return {
    unchanged: unchanged.status,
    changedId: objectOf(changed).id,
    addedId: objectOf(added).id,
    removedIds: listOf(removed).map(({ id }) => id),
    news: changes.map(({ id, deleted = false }) => ({ id, deleted })),
    timestamps: changes.map((change) => change.last_modified),
    seen: timestampOf(seen),
    latest: timestampOf(latest),
    quiet: listOf(quiet),
    still: still.status,
    totals: { before: totalOf(before), after: totalOf(after) },
  };
}

/** @param {string} etag */
function timestampOf(etag) {
  return Number(etag.replaceAll('"', ''));
}
