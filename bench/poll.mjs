// How fast is a poll answered when nothing has changed, compared with a bare server that sends the same bytes?
import { fill, records, send } from './lib/data.mjs';

export const title = 'poll with _since, nothing new';

/** @param {string} url @returns {Promise<{ load: import('./lib/measure.mjs').Load, answer: string }>} */
export async function prepare(url) {
  await fill(url, 100);
  const newest = JSON.parse(await send(url, 'GET', `${records}?_limit=1`)).data[0].last_modified;
  const path = `${records}?_since=${newest}`;
  return { load: { url: url + path }, answer: await send(url, 'GET', path) };
}
