// Sharing a part: a group, a right on one record, then on the collection, and what another user sees each time.
import { listOf, totalOf } from '../client.mjs';

/** @typedef {import('../tour.mjs').Tour} Tour */

/**
 * Shares with Bob through a group.
 *
 * @param {Tour} tour
 * @param {{ bobId: string, capabilities: readonly string[] }} known
 */
export async function share({ alice, bob, stranger, narrator, bucket, collection, records }, { bobId, capabilities }) {
  narrator.chapter('Share a part of it');
  narrator.say('All of it is mine so far. A stranger is asked for a name (401), Bob is refused (403).');
  const anonymous = await stranger.request('GET', `${records}/lat`, { expect: [401] });
  narrator.show(anonymous);
  const before = await bob.request('GET', `${records}/lat`, { expect: [403] });
  narrator.show(before);
  narrator.say('His list holds one record: "epo" became public when chapter 6 patched its permissions.');
  const publicOnes = listOf(await bob.request('GET', `${records}?_fields=name`));
  narrator.result(`Bob sees ${publicOnes.map(({ id }) => id).join(', ')}`);

  narrator.say('A group is a list of users. It can stand wherever a user can.');
  const group = `${bucket}/groups/readers`;
  narrator.show(await alice.request('PUT', group, { body: { data: { members: [bobId] } } }));

  narrator.say('The group may write one record. JSON Patch writes "/" in a name as "~1".');
  const granted = await alice.request('PATCH', `${records}/lat`, {
    headers: { 'Content-Type': 'application/json-patch+json' },
    body: [{ op: 'add', path: `/permissions/write/${group.replaceAll('/', '~1')}` }],
  });
  narrator.show(granted);

  narrator.say('Bob asks for the list and gets what he may see, and may write that one record only.');
  const oneRecord = await bob.readAll(`${records}?_fields=name`);
  narrator.result(`Bob sees ${oneRecord.map(({ id }) => id).join(', ')}`);
  const written = await bob.request('PATCH', `${records}/lat`, { body: { data: { note: 'read by Bob' } } });
  narrator.show(written);
  const other = await bob.request('PATCH', `${records}/fra`, { body: { data: { note: 'no' } }, expect: [403] });
  narrator.show(other);

  narrator.say('Now the group may read the whole collection. Reading is not writing.');
  narrator.show(await alice.request('PATCH', collection, { body: { permissions: { read: [group] } } }));
  const everything = totalOf(await bob.request('HEAD', records));
  narrator.result(`Bob counts ${everything} records`);
  const stillOther = await bob.request('PATCH', `${records}/fra`, { body: { data: { note: 'no' } }, expect: [403] });
  narrator.show(stillOther);

  const listed = capabilities.includes('permissions_endpoint') ? await listPermissions() : undefined;

  narrator.say(
    'Bob leaves the group. What remains is public, or what he has written: a change adds the caller to the writers of a record.',
  );
  await alice.request('PATCH', group, { body: { data: { members: [] } } });
  const left = listOf(await bob.request('GET', `${records}?_fields=name&_sort=id`));
  narrator.result(`Bob sees ${left.map(({ id }) => id).join(', ')}`);
  return {
    anonymous: anonymous.status,
    before: before.status,
    publicOnes: publicOnes.map(({ id }) => id),
    granted: granted.body.permissions?.['write'],
    group,
    oneRecord: oneRecord.map(({ id }) => id).toSorted(),
    written: written.status,
    other: other.status,
    everything,
    total: totalOf(await alice.request('HEAD', records)),
    stillOther: stillOther.status,
    listed,
    left: left.map(({ id }) => id),
  };

  /** What Bob may do in this bucket, in his own words. */
  async function listPermissions() {
    narrator.say('/permissions tells Bob what he may do, wherever it was granted.');
    const answer = await bob.request('GET', `/permissions?bucket_id=${bucket.split('/').at(-1) ?? ''}&_sort=uri`);
    narrator.show(answer);
    return listOf(answer).map(({ uri, permissions }) => ({ uri, permissions }));
  }
}
