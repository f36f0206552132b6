// Declares indexes of a collection.
import { setTimeout as wait } from 'node:timers/promises';
import { send } from './client.mjs';

/** Declares indexes, and waits until they are complete. @param {string} url @param {string} uri @param {unknown[]} wanted */
export async function declare(url, uri, wanted) {
  await send(url, { method: 'PATCH', path: `/v1${uri}`, body: JSON.stringify({ data: { indexes: wanted } }) });
  for (;;) {
    const { text } = await send(url, { path: `/v1${uri}/indexes` });
    /** @type {{ data: { state: string }[] }} */
    const { data } = JSON.parse(text);
    if (data.length === wanted.length && data.every(({ state }) => state === 'ready')) return;
    await wait(100);
  }
}
