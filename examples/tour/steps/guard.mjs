// Not overwriting each other: preconditions on creating and on changing, and a race that exactly one writer wins.
import { etagOf, objectOf } from '../client.mjs';

/** @typedef {import('../tour.mjs').Tour} Tour */

const racers = 8;

/**
 * Tries to overwrite, is refused, and does it right.
 *
 * @param {Tour} tour
 */
export async function guard({ alice, narrator, records }) {
  const latin = `${records}/lat`;
  narrator.chapter('Do not overwrite each other');

  narrator.say('"If-None-Match: *" creates only. The 412 brings the record that is there.');
  const taken = await alice.request('PUT', latin, {
    headers: { 'If-None-Match': '*' },
    body: { data: { name: 'Something else' } },
    expect: [412],
  });
  narrator.show(taken);

  narrator.say('"If-Match" changes only what I have seen.');
  const read = await alice.request('GET', latin);
  const seen = etagOf(read);
  const changed = await alice.request('PATCH', latin, {
    headers: { 'If-Match': seen },
    body: { data: { reviewed: true } },
  });
  narrator.show(changed);

  narrator.say('A client with the old ETag gets 412, with the current object to merge with.');
  const stale = await alice.request('PUT', latin, {
    headers: { 'If-Match': seen },
    body: { data: { name: 'From an old copy' } },
    expect: [412],
  });
  narrator.show(stale);

  narrator.say(`Now ${racers} writers at the same moment, all with the same ETag.`);
  const start = etagOf(changed);
  const race = await Promise.all(
    Array.from({ length: racers }, (_, writer) =>
      alice.request('PATCH', latin, {
        headers: { 'If-Match': start },
        body: { data: { writer } },
        expect: [200, 412],
      }),
    ),
  );
  const statuses = race.map(({ status }) => status);
  narrator.result(`answers: ${statuses.join(' ')}`);
  const winner = statuses.indexOf(200);
  const stored = objectOf(await alice.request('GET', latin));
  narrator.result(`the record says it was writer ${String(stored['writer'])}`);
  return {
    taken: { status: taken.status, existing: taken.body.details?.existing?.['name'] },
    changed: changed.status,
    stale: { status: stale.status, existing: stale.body.details?.existing },
    current: objectOf(changed),
    race: { racers, won: statuses.filter((status) => status === 200).length, winner, stored: stored['writer'] },
  };
}
