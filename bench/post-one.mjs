// How fast are records created, one per request in one collection, compared with a bare server that parses the same
// body and sends the same bytes?
import { attributes, fill, records, send } from './lib/data.mjs';

export const title = 'POST one record';

/** @param {string} url @returns {Promise<{ load: import('./lib/measure.mjs').Load, answer: string }>} */
export async function prepare(url) {
  await fill(url, 0);
  const body = { data: attributes };
  const answer = await send(url, 'POST', records, body);
  return { load: { url: url + records, method: 'POST', body: JSON.stringify(body) }, answer };
}
