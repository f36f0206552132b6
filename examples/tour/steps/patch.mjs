// Changing a part of a record, in the three formats of PATCH.
import { objectOf } from '../client.mjs';

/** @typedef {import('../tour.mjs').Tour} Tour */

/**
 * Patches one record in each format.
 *
 * @param {Tour} tour
 */
export async function patch({ alice, narrator, records }) {
  const esperanto = `${records}/epo`;
  narrator.chapter('Change a part');

  narrator.say('Plain JSON: the attributes I name are replaced, the others stay.');
  const plain = await alice.request('PATCH', esperanto, {
    body: { data: { status: 'draft', links: { home: 'https://example.org/eo', old: 'https://example.org/x' } } },
  });
  narrator.show(plain);

  narrator.say('Merge patch: objects are merged at every depth, and null removes.');
  const merged = await alice.request('PATCH', esperanto, {
    headers: { 'Content-Type': 'application/merge-patch+json' },
    body: { data: { links: { old: null, more: 'https://example.org/more' }, speakers: null } },
  });
  narrator.show(merged);

  narrator.say('JSON Patch: a list of operations, which may test first; permissions are part of the document.');
  const json = { 'Content-Type': 'application/json-patch+json' };
  const operated = await alice.request('PATCH', esperanto, {
    headers: json,
    body: [
      { op: 'test', path: '/data/status', value: 'draft' },
      { op: 'replace', path: '/data/status', value: 'final' },
      { op: 'add', path: '/data/parts/-', value: 5 },
      { op: 'add', path: '/permissions/read/system.Everyone' },
    ],
  });
  narrator.show(operated);

  narrator.say('A second time the test fails, and then nothing at all is changed.');
  const failed = await alice.request('PATCH', esperanto, {
    headers: json,
    body: [
      { op: 'add', path: '/data/parts/-', value: 6 },
      { op: 'test', path: '/data/status', value: 'draft' },
    ],
    expect: [400],
  });
  narrator.show(failed);

  narrator.say('"Response-Behavior: light" answers with what has changed, not with the whole record.');
  const light = await alice.request('PATCH', esperanto, {
    headers: { 'Response-Behavior': 'light' },
    body: { data: { status: 'archived' } },
  });
  narrator.show(light);
  return {
    plain: objectOf(plain),
    merged: objectOf(merged),
    operated: objectOf(operated),
    readers: operated.body.permissions?.['read'],
    failed: failed.status,
    light: objectOf(light),
    final: objectOf(await alice.request('GET', esperanto)),
  };
}
