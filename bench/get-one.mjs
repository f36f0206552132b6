// How fast is one record read, compared with a bare server that sends the same bytes?
import { fill, records, send } from './lib/data.mjs';

export const title = 'GET one record';

/** @param {string} url @returns {Promise<{ load: import('./lib/measure.mjs').Load, answer: string }>} */
export async function prepare(url) {
  await fill(url, 100);
  const path = `${records}/r7`;
  return { load: { url: url + path }, answer: await send(url, 'GET', path) };
}
