// How fast is a list of 100 records read, compared with a bare server that sends the same bytes?
import { fill, records, send } from './lib/data.mjs';

export const title = 'GET a list of 100 records';

/** @param {string} url @returns {Promise<{ load: import('./lib/measure.mjs').Load, answer: string }>} */
export async function prepare(url) {
  await fill(url, 100);
  return { load: { url: url + records }, answer: await send(url, 'GET', records) };
}
